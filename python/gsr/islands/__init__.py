"""Islands: searches that run side by side and exchange what they have found."""
