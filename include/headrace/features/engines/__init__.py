"""One module per engine that can compute the point-in-time join."""
