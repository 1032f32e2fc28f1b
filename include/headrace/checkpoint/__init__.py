"""Training state published by the lake's protocol."""
