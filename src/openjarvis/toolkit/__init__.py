"""How a tool is made: a class, a typed function, or the description of a provider's tool."""
