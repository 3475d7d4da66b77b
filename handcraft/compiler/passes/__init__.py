"""Passes of the compiler: a valid graph in, a valid graph out, smaller than before."""
