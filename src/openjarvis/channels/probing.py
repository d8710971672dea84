"""Whether a service would take a message, asked without sending one."""

import smtplib
import socket
import ssl
from typing import Any, NamedTuple

import httpx2

from openjarvis.channels.base import ChannelStatus
from openjarvis.core import workers
from openjarvis.core.errors import ToolError
from openjarvis.core.strict_json import loads
from openjarvis.safety.body import read_body

Seen = tuple[ChannelStatus, str]

_PORTS = {True: 443, False: 80}
_LONGEST_ANSWER = 65_536
_KNOWN: Seen = (ChannelStatus.CONNECTED, "the service knows the token")


class _Answer(NamedTuple):
    status: int
    body: bytes


def probe(plugin: Any, timeout: float) -> Seen:
    """Return how the service behind apprise's `plugin` stands, and what was seen of it.

    Telegram, Discord and Slack say whether the token is good, a mail server whether the login is;
    of other services only the server is reached.
    """
    # The libraries wait `timeout` for each piece, and there is no end to the pieces.
    job = workers.start(lambda: _probed(plugin, timeout))
    if not job.wait(timeout):
        return ChannelStatus.DISCONNECTED, f"no answer within {timeout:g} s"
    seen: Seen = job.result()
    return seen


def _probed(plugin: Any, timeout: float) -> Seen:
    name = type(plugin).__name__
    try:
        if name == "NotifyTelegram":
            return _answered(f"{plugin.notify_url}{plugin.bot_token}/getMe", timeout)
        if name == "NotifyDiscord":
            url = f"{plugin.notify_url}/{plugin.webhook_id}/{plugin.webhook_token}"
            return _answered(url, timeout)
        if name == "NotifySlack":
            return _slack(plugin, timeout)
        if name == "NotifyEmail":
            return _mail(plugin, timeout)
        return _reached(plugin, timeout)
    except (OSError, httpx2.HTTPError, ToolError) as error:
        return ChannelStatus.DISCONNECTED, f"{type(error).__name__}: {error}"


def _answered(url: str, timeout: float) -> Seen:
    answer = _ask("GET", url, timeout)
    return _KNOWN if httpx2.codes.is_success(answer.status) else _refused(answer)


def _ask(method: str, url: str, timeout: float, **options: Any) -> _Answer:
    with httpx2.stream(method, url, timeout=timeout, **options) as response:
        encoding = response.headers.get("Content-Encoding", "")
        body, _ = read_body(response.iter_raw(), encoding=encoding, limit=_LONGEST_ANSWER)
    return _Answer(response.status_code, body)


def _refused(answer: _Answer) -> Seen:
    if answer.status in (401, 403, 404, 410):
        return ChannelStatus.ERROR, f"the service refuses the token ({answer.status})"
    return ChannelStatus.DISCONNECTED, f"the service answers {answer.status}"


def _slack(plugin: Any, timeout: float) -> Seen:
    if plugin.mode == "bot":
        return _slack_bot(plugin, timeout)
    hooks = {"hook": plugin.webhook_url, "gov-hook": plugin.webhook_gov_url}
    if plugin.mode not in hooks:
        return _reached(plugin, timeout)  # a workflow would start
    url = f"{hooks[plugin.mode]}/{plugin.token_a}/{plugin.token_b}/{plugin.token_c}"
    answer = _ask("POST", url, timeout, json={})
    # Without a text nothing is posted; a webhook that does not exist is another refusal.
    return _KNOWN if answer.body.strip() in (b"no_text", b"invalid_payload") else _refused(answer)


def _slack_bot(plugin: Any, timeout: float) -> Seen:
    headers = {"Authorization": f"Bearer {plugin.access_token}"}
    answer = _ask("POST", plugin.api_url.format("auth.test"), timeout, headers=headers)
    try:
        told = loads(answer.body.decode())
    except ValueError:
        told = None
    if not httpx2.codes.is_success(answer.status) or not isinstance(told, dict):
        return _refused(answer)
    if told.get("ok"):
        return _KNOWN
    return ChannelStatus.ERROR, f"the service refuses the token ({told.get('error')})"


def _mail(plugin: Any, timeout: float) -> Seen:
    secure = plugin.secure_mode
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if secure == "ssl":
        server = smtplib.SMTP_SSL(plugin.smtp_host, plugin.port, timeout=timeout, context=context)
    else:
        server = smtplib.SMTP(plugin.smtp_host, plugin.port, timeout=timeout)
    with server:
        if secure == "starttls":
            server.starttls(context=context)
        if plugin.user and plugin.password:
            try:
                server.login(plugin.user, plugin.password)
            except smtplib.SMTPException as error:
                return ChannelStatus.ERROR, f"the login is refused ({type(error).__name__})"
        server.noop()
    return ChannelStatus.CONNECTED, "the mail server answers"


def _reached(plugin: Any, timeout: float) -> Seen:
    url = httpx2.URL(str(getattr(plugin, "notify_url", "") or getattr(plugin, "webhook_url", "")))
    host = url.host or getattr(plugin, "host", "")
    secure = url.scheme == "https" if url.host else bool(getattr(plugin, "secure", False))
    port = url.port or getattr(plugin, "port", None) or _PORTS[secure]
    if not host:
        return ChannelStatus.DISCONNECTED, "the service cannot be asked without sending"
    with socket.create_connection((host, port), timeout):
        return ChannelStatus.CONNECTED, "the server can be reached; the token was not tried"
