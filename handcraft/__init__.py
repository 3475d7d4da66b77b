"""handcraft: programs in a small RASP-like language become exact transformer weights."""
