"""Versioned transforms: registry, fingerprint, cache, run."""
