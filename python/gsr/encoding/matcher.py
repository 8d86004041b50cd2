"""Finds the rows of a SymPy expression.

`Matcher` recognises plain basis matrices, as the paper has them. `Composer` builds the rows of any
expression: differences, quotients, compositions and real weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from gsr import _core
from gsr.encoding.rows import ONE, Argument, Part, Row, combined, matrix_of, variable
from gsr.encoding.sympy_forms import cube_root, number_and_rest, without_bars
from gsr.exceptions import GSRError
from gsr.lazy import sympy
from gsr.library import Library
from gsr.transformation import EXPONENTIALS, POWERS

#: The transformations t and 1/t, by name.
UNITS = {name: power for name, power in POWERS.items() if abs(power) == 1}


class Power(NamedTuple):
    """A row whose transformation is a power, so that k times its argument is k^power times it."""

    name: str
    argument: Argument

    @property
    def power(self) -> Fraction:
        """Of the argument; |t| counts as t."""
        return POWERS.get(self.name, Fraction(1))

    def scaled(self, k: int) -> Power:
        """Return the row with k copies of the argument."""
        if k == 1:
            return self
        return Power(self.name, combined(False, [(v, k * n) for v, n in self.argument.parts]))


class Matcher:
    """Splits a product into rows; `n_v` operands fit into one argument.

    It raises GSRError for what has no plain rows; `Composer` may have others for it.
    """

    def __init__(self, library: Library, names: Sequence[str], n_v: int) -> None:
        self.library, self.names, self.n_v = library, list(names), n_v
        self.calls: list[Row] = []
        self.monomial: Counter[Any] = Counter()
        self.sums: Counter[Argument] = Counter()
        self.roots: list[Power] = []

    def match(self, expression: Any) -> list[Row]:
        """Return rows whose product is the expression."""
        expression = self._own(expression)
        coefficient = sympy.Integer(1)
        for factor in sympy.Mul.make_args(expression):
            if factor.is_number:
                coefficient *= sympy.nsimplify(factor)
            else:
                self._factor(factor)
        powers = self._with_coefficient(coefficient)
        found = self.calls + [Row(self.library.code(p.name), p.argument) for p in powers]
        if len(found) > _core.MAX_ROWS:
            raise GSRError(f"more than {_core.MAX_ROWS} factors")
        return found

    # ---- functions ---------------------------------------------------------------------------

    def _own(self, expression: Any) -> Any:
        """Divide by transformations of the user's as long as that makes the expression simpler.

        They come first, because their forms may be products that would be taken apart.
        """
        rests = [
            (sympy.powsimp(expression / self.library.sympy(code, argument)), Row(code, read))
            for code in self.library.own
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
        parts = sympy.preorder_traversal(expression)
        for part in (each for each in parts if isinstance(each, sympy.Expr)):  # no condition
            for argument in (part, -part, *([sympy.sqrt(part)] if roots else [])):
                if argument.has(sympy.Abs):
                    argument = argument.replace(sympy.Abs, lambda inside: inside)
                read = self._argument(argument)
                if read is not None:
                    yield argument, read

    def _factor(self, factor: Any) -> None:
        if isinstance(factor, sympy.exp):
            self._exponential(factor)
            return
        base, power = factor.as_base_exp()
        if isinstance(base, sympy.log):
            base = sympy.log(without_bars(base.args[0]))
        if power.is_Integer and power > 0 and self._call(base, int(power)):
            return
        if not power.is_Rational or power.q > 3 or not self._raise(base, power):
            raise GSRError(f"{factor} is no plain row")

    def _call(self, factor: Any, times: int) -> bool:
        powers = (*POWERS, "abs")
        functions = [k for k, name in enumerate(self.library.names) if name not in powers]
        for argument, read in self._candidates(factor):
            for code in functions:
                if self.library.sympy(code, argument) == factor:
                    self.calls += [Row(code, read)] * times
                    return True
        return False

    def _exponential(self, factor: Any) -> None:
        """exp(a + b - c) = exp(a + b) exp(-c): linear terms stay together, products do not."""
        linear: dict[str, list[Any]] = {EXPONENTIALS[1.0]: [], EXPONENTIALS[-1.0]: []}
        found: list[tuple[str, Argument]] = []
        for term in sympy.Add.make_args(factor.exp):
            n, part = term.as_coeff_Mul()
            read = self._argument(part)
            if read is None or not n.is_Integer or abs(n) > _core.MAX_ROWS * self.n_v:
                raise GSRError(f"{factor} is no plain row")
            name = EXPONENTIALS[1.0 if n > 0 else -1.0]
            if read.lone is not None:
                linear[name] += [read.lone] * abs(int(n))
            else:
                found += [(name, read)] * abs(int(n))
        for name, variables in linear.items():
            for start in range(0, len(variables), self.n_v):
                some = sorted(variables)[start : start + self.n_v]
                found.append((name, _total(some)))
        if any(name not in self.library for name, _ in found):
            raise GSRError(f"{factor} is no plain row")
        self.calls += [Row(self.library.code(name), read) for name, read in found]

    # ---- powers ------------------------------------------------------------------------------

    def _raise(self, base: Any, power: Any) -> bool:
        """Take note of base^power, whose power is a multiple of one half or one third."""
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
        if read.lone is not None:
            self.monomial[read.lone] += int(power)
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
        self.roots += [Power(name, argument)] * times
        return True

    def _with_coefficient(self, coefficient: Any) -> list[Power]:
        """Return the rows of powers that have the coefficient inside their arguments."""
        powers = self.roots + self._sum_rows() + self._monomial_rows()
        if coefficient == 1:
            return powers
        sixth = coefficient**6
        if coefficient.is_positive and sixth.is_Rational:
            scales = _scales_for(powers, Fraction(int(sixth.p), int(sixth.q)), self.n_v)
            if scales is not None:
                scaled = [p.scaled(k) for p, k in zip(powers, scales, strict=True)]
                return _merged(scaled, self.n_v)
        raise GSRError(f"{coefficient} is no plain row")

    def _sum_rows(self) -> list[Power]:
        return [row for argument, n in self.sums.items() for row in self._fewest(argument, n)]

    def _monomial_rows(self) -> list[Power]:
        above = {v: n for v, n in self.monomial.items() if n > 0}
        powers = set(above.values())
        found: list[Power] = []
        for v, n in self.monomial.items():
            found += self._fewest(_total([v]), n, plain=True)
        if powers in ({2}, {3}):
            whole = self._fewest(_product(above), powers.pop())
            if len(whole) == 1:
                found = [row for row in found if row.power < 0] + whole
        return _merged(found, self.n_v)

    def _fewest(self, argument: Argument, n: int, plain: bool = False) -> list[Power]:
        """Return as few rows as can be whose product is argument^n; identities alone if plain."""
        if n < 0 and "inverse" in self.library:
            return [Power("inverse", argument)] * -n
        named = ("identity",) if plain and "identity" in self.library else tuple(POWERS)
        usable = [(x, int(POWERS[x])) for x in named if x in self.library and POWERS[x] >= 1]
        best: dict[int, list[Power]] = {0: []}
        for reach in range(1, n + 1):
            for name, q in usable:
                if reach - q in best:
                    way = [*best[reach - q], Power(name, argument)]
                    best[reach] = min(best.get(reach, way), way, key=len)
        if n not in best:
            raise GSRError(f"{argument}^{n} is no plain row")
        return best[n]

    # ---- arguments ---------------------------------------------------------------------------

    def _argument(self, expression: Any) -> Argument | None:
        """Read a variable, a sum or a product of variables with multiplicities."""
        linear = self._operands(sympy.Add.make_args(expression), lambda t: t.as_coeff_Mul()[::-1])
        if linear:
            return _total(linear)
        product = self._operands(sympy.Mul.make_args(expression), lambda f: f.as_base_exp())
        return _product(product) if product else None

    def _operands(self, parts: Sequence[Any], split: Any) -> list[int] | None:
        operands: list[int] = []
        for part in parts:
            symbol, n = split(part)
            if not symbol.is_Symbol or not n.is_Integer or not 0 < n <= self.n_v:
                return None
            operands += [self.names.index(symbol.name) + 1] * int(n)
        return sorted(operands) if len(operands) <= self.n_v else None


def _total(variables: Iterable[Any]) -> Argument:
    return combined(False, ((v, 1) for v in variables))


def _product(variables: Iterable[Any]) -> Argument:
    return combined(True, ((v, 1) for v in variables))


def _merged(powers: list[Power], n_v: int) -> list[Power]:
    """Put single variables under identity, and those under inverse, into products."""
    kept = [p for p in powers if not _single(p)]
    for name in UNITS:
        lone: list[Any] = [p.argument.lone for p in powers if _single(p) and p.name == name]
        lone.sort()
        for start in range(0, len(lone), n_v):
            kept.append(Power(name, _product(lone[start : start + n_v])))
    return kept


def _single(power: Power) -> bool:
    return power.name in UNITS and power.argument.lone is not None


def _scales_for(powers: list[Power], sixth: Fraction, n_v: int) -> list[int] | None:
    """Return k_i with prod k_i^(6 power_i) = sixth, where k_i copies fit into the argument."""
    reached: dict[Fraction, list[int]] = {Fraction(1): []}
    for power in powers:
        size = sum(int(times) for _, times in power.argument.parts)
        most = 1 if power.argument.is_product else n_v // size
        step: dict[Fraction, list[int]] = {}
        for k in (k for k in range(1, most + 1) if _only_primes_of(sixth, k)):
            factor = Fraction(k) ** int(6 * power.power)
            for value, scales in reached.items():
                step.setdefault(value * factor, [*scales, k])
        reached = step
    return reached.get(sixth)


def _only_primes_of(value: Fraction, k: int) -> bool:
    """Return whether k could matter: primes that are not in the value would have to cancel."""
    return pow(value.numerator * value.denominator, k.bit_length(), k) == 0


# ---- any expression ------------------------------------------------------------------------------

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
        """Return whether the n-th root is one of square and cube roots."""
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
