"""Models in the formats of other software, each made with the libraries of the extra `export`."""
