"""What the package raises and warns about."""

from __future__ import annotations


class GSRError(ValueError):
    """Input that cannot be used, told in the user's words."""


class SeveralTargetsError(GSRError, AttributeError):
    """A model of several targets was asked for what only a model of one has."""


class PredictionWarning(UserWarning):
    """Some predictions are missing or had to be guessed; the message says which and why."""


class DomainWarning(UserWarning):
    """A transformation is undefined on some of the data and used less, or not at all."""


class InterruptedWarning(UserWarning):
    """The search was interrupted; what it had found so far is kept."""


class MissingWarning(UserWarning):
    """Rows with missing values were left out."""
