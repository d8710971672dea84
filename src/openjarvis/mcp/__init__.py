"""The Model Context Protocol, both ways: our tools for any host, any server's tools for our agents.

`server` and its neighbours offer tools; `pool` reaches configured servers, one `connection` each.
Both stand on the official SDK (extra `mcp`), which only the modules that speak the protocol import.
"""
