"""Builds the rows of any expression: differences, quotients, compositions and real weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from gsr import _core
from gsr.encoding.matcher import UNITS
from gsr.encoding.rows import ONE, Argument, Part, Row, combined, matrix_of, variable
from gsr.encoding.sympy_forms import cube_root, number_and_rest, without_bars
from gsr.exceptions import GSRError
from gsr.lazy import sympy
from gsr.library import Library
from gsr.transformation import POWERS

#: The transformation that takes the n-th root.
ROOTS = {power.denominator: name for name, power in POWERS.items() if power.numerator == 1}


class Composer:
    """Turns an expression into a product of rows, whose arguments may hold inner rows."""

    def __init__(self, library: Library, names: Sequence[str], width: int) -> None:
        self.library, self.names, self.width = library, list(names), width

    def compose(self, expression: Any) -> list[Row]:
        """Return rows whose product is the expression."""
        number, rest = number_and_rest(expression)
        if rest == 1 and number != 1:
            raise self._cannot(number)
        product = self._product(rest)
        if number != 1:
            product = self._scaled(product, self._weight(number))
        if len(matrix_of(product, self.width)) > _core.MAX_ROWS:
            raise GSRError(
                f"{expression} cannot be encoded: more than {_core.MAX_ROWS} factors and inner rows"
            )
        return product

    # ---- products ----------------------------------------------------------------------------

    def _product(self, expression: Any) -> list[Row]:
        """Return a product without a number as rows; powers of variables stand together."""
        whole = self._own(expression)
        if whole is not None:
            return [whole]
        monomial: list[tuple[int, int]] = []
        found: list[Row] = []
        for factor in sympy.Mul.make_args(expression):
            base, power = _base_and_power(factor)
            times = int(power) if power.is_Integer else 0
            if factor == 1:
                continue
            if base.is_Symbol and times and self._has_identity:
                monomial.append((self._variable(base), times))
            elif times and base.is_Function and not isinstance(base, (sympy.exp, sympy.Abs)):
                row = self._row(base)
                found += [replace(row, reciprocal=row.reciprocal != (times < 0))] * abs(times)
            else:
                found.append(self._row(factor))
        return [*self._monomial(monomial), *found]

    def _monomial(self, powers: list[tuple[int, int]]) -> Iterator[Row]:
        units = [(v, 1 if n > 0 else -1) for v, n in powers for _ in range(abs(n))]
        for start in range(0, len(units), self.width):
            chunk = units[start : start + self.width]
            if len(chunk) == 1 and chunk[0][1] < 0:
                yield self._identity(variable(chunk[0][0]), reciprocal=True)
            else:
                yield self._identity(combined(True, chunk))

    def _scaled(self, product: list[Row], number: float) -> list[Row]:
        """Return the rows with a number inside an argument, where it does the least harm."""
        names = [self.library.names[row.code] for row in product]
        for name, power in (("identity", 1), ("identity", -1), ("sqrt", 0.5), ("sqrt", -0.5)):
            for k, row in enumerate(product):
                if names[k] != name or row.reciprocal != (power < 0):
                    continue
                scale = number if power == 1 else number ** (1 / power) if number > 0 else None
                split = self._with_factor(row, scale) if scale is not None else None
                if split is not None:
                    return [*product[:k], *split, *product[k + 1 :]]
        inner = combined(False, [(product[0], number)])
        return [self._identity(inner), *product[1:]]

    def _with_factor(self, row: Row, number: float) -> list[Row] | None:
        """Return rows whose argument is the row's times a number, None if no part takes it."""
        if not row.argument.is_product:
            parts = tuple(Part(base, times * number) for base, times in row.argument.parts)
            return [replace(row, argument=Argument(False, parts))]
        for base, times in row.argument.parts:
            if times > 0:
                rest = combined(True, [*row.argument.parts, (base, -1)])
                scaled = combined(False, [(base, number)])
                return [replace(row, argument=a) for a in (rest, scaled) if a.parts]
        return None

    # ---- rows --------------------------------------------------------------------------------

    def _row(self, expression: Any) -> Row:
        """Return one row whose value is the expression."""
        own = self._own(expression)
        if own is not None:
            return own
        if isinstance(expression, sympy.exp):
            return self._exponential(expression.exp)
        base, power = _base_and_power(expression)
        if isinstance(base, sympy.Abs) and power.is_real:
            return self._size(base.args[0], power)
        if base.is_number and not power.is_number:
            return self._exponential(sympy.log(base) * power)
        if power != 1:
            return self._power(base, power)
        if expression.func in self._functions:
            (inside,) = expression.args
            inside = without_bars(inside) if isinstance(expression, sympy.log) else inside
            return Row(self._functions[expression.func], self._argument(inside))
        if expression.is_Symbol or expression.is_Add or expression.is_Mul:
            return self._identity(self._argument(expression))
        raise self._cannot(expression)

    def _power(self, base: Any, power: Any) -> Row:
        if not power.is_Rational or not self._has_root(power.q):
            raise self._cannot(sympy.Pow(base, power, evaluate=False))
        below, size = bool(power < 0), abs(power)
        if size == 1:
            return self._identity(self._argument(base), reciprocal=below)
        for name, exponent in POWERS.items():
            if exponent == Fraction(int(size.p), int(size.q)) and name in self.library:
                return self._named(name, self._argument(base), base, below)
        if size.q % 2 == 0:
            return self._named("sqrt", self._argument(base ** (2 * size)), base**power, below)
        if size.q % 3 == 0:
            return self._named("cbrt", self._argument(base ** (3 * size)), base**power, below)
        for name, q in (("cube", 3), ("square", 2)):
            if size % q == 0 and name in self.library:
                inside = combined(False, [(self._power(base, size / q), 1)])
                return self._named(name, inside, base**power, below)
        argument = combined(True, [(self._operand(base), int(power))])
        return self._identity(self._checked(argument, base**power))

    def _has_root(self, n: int) -> bool:
        """Tell whether the n-th root is one of square and cube roots."""
        while n % 2 == 0:
            n //= 2
        while n % 3 == 0 and "cbrt" in self.library:
            n //= 3
        return n == 1

    def _size(self, inside: Any, power: Any) -> Row:
        """Return |t|^n as a power of |t| or sqrt(t^2), or as exp(n ln|t|)."""
        size = sympy.Pow(sympy.Abs(inside), power, evaluate=False)
        if "abs" in self.library:
            if abs(power) == 1:
                return self._named("abs", self._argument(inside), size, bool(power < 0))
            if power.is_Rational and ROOTS.get(power.q) in self.library:
                return self._power(sympy.Abs(inside), power)
        if power == 1 and "sqrt" in self.library:
            return self._named("sqrt", self._argument(inside**2), size)
        logarithm = self._named("ln", self._argument(inside), size)
        return self._named("exp", combined(False, [(logarithm, self._weight(power))]), size)

    def _exponential(self, power: Any) -> Row:
        terms = [number_and_rest(term)[0] for term in sympy.Add.make_args(power)]
        negative = all(number < 0 for number in terms)
        name = "exp_neg" if "exp_neg" in self.library and negative else "exp"
        if name not in self.library:
            name = "exp_neg"
        argument = self._argument(-power if name == "exp_neg" else power)
        return self._named(name, argument, sympy.exp(power))

    def _own(self, expression: Any) -> Row | None:
        """Return a transformation of the user's that the expression, or its reciprocal, is."""
        for code in self.library.own:
            for part in sympy.preorder_traversal(expression):
                for argument in (part, -part):
                    if argument.is_number:
                        continue
                    form = self.library.sympy(code, argument)
                    if form in (expression, 1 / expression):
                        return Row(code, self._argument(argument), form != expression)
        return None

    def _identity(self, argument: Argument, reciprocal: bool = False) -> Row:
        for name, power in UNITS.items():
            if name in self.library:
                divided = reciprocal != (power < 0)
                if self.library.code(name) or not divided:
                    return Row(self.library.code(name), argument, divided)
        raise self._cannot("identity")

    @property
    def _has_identity(self) -> bool:
        return any(name in self.library for name in UNITS)

    def _named(self, name: str, argument: Argument, what: Any, reciprocal: bool = False) -> Row:
        if name not in self.library or (reciprocal and not self.library.code(name)):
            raise self._cannot(what)
        return Row(self.library.code(name), argument, reciprocal)

    @cached_property
    def _functions(self) -> dict[Any, int]:
        t = sympy.Dummy(real=True)
        forms = [self.library.sympy(code, t) for code in range(len(self.library))]
        found = {form.func: code for code, form in enumerate(forms) if form.args == (t,)}
        roots = {cube_root(): self.library.code("cbrt")} if "cbrt" in self.library else {}
        return found | roots

    # ---- arguments ---------------------------------------------------------------------------

    def _argument(self, expression: Any) -> Argument:
        terms = sympy.Add.make_args(expression)
        number, rest = number_and_rest(expression)
        if len(terms) > 1 or number != 1:
            split = [number_and_rest(term) for term in terms]
            parts = [(self._operand(rest), self._weight(number)) for number, rest in split]
            return self._checked(combined(False, parts), expression)
        if rest.is_Mul or _base_and_power(rest)[0].is_Symbol:
            product = combined(True, [self._factor(f) for f in sympy.Mul.make_args(rest)])
            return self._checked(product, expression)
        return combined(False, [(self._operand(rest), 1)])

    def _factor(self, factor: Any) -> tuple[int | Row, int]:
        base, power = _base_and_power(factor)
        if power.is_Integer and abs(power) <= self.width:
            return self._operand(base), int(power)
        return self._operand(factor), 1

    def _operand(self, expression: Any) -> int | Row:
        if expression.is_Symbol:
            return self._variable(expression)
        return ONE if expression == 1 else self._row(expression)

    def _variable(self, symbol: Any) -> int:
        return self.names.index(symbol.name) + 1

    def _weight(self, number: Any) -> float:
        if not number.is_real or not number.is_finite:
            raise self._cannot(number)
        return int(number) if number.is_Integer else float(number)

    def _checked(self, argument: Argument, expression: Any) -> Argument:
        total = sum(abs(times) for _, times in argument.parts)
        if (total if argument.is_product else len(argument.parts)) > self.width:
            raise self._cannot(expression)
        return argument

    def _cannot(self, part: Any) -> GSRError:
        return GSRError(
            f"the factor {part} cannot be encoded with the transformations"
            f" {', '.join(self.library.names)} and at most {self.width} operands"
        )


def _base_and_power(expression: Any) -> tuple[Any, Any]:
    if isinstance(expression, sympy.exp):
        return expression, sympy.Integer(1)
    return expression.as_base_exp()  # type: ignore[no-any-return]
