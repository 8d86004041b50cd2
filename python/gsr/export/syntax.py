"""How the languages write names, numbers, calls, quotients and choices; their helper functions."""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from gsr.exceptions import GSRError

# ---- names ---------------------------------------------------------------------------------------

RESERVED_IN_C = """
auto break case char const continue default do double else enum extern float for goto if inline int
long main register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while asm bool true false typeof linux unix errno HUGE_VAL HUGE_VALF HUGE_VALL
INFINITY NAN NULL math_errhandling fpclassify isfinite isinf isnan isnormal signbit isgreater
isgreaterequal isless islessequal islessgreater isunordered float_t double_t
"""
C_WORDS = frozenset(RESERVED_IN_C.split())
PYTHON_WORDS = frozenset(
    [*keyword.kwlist, *keyword.softkwlist, "abs", "float", "math", "np", "torch", "jax", "jnp"]
)
SPOKEN = {"%": "percent", "°": "deg", "#": "number", "Ω": "ohm", "$": "dollar", "€": "euro"}


def identifiers(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """Return a different identifier for each name, none of them among those taken."""
    used = set(taken)
    found: list[str] = []
    for k, name in enumerate(names, start=1):
        found.append(fresh(_cleaned(name) or f"x{k}", used))
        used.add(found[-1])
    return found


def fresh(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def check_function_name(name: str, taken: Collection[str]) -> None:
    """Raise unless a name can be that of the function."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise GSRError(
            f"name must be letters, digits and underscores with a letter first, got {name!r}"
        )
    if name in taken:
        raise GSRError(f"name must not be a word of the language, got {name!r}")


def _cleaned(name: str) -> str:
    letters = "".join(_spelt(c) for c in unicodedata.normalize("NFKD", name))
    words = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    return f"x{words}" if words[:1].isdigit() else words


def _spelt(character: str) -> str:
    if character.isascii() and character not in SPOKEN:
        return character
    if character in SPOKEN:
        return f"_{SPOKEN[character]}_"
    if unicodedata.combining(character):
        return ""
    greek = re.fullmatch(
        r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)", unicodedata.name(character, "")
    )
    if greek is None:
        return "_"
    return greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()


def shown(name: str) -> str:
    """Return a name on one line, for a comment."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


# ---- expressions ---------------------------------------------------------------------------------

ATOM, PRODUCT, SUM = range(3)
LARGEST_POWER = 4


class Expression(NamedTuple):
    """Source text, and the precedence of its outermost operation."""

    text: str
    level: int = ATOM

    @property
    def is_name(self) -> bool:
        """Whether it is a variable or a number, which may be written twice."""
        return self.text.replace(".", "").replace("_", "").isalnum()

    def within(self, level: int) -> str:
        """Return the text, in brackets if its precedence is lower than the level."""
        return self.text if self.level <= level else f"({self.text})"


_SAME = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "floor", "ceil"]
_ARCS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_ARCS |= {f"{name}h": f"{arc}h" for name, arc in _ARCS.items()}


def _prefixed(prefix: str, changed: Mapping[str, str]) -> dict[str, str]:
    return {
        **{f: f"{prefix}.{f}" for f in _SAME},
        **{k: f"{prefix}.{v}" for k, v in changed.items()},
    }


@dataclass(frozen=True)
class Dialect:
    """The syntax of a language."""

    language: str
    functions: Mapping[str, str]
    scalar: bool
    words: frozenset[str] = PYTHON_WORDS
    comment: str = "#"
    infinity: str = "math.inf"
    nan: str = "math.nan"

    @property
    def is_c(self) -> bool:
        """Whether the source is C."""
        return self.language == "c"

    def number(self, value: float) -> Expression:
        """Write a number, with all its digits."""
        if math.isnan(value):
            return Expression(self.nan)
        if math.isinf(value):
            return Expression(self.infinity) if value > 0 else Expression(f"-{self.infinity}", SUM)
        return Expression(repr(float(value)), SUM if math.copysign(1.0, value) < 0 else ATOM)

    def call(self, name: str, *arguments: Expression) -> Expression:
        """Write a function of C's library."""
        if name not in self.functions:
            raise GSRError(f"{self.language} has no function {name!r}, which the law needs")
        listed = ", ".join(argument.text for argument in arguments)
        pattern = self.functions[name]
        return Expression(pattern.format(listed) if "{}" in pattern else f"{pattern}({listed})")

    def divide(self, a: Expression, b: Expression) -> Expression:
        """Write a quotient; by 0 it is infinite, or NaN."""
        if self.language == "python":
            return self.call("divide", a, b)
        return Expression(f"{a.within(PRODUCT)} / {b.within(ATOM)}", PRODUCT)

    def multiply(self, factors: Sequence[Expression]) -> Expression:
        """Write a product."""
        if len(factors) == 1:
            return factors[0]
        return Expression(" * ".join(f.within(PRODUCT) for f in factors) or "1.0", PRODUCT)

    def add(self, terms: Sequence[tuple[float, Expression | None]]) -> Expression:
        """Write a sum of multiples; None is the number 1."""
        text = ""
        for c, term in terms:
            size = abs(c) if text else c
            if term is None:
                part = self.number(size)
            elif abs(c) == 1.0:
                # A product may begin with a minus, a sum must not.
                negative = size < 0.0
                part = Expression(f"-{term.within(ATOM)}", SUM) if negative else term
            else:
                part = Expression(f"{self.number(size).text} * {term.within(PRODUCT)}", PRODUCT)
            if not text:
                text = part.text
            else:
                text += f" {'-' if c < 0 else '+'} {part.within(PRODUCT)}"
        lone = len(terms) == 1 and terms[0][0] == 1.0 and terms[0][1] is not None
        return terms[0][1] if lone and terms[0][1] else Expression(text or "0.0", SUM)

    def negative(self, a: Expression) -> Expression:
        """Write the opposite."""
        return Expression(f"-{a.within(ATOM)}", SUM)

    def power(self, a: Expression, q: float) -> Expression:
        """Write a power; small whole ones as products."""
        if q < 0:
            return self.divide(self.number(1.0), self.power(a, -q))
        if q == 0.5:
            return self.call("sqrt", a)
        if float(q).is_integer() and 1 <= q <= LARGEST_POWER and (a.is_name or q == 1):
            return self.multiply([a] * int(q))
        return self.call("pow", a, self.number(q))

    def where(self, condition: str, a: Expression, b: Expression) -> Expression:
        """Write a choice."""
        if self.is_c:
            return Expression(f"{condition} ? {a.within(ATOM)} : {b.within(ATOM)}", SUM)
        if self.scalar:
            return Expression(f"{a.within(ATOM)} if {condition} else {b.within(ATOM)}", SUM)
        return Expression(f"{self.functions['where']}({condition}, {a.text}, {b.text})")

    def all_of(self, *conditions: str) -> str:
        """Write that all conditions hold."""
        sign = "&&" if self.is_c else "and" if self.scalar else "&"
        return f" {sign} ".join(map(_bracketed, conditions))

    def any_of(self, *conditions: str) -> str:
        """Write that one of the conditions holds."""
        sign = "||" if self.is_c else "or" if self.scalar else "|"
        return f" {sign} ".join(map(_bracketed, conditions))

    # ---- forms that come as text -------------------------------------------------------------

    def template(self, code: str, argument: Expression) -> Expression:
        """Write a transformation of the library's table, whose code is C."""
        return self._parsed(ast.parse(code.replace("{}", "t"), mode="eval").body, argument)

    def _parsed(self, node: ast.expr, t: Expression) -> Expression:
        if isinstance(node, ast.Name):
            return t
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return self.number(float(node.value))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.negative(self._parsed(node.operand, t))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node.func.id, *(self._parsed(a, t) for a in node.args))
        if isinstance(node, ast.BinOp):
            a, b = self._parsed(node.left, t), self._parsed(node.right, t)
            if isinstance(node.op, ast.Mult):
                return self.multiply([a, b])
            if isinstance(node.op, ast.Div):
                return self.divide(a, b)
            if isinstance(node.op, ast.Add | ast.Sub):
                return self.add([(1.0, a), (1.0 if isinstance(node.op, ast.Add) else -1.0, b)])
        raise GSRError(f"cannot write {ast.unparse(node)!r} in {self.language}")

    def symbolic(self, form: Any, t: Expression) -> Expression:
        """Write a SymPy expression of one symbol, which becomes t."""
        import sympy

        if form.is_Symbol:
            return t
        if form.is_number:
            return self.number(float(form))
        if form.is_Add:
            split = [argument.as_coeff_Mul() for argument in form.args]
            return self.add(
                [(float(c), None if rest == 1 else self.symbolic(rest, t)) for c, rest in split]
            )
        if form.is_Mul:
            above, below = sympy.fraction(form, exact=True)
            if below != 1:
                return self.divide(self.symbolic(above, t), self.symbolic(below, t))
            c, rest = form.as_coeff_Mul()
            if c != 1:
                return self.add([(float(c), self.symbolic(rest, t))])
            return self.multiply([self.symbolic(argument, t) for argument in form.args])
        if form.is_Pow and form.exp.is_number:
            return self.power(self.symbolic(form.base, t), float(form.exp))
        return self._symbolic_function(form, t)

    def _symbolic_function(self, form: Any, t: Expression) -> Expression:
        names = {"Abs": "fabs", "ceiling": "ceil", "Pow": "pow"}
        kind = type(form).__name__
        if kind == "Piecewise":
            choices = [(self.symbolic(value, t), condition) for value, condition in form.args]
            found = self.number(math.nan)
            for value, condition in reversed(choices):
                found = value if condition == True else self.where(  # noqa: E712
                    self._condition(condition, t), value, found
                )  # fmt: skip
            return found
        if kind in ("Max", "Min"):
            sign = ">" if kind == "Max" else "<"
            first, *others = (self.symbolic(argument, t) for argument in form.args)
            for other in others:
                condition = f"{first.within(ATOM)} {sign} {other.within(ATOM)}"
                first = self.where(condition, first, other)
            return first
        arguments = [self.symbolic(argument, t) for argument in form.args]
        return self.call(names.get(kind, kind), *arguments)

    def _condition(self, condition: Any, t: Expression) -> str:
        signs = {"StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">",
                 "GreaterThan": ">=", "Equality": "==", "Unequality": "!="}  # fmt: skip
        kind = type(condition).__name__
        if kind in ("And", "Or"):
            parts = [self._condition(part, t) for part in condition.args]
            return self.all_of(*parts) if kind == "And" else self.any_of(*parts)
        if kind not in signs:
            raise GSRError(f"cannot write the condition {condition} in {self.language}")
        left, right = (self.symbolic(side, t).within(ATOM) for side in condition.args)
        return f"{left} {signs[kind]} {right}"


def _bracketed(condition: str) -> str:
    return f"({condition})" if " " in condition else condition


_ARRAYS = {"where": "where", "isfinite": "isfinite", "sign": "sign", "fabs": "abs"}
_ONES_OWN = {f: f for f in _ARCS}
_C = {f: f for f in [*_SAME, *_ARCS, "fabs", "pow", "cbrt", "erf", "isfinite"]}
LANGUAGES = ("python", "numpy", "c", "torch", "jax")


def dialect(language: str, prefix: str) -> Dialect:
    """Return the syntax of a language; helpers of the source have names with the prefix."""
    if language not in LANGUAGES:
        raise GSRError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    if language == "c":
        functions = {**_C, "sign": f"{prefix}sign"}
        return Dialect("c", functions, True, C_WORDS | set(_C), "//", "INFINITY", "NAN")
    if language == "python":
        # Where C gives NaN or infinity, Python's math raises.
        raising = {f: f"{prefix}safe(math.{f}, {{}})" for f in [*_SAME, *_ARCS, "erf"]}
        helpers = {f: f"{prefix}{f}" for f in ("divide", "log", "pow", "sign", "cbrt")}
        functions = {**raising, **helpers, "fabs": "abs", "isfinite": "math.isfinite"}
        return Dialect("python", functions, True)
    module = MODULES[language]
    arcs = _ONES_OWN if language == "torch" else _ARCS
    pow_ = "pow" if language == "torch" else "power"
    functions = _prefixed(module, {**_ARRAYS, **arcs, "pow": pow_, "cbrt": "cbrt"})
    if language == "torch":
        functions["cbrt"] = f"{prefix}cbrt"
    if language != "numpy":
        functions["erf"] = "torch.erf" if language == "torch" else "jax.scipy.special.erf"
    return Dialect(language, functions, False, infinity=f"{module}.inf", nan=f"{module}.nan")


# ---- helper functions ----------------------------------------------------------------------------

#: Which modules of arrays the languages have.
MODULES = {"numpy": "np", "torch": "torch", "jax": "jnp"}


@cache
def helper_texts(language: str) -> dict[str, str]:
    """Return the helper functions of a language, written in it; ``@`` is the prefix of names.

    One may need those before it. `solve` finds y between a and b, or beyond them up to `below` and
    `above`, where g is monotone; a pole, where g jumps, is no solution, which the size of g's terms
    tells. `choose` takes the one of several solutions that the training data speak for, NaN if they
    speak for none.
    """
    text = (files("gsr.export") / "helpers" / f"{language}.txt").read_text("utf-8").strip()
    found = {part.partition("@")[2].partition("(")[0]: part for part in text.split("\n\n\n")}
    if language in ("torch", "jax"):
        same = helper_texts("numpy")["choose"].replace("np.", f"{MODULES[language]}.")
        found["choose"] = same
    return found


def helpers(language: str, prefix: str, body: str) -> list[str]:
    """Return the helpers that a source needs, in order, apart from `solve`."""
    found: list[str] = []
    for name, text in reversed(helper_texts(language).items()):
        if name != "solve" and re.search(rf"\b{prefix}{name}\(", "\n".join([body, *found])):
            found.insert(0, text.replace("@", prefix))
    return found


def solver(language: str, prefix: str) -> str:
    """Return the source of the function that solves g(y) = v."""
    return helper_texts(language)["solve"].replace("@", prefix)
