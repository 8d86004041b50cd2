"""What the names of a known formula mean: variables, functions, and constants to fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from gsr.exceptions import GSRError
from gsr.formula.parser import Node
from gsr.formula.symbolic import ELEMENTARY, Builder, raised
from gsr.library import Library
from gsr.transformation import BUILTINS, POWERS, Transformation

#: How like a variable's name a constant's must be to be taken for a mistake; names of few letters
#: differ by much if they differ in one.
LIKE, LIKE_SHORT, SHORT = 0.8, 0.6, 3


class FormulaBuilder(Builder):
    """Builds expressions in which unknown names, and numbers with a point, are constants to fit."""

    def __init__(
        self,
        feature_names: Sequence[str],
        target_name: str,
        library: Library,
        target_library: Library,
        strict: bool = False,
    ) -> None:
        import sympy

        variables = {
            name: sympy.Symbol(f"x{v}", real=True) for v, name in enumerate(feature_names, start=1)
        }
        self.y = variables[target_name] = sympy.Symbol("y", real=True)
        super().__init__(variables, ELEMENTARY)
        self.target_name, self.strict = target_name, strict
        self.library, self.target_library = library, target_library
        entries = (*library.entries, *target_library.entries)
        self.own = {e.name for e in entries if isinstance(e, Transformation)}
        self.functions = (self.functions | {*BUILTINS, *self.own}) - {"one"}
        #: From each constant to the value in the formula, and from each letter to its constant.
        self.starts: dict[Any, float | None] = {}
        self.letters: dict[str, Any] = {}

    def exponent(self, node: Node) -> Any:
        """Return an exponent; a multiple of one half is no constant to fit."""
        value = self.build(node, free=not node.names().isdisjoint(self.variables))
        if value.is_Float:
            return exact(value) or self.constant(float(value))
        return value

    def number(self, text: str, free: bool) -> Any:
        """Return a number, or a constant that starts from it."""
        value = super().number(text, free)
        return self.constant(float(text)) if free and value.is_Float and value else value

    def by_name(self, name: str) -> Any:
        """Return the variable, or the constant, of a name."""
        if name in self.variables or name == "pi":
            return super().by_name(name)
        if name not in self.letters:
            self._check_letter(name)
            self.letters[name] = self.constant(None, name)
        return self.letters[name]

    def constant(self, start: float | None, name: str = "c") -> Any:
        """Return a new constant."""
        import sympy

        symbol = sympy.Dummy(name, real=True)
        self.starts[symbol] = start
        return symbol

    def _check_letter(self, name: str) -> None:
        """Refuse functions, and warn of names that may be those of misspelt variables."""
        self.check_called(name)
        near = nearest_name(name, self.variables)
        if near is None:
            return
        if self.strict:
            raise GSRError(f"{name!r} is no column; did you mean {near!r}?")
        warnings.warn(
            f"{name!r} in the formula is no column, so it is a constant to be fitted;"
            f" did you mean {near!r}?",
            stacklevel=2,
        )

    def called(self, name: str, arguments: Sequence[Any]) -> Any:
        """Return a function of its argument; transformations of the libraries are functions."""
        import sympy

        if name in ("ln", "log"):  # of a library, which take the absolute value
            arguments = [a.args[0] if isinstance(a, sympy.Abs) else a for a in arguments]
        if len(arguments) == 1 and name in self.own:
            library = self.library if name in self.library else self.target_library
            return library.sympy(library.code(name), *arguments)
        if len(arguments) == 1 and name in BUILTINS and name not in self.sympy_names:
            if name == "exp_neg":
                return super().called("exp", [-arguments[0]])
            return raised(arguments[0], exact(POWERS[name]))
        return super().called(name, arguments)


def nearest_name(name: str, variables: Iterable[str]) -> str | None:
    """Return the variable that a name may be meant to be, if there is one."""
    stem = name.rstrip("0123456789")
    if len(name) == 1 or name.endswith("0"):
        return None
    known = {each.lower(): each for each in variables}
    numbered = [v for v in known if v.rstrip("0123456789") == stem.lower() != v]
    cutoff = LIKE_SHORT if len(name) <= SHORT else LIKE
    near = get_close_matches(
        name.lower(), numbered or known, n=1, cutoff=0.0 if numbered else cutoff
    )
    return known[near[0]] if near and (not numbered or stem != name) else None


def exact(value: Any) -> Any:
    """Return a Float that is a multiple of one half as a Rational, else None."""
    import sympy

    twice = 2 * float(value)
    return sympy.Rational(int(twice), 2) if twice.is_integer() else None
