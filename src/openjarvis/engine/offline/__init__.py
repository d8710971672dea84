"""The engine without a model, and what it reads a request with."""
