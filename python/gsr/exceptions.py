"""What the package raises and warns about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class GSRError(ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, in the user's words.
    *options : str
        The options that the error is about, by their names as parameters of `GSRRegressor` or as
        keys such as ``"data.target"``. Where only some of them are set, it is about those.
    """

    def __init__(self, message: str, *options: str) -> None:
        super().__init__(message)
        self.options = options


@contextmanager
def about(*options: str) -> Iterator[None]:
    """Let errors raised inside carry the options that they are about, unless they have some."""
    try:
        yield
    except GSRError as error:
        error.options = error.options or options
        raise


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


def suggestion(name: object, known: Iterable[str], *, otherwise_list: bool = False) -> str:
    """Return the end of a message about an unknown name: what may have been meant.

    Without a near name it is empty, or a list of all of them.
    """
    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are {', '.join(names)}" if otherwise_list else ""
