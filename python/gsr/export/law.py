"""A law as source code: its basis functions, and the y that solves g(y) = v."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from gsr.encoding.fold import Algebra, fold, values_of
from gsr.encoding.rows import ONE, Argument, Matrix, Row, factors
from gsr.encoding.sympy_forms import with_cube_roots
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.export.syntax import Dialect, Expression, fresh
from gsr.library import Library, Transformation
from gsr.prediction.chain import POINTS, SAME, Branch, Step, exponent
from gsr.prediction.roots import OUTSIDE_SEGMENTS, Scan, Segments
from gsr.transformation import apply_symbolic

WIDTH = 100
Write = Callable[[], Expression]


class Body:
    """Statements of a function, and the user's functions that they call."""

    def __init__(self, dialect: Dialect, prefix: str, taken: set[str]) -> None:
        self.dialect, self.prefix, self.taken = dialect, prefix, set(taken)
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}

    def let(self, value: Expression, name: str = "t") -> Expression:
        """Write an assignment and return the variable."""
        new = fresh(name, self.taken)
        self.taken.add(new)
        line = f"{new} = {value.text}"
        self.lines.append(f"double {line};" if self.dialect.is_c else line)
        return Expression(new)

    def named(self, value: Expression, name: str = "t") -> Expression:
        """Return a variable that holds the value, or the value if it is short."""
        return value if value.is_name else self.let(value, name)


class Terms(Algebra[Write]):
    """Writes basis functions."""

    def __init__(self, body: Body, library: Library, variables: Sequence[Expression]) -> None:
        self.body, self.library, self.variables = body, library, variables
        self.dialect = body.dialect

    def side(self, matrices: Sequence[Matrix], coefficients: Any) -> Expression:
        """Write a sum of basis functions with their coefficients."""
        terms: list[tuple[float, Expression | None]] = []
        for matrix, c in zip(matrices, coefficients, strict=True):
            product = factors(matrix, self.library)
            constants = [row for row in product if not row.argument.variables]
            others = [row for row in product if row.argument.variables]
            size = float(c) * self._value(constants)
            terms.append((size, self.basis_function(others) if others else None))
        # The constant comes last.
        return self.dialect.add(sorted(terms, key=lambda term: term[1] is None))

    def basis_function(self, rows: Sequence[Row]) -> Expression:
        """Write a product of rows, those under the line together."""
        above, below = (
            [fold(replace(r, reciprocal=False), self)() for r in rows if r.reciprocal == under]
            for under in (False, True)
        )
        return self._quotient(above, below)

    def _quotient(self, above: list[Expression], below: list[Expression]) -> Expression:
        top = self.dialect.multiply(above) if above else self.dialect.number(1.0)
        return self.dialect.divide(top, self.dialect.multiply(below)) if below else top

    def _value(self, product: Sequence[Row]) -> float:
        """Return the value of a product without variables."""
        nothing = np.zeros((1, len(self.variables)))
        return float(np.prod([values_of(row, nothing, self.library) for row in product]))

    # ---- the algebra: what writes a part when it is called, after the statements that it needs

    def variable(self, v: int) -> Write:
        """Return what writes a variable."""
        return lambda: self.variables[v - 1]

    def one(self) -> Write:
        """Return what writes 1."""
        return lambda: self.dialect.number(1.0)

    def total(self, argument: Argument, parts: Sequence[Write]) -> Write:
        """Return what writes a sum."""
        pairs = [*zip(parts, argument.parts, strict=True)]
        return lambda: self.dialect.add(
            [(float(n), None if base == ONE else write()) for write, (base, n) in pairs]
        )

    def product(self, argument: Argument, parts: Sequence[Write]) -> Write:
        """Return what writes a product, as a quotient where there are negative powers."""

        def write() -> Expression:
            above: list[Expression] = []
            below: list[Expression] = []
            for part, (_, n) in zip(parts, argument.parts, strict=True):
                operand = self.body.named(part()) if abs(n) > 1 else part()
                (above if n > 0 else below).append(self.dialect.power(operand, abs(n)))
            return self._quotient(above, below)

        return write

    def call(self, row: Row, argument: Write) -> Write:
        """Return what writes a transformation; one without variables is a number."""
        if not row.argument.variables:
            return lambda: self.dialect.number(self._value([row]))
        if row.reciprocal:
            whole = self.call(replace(row, reciprocal=False), argument)
            return lambda: self._quotient([], [whole()])
        entry = self.library.entries[row.code]
        if isinstance(entry, Transformation):
            own = entry

            def write() -> Expression:
                shown = argument().text
                return Expression(f"{self._own(own)}({shown})")

            return write
        return lambda: self._template(str(self.library.table[row.code].code), argument())

    def _template(self, code: str, argument: Expression) -> Expression:
        if code.count("{}") > 1:
            argument = self.body.named(argument)
        return self.dialect.template(code, argument)

    def _own(self, entry: Transformation) -> str:
        """Write a transformation of the user's own as a function, and return its name."""
        import sympy

        name = f"{self.body.prefix}{entry.name}"
        if name not in self.body.functions:
            form = apply_symbolic(entry.sympy, sympy.Symbol("t", real=True))
            written = self.dialect.symbolic(form, Expression("t"))
            text = function(self.dialect, name, ["t"], [], written, is_helper=True)
            self.body.functions[name] = text
        return name


def used_variables(equation: Equation) -> set[int]:
    """Return the features that the source reads, counted from 1."""
    rows = [row for matrix in equation.phi for row in factors(matrix, equation.library)]
    rule = equation.inversion.branches.sign
    arguments = [row.argument for row in rows] + list(rule.arguments if rule else ())
    return set().union(*(argument.variables for argument in arguments))


def function(
    dialect: Dialect,
    name: str,
    arguments: Sequence[str],
    lines: Sequence[str],
    value: Expression,
    *,
    is_helper: bool,
) -> str:
    """Return the source of a function."""
    inside = "".join(f"    {line}\n" for line in lines)
    listed = ", ".join(f"double {argument}" if dialect.is_c else argument for argument in arguments)
    if len(listed) >= WIDTH - 20:  # on several lines
        listed = "\n    " + "\n    ".join(wrap(listed, WIDTH - 4))
    if dialect.is_c:
        head = "static double" if is_helper else "double"
        return f"{head} {name}({listed})\n{{\n{inside}    return {value.text};\n}}"
    return f"def {name}({listed}):\n{inside}    return {value.text}"


# ---- the solution: closed forms, or bisection where there is none --------------------------------

MOST_SOLUTIONS = 24
#: Ranks of solutions that are far from the training range begin here.
OUTSIDE = 20
#: What g leaves at a solution, relative to its size on the training data.
ROUNDING = 1e-12
#: Values at which an inverse is tried: does it give a y where there is none?
TRIED = (-10.0, -1.5, -0.7, -0.3, -1e-3, 1e-3, 0.3, 0.7, 1.5, 10.0)
WRONG = 0.1
#: Distance, relative to y, within which a pole may be moved by rounding, and how g grows there.
NEXT_TO = 64 * float(np.finfo(float).eps)
STEEP = 4.0


class Candidate(NamedTuple):
    """A candidate for y; a lower rank is preferred."""

    y: Expression
    rank: float


class Solver:
    """Writes the y that solves g(y) = v."""

    def __init__(self, equation: Equation, body: Body, variables: Sequence[Expression]) -> None:
        self.equation, self.body, self.dialect = equation, body, body.dialect
        self.inversion, self.known = equation.inversion, equation.inversion.branches
        self.features = Terms(body, equation.library, variables)
        self.is_numeric = self.is_open = False

    def y(self, v: Expression) -> Expression:
        """Write the solution."""
        closed = self.inversion.closed
        if closed is not None and closed.is_symbolic:
            branches = closed.branches(np.linspace(self.known.low, self.known.high, POINTS))
            beta = float(self.equation.beta[0])
            value = v if beta == 1.0 else self.dialect.divide(v, self.dialect.number(beta))
            if 0 < len(branches) <= MOST_SOLUTIONS:
                return self._guarded(self._closed(value, closed.steps, branches), v, closed.steps)
        exponents = [exponent(matrix, self.inversion.library) for matrix in self.inversion.psi]
        if len(exponents) == 2 and set(exponents) == {1.0, 2.0}:
            b, a = (float(self.inversion.beta[exponents.index(q)]) for q in (1.0, 2.0))
            return self._one_of(self._quadratic(v, a, b))
        return self._one_of(self._numeric(v))

    # ---- closed forms ------------------------------------------------------------------------

    def _closed(
        self, value: Expression, steps: tuple[Step, ...], branches: list[Branch]
    ) -> Expression:
        sign = self._sign()
        if sign is not None and self.inversion.is_logarithm:
            size = self.body.let(self._inverse(steps[0], value), "size")
            return self._on_branch(self._signed(sign, size), steps[1:], branches[0][1:])
        if sign is not None and not steps[-1].period and len({b[:-1] for b in branches}) == 1:
            before = self._on_branch(value, steps[:-1], branches[0][:-1])
            size = self.body.let(self._inverse(steps[-1], before), "size")
            return self._signed(sign, size)
        solutions = [
            Candidate(self._on_branch(value, steps, branch), self._rank(branch))
            for branch in branches
        ]
        return self._one_of(solutions, sign)

    def _sign(self) -> Expression | None:
        """Write the sign of y, or of t in ln|t|."""
        rule = self.known.sign
        if rule is None:
            return None
        signs = [self.dialect.call("sign", fold(a, self.features)()) for a in rule.arguments]
        product = self.dialect.multiply(signs) if signs else self.dialect.number(1.0)
        return self.body.let(
            product if rule.constant == 1 else self.dialect.negative(product), "sign"
        )

    def _signed(self, sign: Expression, size: Expression) -> Expression:
        known = self.dialect.any_of(f"{sign.text} != 0.0", f"{size.text} == 0.0")
        product = self.dialect.multiply([sign, size])
        return self.body.let(
            self.dialect.where(known, product, self.dialect.number(math.nan)), "signed"
        )

    def _on_branch(self, value: Expression, steps: Sequence[Step], branch: Branch) -> Expression:
        for step, (mirrored, turns) in zip(steps, branch, strict=True):
            value = self._inverse(step, value)
            shift = turns * step.period + (step.mirror if mirrored else 0.0)
            if mirrored or shift:
                terms = [(-1.0 if mirrored else 1.0, value), (shift, None)]
                value = self.dialect.add(terms if shift else terms[:1])
        return value

    def _inverse(self, step: Step, value: Expression) -> Expression:
        import sympy

        assert step.symbolic is not None
        symbol = sympy.Symbol("v", real=True)
        form = with_cube_roots(apply_symbolic(step.symbolic, symbol))
        # Written more than once it is better computed once.
        value = value if form.count(symbol) < 2 and not form.is_Pow else self.body.named(value)
        return self.dialect.symbolic(form, value)

    def _rank(self, branch: Branch) -> float:
        """Return 1 if the training data do not meet the side that a branch is on."""
        side = sum(1 << k for k, (mirrored, _) in enumerate(branch) if mirrored)
        return 0.0 if self.known.sides is None or side in self.known.sides else 1.0

    def _guarded(self, y: Expression, v: Expression, steps: Sequence[Step]) -> Expression:
        """Write NaN where the inverse has a value, but one that does not solve the law."""
        if not any(_gives_false_values(step) for step in steps):
            return y
        y = self.body.let(y, "y")
        g = self.body.let(self._left(self.body, y), "g")
        size = f"1e-6 * ({self.dialect.call('fabs', v).text} + {self.dialect.call('fabs', g).text})"
        misfit = self.dialect.call("fabs", self.dialect.add([(1.0, g), (-1.0, v)])).text
        return self.dialect.where(f"{misfit} <= {size}", y, self.dialect.number(math.nan))

    def _quadratic(self, v: Expression, a: float, b: float) -> list[Candidate]:
        """Solve a y^2 + b y = v: (y - centre)^2 = v/a + centre^2."""
        centre = -b / (2 * a)
        scaled = v if a == 1.0 else self.dialect.divide(v, self.dialect.number(a))
        inside = self.dialect.add([(1.0, scaled), (centre**2, None)])
        root = self.body.let(self.dialect.call("sqrt", inside), "root")
        home = self.known.home or (self.known.low, self.known.high)
        signs = [s for s, met in ((1.0, home[1] > centre), (-1.0, home[0] < centre)) if met]
        if self.known.home is not None:
            signs = [1.0 if (home[0] + SAME * abs(centre)) >= centre else -1.0]
        return [Candidate(self.dialect.add([(s, root), (centre, None)]), 0.0) for s in signs]

    # ---- without a closed form ---------------------------------------------------------------

    def _left(self, body: Body, y: Expression) -> Expression:
        terms = Terms(body, self.inversion.library, [y])
        return terms.side(self.inversion.psi, self.inversion.beta)

    def _numeric(self, v: Expression) -> list[Candidate]:
        self.is_numeric = True
        found = []
        for *interval, rank in self._segments():
            sizes = self.inversion.function.size(np.array(interval[:2]))
            small = ROUNDING * float(sizes.min())
            interval.append(small if math.isfinite(small) else 0.0)
            numbers = [self.dialect.number(x).text for x in interval]
            call = f"{self.body.prefix}solve({v.text}, {', '.join(numbers)})"
            found.append(Candidate(Expression(call), rank))
        return found

    def _segments(self) -> list[tuple[float, ...]]:
        """Return (a, b, below, above, direction, rank) of intervals on which g is monotone.

        It is the one that holds the training data; without such one those that the data meet, and
        after them others in the order in which predictions try them.
        """
        scan, home = self.inversion.scan, self.known.home
        pieces = scan.segments
        inside = [int(k) for k in scan.order[: scan.n_inside]]
        if home is not None:
            k = next(k for k in inside if pieces.bounds(k) == home)
            a, b = max(self.known.low, home[0]), min(self.known.high, home[1])
            return [(a, b, *home, _direction(pieces, k), 0.0)]
        inside = [k for k in inside if _has_values(scan, k)]
        if not 0 < len(inside) <= MOST_SOLUTIONS:
            raise GSRError(
                f"the left side of the law has {len(inside)} pieces to be solved for"
                f" {self.equation.target_name!r}; {MOST_SOLUTIONS} at most can be written out"
            )
        found: list[tuple[float, ...]] = []
        for k in [*inside, *_reaching_further(scan, inside)][:MOST_SOLUTIONS]:
            a, b = _clear_of_poles(scan, k)
            rank = 0.0 if len(found) < len(inside) else float(OUTSIDE + len(found))
            found.append((a, b, a, b, _direction(pieces, k), rank))
        return found

    def left_side(self) -> list[str]:
        """Return the source of the function g, and of the size of its terms."""
        coefficients = self.inversion.beta
        return [self._left_function("g", coefficients), self._left_function("size", None)]

    def _left_function(self, name: str, coefficients: Any) -> str:
        body = Body(self.dialect, self.body.prefix, {"y"})
        if coefficients is not None:
            value = self._left(body, Expression("y"))
        else:
            terms = Terms(body, self.inversion.library, [Expression("y")])
            sizes = [
                self.dialect.call("fabs", terms.side([matrix], [c]))
                for matrix, c in zip(self.inversion.psi, self.inversion.beta, strict=True)
            ]
            value = self.dialect.add([(1.0, size) for size in sizes])
        self.body.functions.update(body.functions)
        return function(
            self.dialect, f"{self.body.prefix}{name}", ["y"], body.lines, value, is_helper=True
        )

    # ---- the choice --------------------------------------------------------------------------

    def _one_of(self, solutions: list[Candidate], sign: Expression | None = None) -> Expression:
        sign = sign or self._sign()
        if len(solutions) == 1 and sign is None:
            return solutions[0].y
        self.is_open = sign is None
        found = [Candidate(self.body.let(y, "y"), rank) for y, rank in solutions]
        slack = SAME * (self.known.high - self.known.low or max(abs(self.known.low), 1.0))
        home = self.known.home or (-math.inf, math.inf)
        parts = [
            self._pairs(found),
            self._pair(home[0] - slack, home[1] + slack),
            self._pair(self.known.low - slack, self.known.high + slack),
            self.dialect.number(slack).text,
            sign.text if sign is not None else "0.0",
        ]
        return Expression(f"{self.body.prefix}choose({', '.join(parts)})")

    def _pairs(self, found: list[Candidate]) -> str:
        if not self.dialect.is_c:
            return "[" + ", ".join(f"({y.text}, {rank!r})" for y, rank in found) + "]"
        values = ", ".join(y.text for y, _ in found)
        ranks = ", ".join(repr(rank) for _, rank in found)
        return f"{len(found)}, (const double[]){{{values}}}, (const double[]){{{ranks}}}"

    def _pair(self, a: float, b: float) -> str:
        listed = f"{self.dialect.number(a).text}, {self.dialect.number(b).text}"
        return f"(const double[]){{{listed}}}" if self.dialect.is_c else f"({listed})"


def _direction(pieces: Segments, k: int) -> float:
    return 1.0 if pieces.g[pieces.last[k]] > pieces.g[pieces.first[k]] else -1.0


def _ends(pieces: Segments, k: int) -> tuple[float, float]:
    low, high = sorted((float(pieces.g[pieces.first[k]]), float(pieces.g[pieces.last[k]])))
    return low, high


def _clear_of_poles(scan: Scan, k: int) -> tuple[float, float]:
    """Return the ends of a segment, a little inside where they are next to a pole.

    Another library's rounding may put the pole on their other side.
    """
    ends = scan.segments.y[[scan.segments.first[k], scan.segments.last[k]]]
    inner = ends + np.array([1.0, -1.0]) * NEXT_TO * np.abs(ends)
    sizes = np.abs(scan.function(ends))
    a, b = np.where(sizes > STEEP * np.abs(scan.function(inner)), inner, ends)
    return float(a), float(b)


def _has_values(scan: Scan, k: int) -> bool:
    """Return whether g takes the values between its ends, or jumps over them at a pole."""
    if scan.segments.last[k] - scan.segments.first[k] > 1:
        return True
    low, high = _ends(scan.segments, k)
    return bool(np.isfinite(scan.on_segment(k, np.array([low + (high - low) / 2])))[0])


def _reaching_further(scan: Scan, inside: Sequence[int]) -> list[int]:
    """Return the segments outside the range on which g has values that it has not before."""
    found = [_ends(scan.segments, k) for k in inside]
    further = []
    for k in map(int, scan.order[scan.n_inside :][:OUTSIDE_SEGMENTS]):
        low, high = _ends(scan.segments, k)
        if not any(a <= low and high <= b for a, b in found) and _has_values(scan, k):
            found.append((low, high))
            further.append(k)
    return further


def _gives_false_values(step: Step) -> bool:
    """Return whether the written inverse has real values that the function does not lead back."""
    import sympy

    for v in TRIED:
        p = complex(sympy.N(apply_symbolic(step.symbolic, sympy.Float(v))))  # type: ignore[arg-type]
        if p.imag == 0.0 and math.isfinite(p.real):
            with np.errstate(all="ignore"):
                back = float(np.asarray(step.forward(np.array([p.real])))[0])
            if abs(back - v) > WRONG * (abs(back) + abs(v)):
                return True
    return False
