"""Implicit laws: equations between columns of which none is the target."""
