"""Equations of motion from measured series."""
