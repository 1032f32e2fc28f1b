"""The pages' web application; not a plugin by itself."""
