"""The documented doorway to the channel tools; it defines nothing."""

from openjarvis.channels.tools import ChannelListTool, ChannelSendTool, ChannelStatusTool

__all__ = ["ChannelListTool", "ChannelSendTool", "ChannelStatusTool"]
