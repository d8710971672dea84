"""Channels: messages to people and from them, over the services that they use.

Each is found by the scheme of its address; what no class here is for, `apprise` sends.
"""

from openjarvis.core.registry import ChannelRegistry

for _scheme, _module, _name in (
    ("apprise", "openjarvis.channels.apprise_channel", "AppriseChannel"),
    ("tgram", "openjarvis.channels.telegram", "TelegramChannel"),
    ("webhook", "openjarvis.channels.webhook", "WebhookChannel"),
):
    ChannelRegistry.register_lazy(_scheme, _module, _name)
