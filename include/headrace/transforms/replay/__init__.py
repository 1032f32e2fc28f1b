"""From one sample back to its source, and through the code that made it."""
