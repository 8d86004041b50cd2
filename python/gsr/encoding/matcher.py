"""Recognises the rows of a plain basis matrix, as the paper has them, in a SymPy expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from gsr import _core
from gsr.encoding.forms import cube_root, without_bars
from gsr.encoding.powers import Argument, Power, argument_of, merged, scales_for
from gsr.encoding.rows import PRODUCT, SUM, VARIABLE
from gsr.exceptions import GSRError
from gsr.formula import expression as read_expression
from gsr.library import Library
from gsr.transformation import EXPONENTIALS, POWERS, Transformation

FoundRow = tuple[int, int, tuple[int, ...]]


def parsed(expression: Any, names: Sequence[str]) -> Any:
    """Return text or an expression as a SymPy expression in real variables."""
    import sympy

    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    if isinstance(expression, str):
        return read_expression(expression, symbols)
    found = sympy.sympify(expression, strict=True)
    unknown = sorted(s.name for s in found.free_symbols if s.name not in symbols)
    if unknown:
        raise GSRError(f"{unknown[0]!r} is not one of the variables {', '.join(symbols)}")
    return found.xreplace({s: symbols[s.name] for s in found.free_symbols})


class Matcher:
    """Splits a product into rows.

    Parameters
    ----------
    library : Library
        Transformations to choose from.
    names : sequence of str
        The variables.
    n_v : int
        Most operands of one argument.
    """

    def __init__(self, library: Library, names: Sequence[str], n_v: int) -> None:
        self.library = library
        self.names = list(names)
        self.n_v = n_v
        self.calls: list[FoundRow] = []
        self.monomial: Counter[int] = Counter()
        self.sums: Counter[Argument] = Counter()
        self.roots: list[Power] = []

    def match(self, expression: Any) -> list[FoundRow]:
        """Return rows (code, argument type, variables) whose product is the expression."""
        import sympy

        expression = self._own(expression)
        coefficient = sympy.Integer(1)
        for factor in sympy.Mul.make_args(expression):
            if factor.is_number:
                coefficient *= sympy.nsimplify(factor)
            else:
                self._factor(factor)
        powers = self._with_coefficient(coefficient)
        found = self.calls + [(self.library.code(p.name), *p.argument) for p in powers]
        if len(found) > _core.MAX_ROWS:
            raise GSRError(f"{expression} cannot be encoded: more than {_core.MAX_ROWS} factors")
        return found

    # ---- functions ---------------------------------------------------------------------------

    def _own(self, expression: Any) -> Any:
        """Divide by transformations of the user's as long as that makes the expression simpler.

        They come first, because their forms may be products that would be taken apart.
        """
        import sympy

        own = [k for k, e in enumerate(self.library.entries) if isinstance(e, Transformation)]
        rests = [
            (sympy.powsimp(expression / self.library.sympy(code, argument)), (code, *read))
            for code in own
            for argument, read in self._candidates(expression, roots=True)
        ]
        if rests:
            rest, row = min(rests, key=lambda pair: pair[0].count_ops())
            if rest.count_ops() < expression.count_ops():
                self.calls.append(row)
                return self._own(rest)
        return expression

    def _candidates(self, expression: Any, roots: bool = False) -> Iterator[tuple[Any, Argument]]:
        """Return what could be an argument inside the expression.

        SymPy pulls a minus through sums, and a square through products (`roots`).
        """
        import sympy

        for part in sympy.preorder_traversal(expression):
            for argument in (part, -part, *([sympy.sqrt(part)] if roots else [])):
                if argument.has(sympy.Abs):
                    argument = argument.replace(sympy.Abs, lambda inside: inside)
                read = self._argument(argument)
                if read is not None:
                    yield argument, read

    def _factor(self, factor: Any) -> None:
        import sympy

        if isinstance(factor, sympy.exp):
            self._exponential(factor)
            return
        base, power = factor.as_base_exp()
        if isinstance(base, sympy.log):
            base = sympy.log(without_bars(base.args[0]))
        if power.is_Integer and power > 0 and self._call(base, int(power)):
            return
        if not power.is_Rational or power.q > 3 or not self._raise(base, power):
            raise self._cannot(factor)

    def _call(self, factor: Any, times: int) -> bool:
        powers = (*POWERS, "abs")
        functions = [k for k, name in enumerate(self.library.names) if name not in powers]
        for argument, read in self._candidates(factor):
            for code in functions:
                if self.library.sympy(code, argument) == factor:
                    self.calls += [(code, *read)] * times
                    return True
        return False

    def _exponential(self, factor: Any) -> None:
        """exp(a + b - c) = exp(a + b) exp(-c): linear terms stay together, products do not."""
        import sympy

        linear: dict[str, list[int]] = {EXPONENTIALS[1.0]: [], EXPONENTIALS[-1.0]: []}
        found: list[tuple[str, Argument]] = []
        for term in sympy.Add.make_args(factor.exp):
            n, part = term.as_coeff_Mul()
            read = self._argument(part)
            if read is None or not n.is_Integer:
                raise self._cannot(factor)
            name = EXPONENTIALS[1.0 if n > 0 else -1.0]
            if read[0] == VARIABLE:
                linear[name] += list(read[1]) * abs(int(n))
            else:
                found += [(name, read)] * abs(int(n))
        for name, variables in linear.items():
            for start in range(0, len(variables), self.n_v):
                found.append((name, argument_of(SUM, sorted(variables)[start : start + self.n_v])))
        if any(name not in self.library for name, _ in found):
            raise self._cannot(factor)
        self.calls += [(self.library.code(name), *read) for name, read in found]

    # ---- powers ------------------------------------------------------------------------------

    def _raise(self, base: Any, power: Any) -> bool:
        """Take note of base^power, whose power is a multiple of one half or one third."""
        import sympy

        if isinstance(base, sympy.Abs):
            return self._raise_size(base.args[0], power)
        if isinstance(base, cube_root()):
            times = int(power) if power.is_Integer and power > 0 else 0
            return times > 0 and self._root("cbrt", self._argument(base.args[0]), times)
        if power.q == 3 and power < 0:
            return False
        if power.q > 1:
            name, times = ("sqrt", 1) if power.q == 2 else ("cbrt", int(power.p % 3))
            rest = power - sympy.Rational(times, power.q)
            return self._root(name, self._argument(base), times) and self._raise(base, rest)
        if base.is_Mul or base.is_Pow:
            parts = [part.as_base_exp() for part in sympy.Mul.make_args(base)]
            return all(self._raise(b, e * power) for b, e in parts)
        read = self._argument(base)
        if read is None:
            return bool(power == 0)
        if read[0] == VARIABLE:
            self.monomial[read[1][0]] += int(power)
        else:
            self.sums[read] += int(power)
        return True

    def _raise_size(self, inside: Any, power: Any) -> bool:
        """Take note of |t|^n as t^(n-1) |t|, or as t^(n-1) sqrt(t^2)."""
        if "abs" in self.library:
            whole = power.is_Integer and power > 0
            found = whole and self._root("abs", self._argument(inside))
        else:
            found = self._root("sqrt", self._argument(inside**2))
        return bool(found) and self._raise(inside, power - 1)

    def _root(self, name: str, argument: Argument | None, times: int = 1) -> bool:
        if argument is None or name not in self.library:
            return False
        self.roots += [Power(name, POWERS.get(name, Fraction(1)), argument)] * times
        return True

    def _with_coefficient(self, coefficient: Any) -> list[Power]:
        """Return the rows of powers that have the coefficient inside their arguments."""
        powers = self.roots + self._sum_rows() + self._monomial_rows()
        if coefficient == 1:
            return powers
        sixth = coefficient**6
        if coefficient.is_positive and sixth.is_Rational:
            scales = scales_for(powers, Fraction(int(sixth.p), int(sixth.q)), self.n_v)
            if scales is not None:
                scaled = [p.scaled(k) for p, k in zip(powers, scales, strict=True)]
                return merged(scaled, self.n_v)
        raise self._cannot(coefficient)

    def _sum_rows(self) -> list[Power]:
        return [row for argument, n in self.sums.items() for row in self._fewest(argument, n)]

    def _monomial_rows(self) -> list[Power]:
        above = {v: n for v, n in self.monomial.items() if n > 0}
        powers = set(above.values())
        found: list[Power] = []
        for v, n in self.monomial.items():
            found += self._fewest(argument_of(PRODUCT, [v]), n, plain=True)
        if powers in ({2}, {3}):
            whole = self._fewest(argument_of(PRODUCT, sorted(above)), powers.pop())
            if len(whole) == 1:
                found = [row for row in found if row.power < 0] + whole
        return merged(found, self.n_v)

    def _fewest(self, argument: Argument, n: int, plain: bool = False) -> list[Power]:
        """Return as few rows as can be whose product is argument^n; identities alone if plain."""
        if n < 0:
            if "inverse" not in self.library:
                raise self._cannot(f"{self._written(argument)}^{n}")
            return [Power("inverse", Fraction(-1), argument)] * -n
        named = ("identity",) if plain and "identity" in self.library else tuple(POWERS)
        usable = [(x, int(POWERS[x])) for x in named if x in self.library and POWERS[x] >= 1]
        best: dict[int, list[Power]] = {0: []}
        for reach in range(1, n + 1):
            for name, q in usable:
                if reach - q in best:
                    way = [*best[reach - q], Power(name, Fraction(q), argument)]
                    best[reach] = min(best.get(reach, way), way, key=len)
        if n not in best:
            raise self._cannot(f"{self._written(argument)}^{n}")
        return best[n]

    # ---- arguments ---------------------------------------------------------------------------

    def _argument(self, expression: Any) -> Argument | None:
        """Read a variable, a sum or a product of variables with multiplicities."""
        import sympy

        linear = self._operands(sympy.Add.make_args(expression), lambda t: t.as_coeff_Mul()[::-1])
        if linear:
            return argument_of(SUM, linear)
        product = self._operands(sympy.Mul.make_args(expression), lambda f: f.as_base_exp())
        return argument_of(PRODUCT, product) if product else None

    def _operands(self, parts: Sequence[Any], split: Any) -> list[int] | None:
        operands: list[int] = []
        for part in parts:
            symbol, n = split(part)
            if not symbol.is_Symbol or not n.is_Integer or not 0 < n <= self.n_v:
                return None
            operands += [self.names.index(symbol.name) + 1] * int(n)
        return sorted(operands) if len(operands) <= self.n_v else None

    def _written(self, argument: Argument) -> str:
        shown = [self.names[v - 1] for v in argument[1]]
        return shown[0] if len(shown) == 1 else f"({' + '.join(shown)})"

    def _cannot(self, factor: Any) -> GSRError:
        return GSRError(
            f"the factor {factor} cannot be encoded with the transformations"
            f" {', '.join(self.library.names)} and at most {self.n_v} operands"
        )
