"""Laws of a known form with unknown functions."""
