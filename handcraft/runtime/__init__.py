"""The transformer in numpy: weights, text in and out, files; it knows nothing of the language."""
