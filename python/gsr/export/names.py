"""Identifiers for source code, made from names that may hold any characters."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Sequence

from gsr.exceptions import GSRError

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
    """Return a name for a comment: on one line, whatever is in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
