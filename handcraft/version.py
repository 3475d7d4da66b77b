"""The version of the package, which model files record."""

__version__ = "0.1.0"
