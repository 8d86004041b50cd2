"""Forms of formulas up to names and constants, to compare the corpus with benchmark problems."""

from __future__ import annotations

import re

from formula_corpus import FILE, is_constant, parse
from gsr.selection.expressions import Call, Sum, Variable, variables_of

ROUNDS = 3
NAMES = {"log": "ln", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "Abs": "abs"}


def read(text: str) -> Sum:
    """Return the normal form of an expression as SymPy or Python writes it."""
    text = re.sub(r"Rational\((-?\d+), ?(\d+)\)", r"(\1/\2)", text)
    text = re.sub(r"\b[A-Za-z_]\w*", lambda word: NAMES.get(word[0], word[0]), text)
    return parse(re.sub(r"\blambda\b", "lambd", text))


def form(total: Sum) -> str:
    """Return a text that is the same for expressions that differ in names and constants only."""
    colours = dict.fromkeys(variables_of(total), "v")
    for _ in range(ROUNDS):
        found = {name: _text(total, {**colours, name: "*"}) for name in colours}
        order = sorted(set(found.values()))
        colours = {name: f"v{order.index(text)}" for name, text in found.items()}
    return _text(total, colours)


def _text(total: Sum, colours: dict[str, str]) -> str:
    terms = []
    for term in total.terms:
        powers = [f"{_base(base, colours)}^{_exponent(e)}" for base, e in term.powers]
        terms.append("*".join(sorted(powers)) or "1")
    return "(" + " + ".join(sorted(terms)) + ")"


def _base(base: Variable | Call | Sum, colours: dict[str, str]) -> str:
    if isinstance(base, Variable):
        return colours[base.name]
    return (
        base.name + _text(base.argument, colours)
        if isinstance(base, Call)
        else _text(base, colours)
    )


def _exponent(exponent) -> str:
    simple = not exponent.real and exponent.number.denominator < 10
    return str(exponent.number) if simple else "real"


def corpus_forms() -> dict[str, list[str]]:
    """Return the forms of each line of the corpus: as it is, and with constants as variables."""
    found = {}
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            target, _, expression = line.partition(": ")[2].partition(" = ")
            side = "" if target.isidentifier() else form(parse(target)) + " = "
            named = re.sub(
                r"\bc\d+\b",
                lambda word: "k" + word[0] if is_constant(word[0]) else word[0],
                expression,
            )
            found[line] = [side + form(parse(expression)), side + form(parse(named))]
    return found
