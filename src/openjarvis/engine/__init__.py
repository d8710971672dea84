"""Engines: one interface to every model, and the one that answers without a model."""
