"""How a call runs: one road from the model's text to the recorded answer."""
