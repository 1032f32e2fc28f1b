"""Manifests and releases: publish, promote, history."""
