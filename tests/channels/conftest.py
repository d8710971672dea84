from collections.abc import Iterator

import pytest
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.telegram import NotifyTelegram

from channel_server import ServiceServer


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceServer]:
    """A server in the place of Telegram and Discord."""
    with ServiceServer() as server:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"{server.url}/bot")
        monkeypatch.setattr(NotifyDiscord, "notify_url", f"{server.url}/api/webhooks")
        yield server
