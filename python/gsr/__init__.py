"""Generalized symbolic regression."""
