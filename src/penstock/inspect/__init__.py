"""What files hold: how many records, of which features, with which values."""
