"""What is there, and what is in it: inventory, decoding, quarantine."""
