"""What is proved of a placed graph: how far rounding can take every direction from its value."""
