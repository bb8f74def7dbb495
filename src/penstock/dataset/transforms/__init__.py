"""One module per verb of Dataset: the function that applies it, its order and its stage."""
