"""Headrace: training data that can be trusted. Light on purpose: importing it loads nothing heavy."""

__version__ = "0.1.0"
