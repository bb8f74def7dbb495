"""What is wrong with files, and what can be saved of them."""
