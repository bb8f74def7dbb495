"""What is known of tensors before there are values."""
