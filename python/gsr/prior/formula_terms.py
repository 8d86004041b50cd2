"""The terms of a known formula as SymPy expressions, with its constants as symbols.

Features are x1, x2, ..., the target is y, whatever they are called; constants are dummies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gsr.encoding.sympy_forms import of_reals, with_cube_roots, without_cube_roots
from gsr.encoding.writing import shown_name
from gsr.exceptions import GSRError
from gsr.formula.parser import Grammar, Node, sides
from gsr.formula.symbolic import MOST_POWER, raised
from gsr.prior.formula_build import FormulaBuilder, exact


@dataclass(frozen=True)
class Term:
    """A coefficient of constants times a function of the variables."""

    coefficient: Any
    basis: Any
    text: str


@dataclass(frozen=True)
class Known:
    """A formula: terms of the target, terms of the features, and the constants inside."""

    target: tuple[Term, ...]
    features: tuple[Term, ...]
    starts: dict[Any, float | None]


class Reader(FormulaBuilder):
    """Turns formulas into terms."""

    def read(self, formula: Any) -> Known:
        """Return the terms of text, or of a SymPy expression or equation."""
        if isinstance(formula, str):
            return self._sorted(self._of_text(formula), formula)
        import sympy

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
        import sympy

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
        import sympy

        for side, sign in parts:
            named = {s: self.by_name(s.name) for s in side.free_symbols if s not in self.starts}
            side = side.xreplace({s: v for s, v in named.items() if s != v})
            for term in sympy.Add.make_args(side):
                coefficient, basis = self._split(term)
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

    def _split(self, expression: Any) -> tuple[Any, Any]:
        variables = set(self.variables.values()) & expression.free_symbols
        if not variables:
            return expression, expression**0
        found: tuple[Any, Any] = expression.as_independent(*variables, as_Add=False)
        return found

    # ---- both --------------------------------------------------------------------------------

    def _sorted(self, terms: Iterator[Term], text: str) -> Known:
        """Collect equal terms, and put those of the target on the left."""
        merged: dict[Any, Term] = {}
        for term in terms:
            number, basis = self._split(self._real_powers(term.basis))
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
            if len(term.basis.free_symbols & set(self.variables.values())) > 1:
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
        import sympy

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
    import sympy

    if expression.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo, sympy.I):
        raise GSRError(f"the part {text!r} of the formula has no real finite value")
    for part in expression.atoms(sympy.Pow):
        if any(not s.is_Dummy for s in part.exp.free_symbols) and not (
            part.base.is_number or part.base.is_Dummy
        ):
            raise GSRError(f"the part {text!r} has variables in a base and in its exponent")
        if part.exp.is_Rational and abs(part.exp) > MOST_POWER:
            raise GSRError(f"the part {text!r} has a power above {MOST_POWER}")
