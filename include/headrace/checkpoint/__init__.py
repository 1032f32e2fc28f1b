"""Training state published by the lake's protocol: temporary, hashed, read back, manifest, pointer."""
