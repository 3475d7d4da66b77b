"""The same program in the shape of a stock GPT-2: layer norms, GELU, equal layers."""
