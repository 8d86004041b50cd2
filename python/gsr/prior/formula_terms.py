"""The terms of a known formula as SymPy expressions, with its constants as symbols.

Features are x1, x2, ..., the target is y, whatever they are called; constants are dummies.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from gsr.encoding.sympy_forms import (
    number_and_rest,
    of_reals,
    with_cube_roots,
    without_cube_roots,
)
from gsr.encoding.writing import shown_name
from gsr.exceptions import GSRError
from gsr.formula import ELEMENTARY, MOST_POWER, Builder, Grammar, Node, raised, sides
from gsr.lazy import sympy
from gsr.library import Library
from gsr.transformation import BUILTINS, POWERS

#: How like a variable's name a constant's must be to be taken for a mistake; names of few letters
#: differ by much if they differ in one.
LIKE, LIKE_SHORT, SHORT = 0.8, 0.6, 3


@dataclass(frozen=True)
class Term:
    """A coefficient of constants times a function of the variables."""

    coefficient: Any
    basis: Any
    text: str


@dataclass(frozen=True)
class Known:
    """A formula: terms of the target, which are equal to those of the features.

    `starts` has the starting value of each constant, None if the formula gives none.
    """

    target: tuple[Term, ...]
    features: tuple[Term, ...]
    starts: dict[Any, float | None]

    @property
    def terms(self) -> tuple[Term, ...]:
        """Those of the target, then those of the features."""
        return (*self.target, *self.features)

    def with_ones(self, constants: Iterable[Any]) -> Known:
        """Return the formula with some constants inside functions replaced by 1."""
        ones = dict.fromkeys(constants, 1)
        target, features = (
            tuple(replace(term, basis=term.basis.subs(ones)) for term in side)
            for side in (self.target, self.features)
        )
        return Known(target, features, {s: v for s, v in self.starts.items() if s not in ones})


class Reader(Builder):
    """Turns formulas into terms; unknown names, and numbers with a point, are constants to fit.

    A constant with a name like that of a variable is an error if `strict`, otherwise a warning.
    """

    def __init__(
        self,
        feature_names: Sequence[str],
        target_name: str,
        library: Library,
        target_library: Library,
        strict: bool = False,
    ) -> None:
        variables = {
            name: sympy.Symbol(f"x{v}", real=True) for v, name in enumerate(feature_names, start=1)
        }
        self.y = variables[target_name] = sympy.Symbol("y", real=True)
        super().__init__(variables, ELEMENTARY)
        self.symbols = set(variables.values())
        self.target_name, self.strict = target_name, strict
        self.library, self.target_library = library, target_library
        self.own = {each.names[k] for each in (library, target_library) for k in each.own}
        self.functions = (self.functions | {*BUILTINS, *self.own}) - {"one"}
        #: From each constant to the value in the formula, and from each letter to its constant.
        self.starts: dict[Any, float | None] = {}
        self.letters: dict[str, Any] = {}

    def read(self, formula: Any) -> Known:
        """Return the terms of text, or of a SymPy expression or equation."""
        if isinstance(formula, str):
            return self._sorted(self._of_text(formula), formula)
        if isinstance(formula, sympy.Eq):
            parts = [(formula.lhs, 1), (formula.rhs, -1)]
        elif isinstance(formula, sympy.Expr):
            parts = [(sympy.Symbol(self.target_name), 1), (formula, -1)]
        else:
            raise GSRError(
                f"a formula is text, an Equation or a SymPy expression, got {type(formula)}"
            )
        return self._sorted(self._of_sympy(parts), str(formula))

    # ---- from text ---------------------------------------------------------------------------

    def _of_text(self, text: str) -> Iterator[Term]:
        self.text = text
        found = sides(text, Grammar(self.variables, self.functions))
        if len(found) == 1:
            found.insert(0, Node("name", self.target_name))
        for side, outer in zip(found, (1, -1), strict=True):
            for sign, node in _terms(side):
                start, end = node.span
                yield self._term(node, outer * sign, text[start:end] or self.target_name)

    def _term(self, node: Node, sign: int, text: str) -> Term:
        coefficient, basis = sympy.Integer(sign), sympy.Integer(1)
        for factor, power in _factors(node):
            if not factor.names().isdisjoint(self.variables):
                basis *= self.build(factor, free=True) ** power
            else:
                value = self.build(factor, free=False)
                if value == 0 and power < 0:
                    raise GSRError(f"{text!r} divides by 0")
                coefficient *= value**power
        return Term(coefficient, basis, text)

    # ---- from SymPy --------------------------------------------------------------------------

    def _of_sympy(self, parts: list[tuple[Any, int]]) -> Iterator[Term]:
        for side, sign in parts:
            named = {s: self.by_name(s.name) for s in side.free_symbols if s not in self.starts}
            side = side.xreplace({s: v for s, v in named.items() if s != v})
            for term in sympy.Add.make_args(side):
                coefficient, basis = number_and_rest(term, self.symbols)
                freed = self._freed(with_cube_roots(basis))
                yield Term(sign * coefficient, without_cube_roots(freed), str(term))

    def _freed(self, expression: Any) -> Any:
        """Return the expression with each number that has a point as a constant of its own."""
        if expression.is_Float:
            return self.constant(float(expression))
        if not expression.args:
            return expression
        if expression.is_Pow and expression.exp.is_Float and exact(expression.exp):
            return raised(self._freed(expression.base), exact(expression.exp))
        return expression.func(*map(self._freed, expression.args))

    # ---- both --------------------------------------------------------------------------------

    def _sorted(self, terms: Iterator[Term], text: str) -> Known:
        """Collect equal terms, and put those of the target on the left."""
        merged: dict[Any, Term] = {}
        for term in terms:
            number, basis = number_and_rest(self._real_powers(term.basis), self.symbols)
            _check(basis, term.text)
            term = replace(term, coefficient=term.coefficient * number, basis=basis)
            _check(term.coefficient, term.text)
            if basis in merged:
                total = merged[basis].coefficient + term.coefficient
                term = replace(term, coefficient=total)
            merged[basis] = term
        kept = [term for term in merged.values() if term.coefficient != 0]
        target = tuple(t for t in kept if self.y in t.basis.free_symbols)
        for term in target:
            if len(term.basis.free_symbols & self.symbols) > 1:
                raise GSRError(
                    f"the term {term.text!r} mixes the target {shown_name(self.target_name)} with"
                    f" features; a law has the form g({shown_name(self.target_name)}) = f(features)"
                )
        if not target:
            raise GSRError(f"the formula {text!r} leaves nothing of the target {self.target_name}")
        if len(target) == len(kept):
            raise GSRError(f"the formula {text!r} leaves nothing beside the target")
        features = tuple(replace(t, coefficient=-t.coefficient) for t in kept if t not in target)
        used = {s for t in kept for s in (t.basis.free_symbols | t.coefficient.free_symbols)}
        return Known(target, features, {s: v for s, v in self.starts.items() if s in used})

    def _real_powers(self, expression: Any) -> Any:
        """Write powers that are no multiples of one half so that they are real for all t.

        With a cube root t^(1/3) is that; otherwise powers are those of |t|, which exp and ln can
        hold.
        """
        library = self.target_library if expression.has(self.y) else self.library

        def needs(part: Any) -> bool:
            if not part.is_Pow or part.base.is_number or isinstance(part.base, sympy.Abs):
                return False
            plain = part.exp.is_Rational and not part.exp.q & (part.exp.q - 1)
            return bool(not plain and not part.base.is_Dummy)

        def real(part: Any) -> Any:
            base, power = part.args
            if "cbrt" not in library or not power.is_Rational or power.q != 3:
                return sympy.Pow(sympy.Abs(base), power)
            whole, thirds = divmod(abs(power.p), 3)
            return (base**whole * of_reals(base) ** thirds) ** sympy.sign(power)

        return expression.replace(needs, real)

    # ---- numbers and names --------------------------------------------------------------------

    def exponent(self, node: Node) -> Any:
        """Return an exponent; a multiple of one half is not fitted."""
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


def _terms(node: Node, sign: int = 1) -> Iterator[tuple[int, Node]]:
    if node.kind in ("+", "-"):
        yield from _terms(node.parts[0], sign)
        yield from _terms(node.parts[1], sign if node.kind == "+" else -sign)
    elif node.kind == "neg":
        yield from _terms(node.parts[0], -sign)
    else:
        yield sign, node


def _factors(node: Node, power: int = 1) -> Iterator[tuple[Node, int]]:
    if node.kind in ("*", "/"):
        yield from _factors(node.parts[0], power)
        yield from _factors(node.parts[1], power if node.kind == "*" else -power)
    else:
        yield node, power


def _check(expression: Any, text: str) -> None:
    if expression.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo, sympy.I):
        raise GSRError(f"the part {text!r} of the formula has no real finite value")
    for part in expression.atoms(sympy.Pow):
        if any(not s.is_Dummy for s in part.exp.free_symbols) and not (
            part.base.is_number or part.base.is_Dummy
        ):
            raise GSRError(f"the part {text!r} has variables in a base and in its exponent")
        if part.exp.is_Rational and abs(part.exp) > MOST_POWER:
            raise GSRError(f"the part {text!r} has a power above {MOST_POWER}")


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
    twice = 2 * float(value)
    return sympy.Rational(int(twice), 2) if twice.is_integer() else None
