"""From a typed program to the weights of a transformer: graph, placement, matrices."""
