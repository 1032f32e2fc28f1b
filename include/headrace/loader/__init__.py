"""Deterministic, exactly-once, resumable reading for training."""
