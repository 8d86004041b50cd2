"""What the package raises and warns about."""

from __future__ import annotations


class GSRError(ValueError):
    """Input that cannot be used, told in the user's words."""


class PredictionWarning(UserWarning):
    """Some predictions are missing or had to be guessed; the message says which and why."""
