"""Measures what Penstock promises about damage, crashes, faults and hostile input: ``make reliability``."""
