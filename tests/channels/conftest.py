from collections.abc import Iterator

import pytest
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.slack import NotifySlack
from apprise.plugins.telegram import NotifyTelegram

from channel_server import ServiceServer


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceServer]:
    """A server in the place of Telegram, Discord and Slack."""
    with ServiceServer() as server:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"{server.url}/bot")
        monkeypatch.setattr(NotifyDiscord, "notify_url", f"{server.url}/api/webhooks")
        monkeypatch.setattr(NotifySlack, "webhook_url", f"{server.url}/services")
        monkeypatch.setattr(NotifySlack, "api_url", f"{server.url}/api/{{}}")
        monkeypatch.setattr(NotifySlack, "request_rate_per_sec", 0)
        yield server
