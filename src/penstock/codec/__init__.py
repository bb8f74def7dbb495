"""From bytes in an Example to arrays, and back."""
