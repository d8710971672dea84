"""How a model is asked: once, or in turns with tools."""
