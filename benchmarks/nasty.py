"""Tables that break fits, and damaged files, drawn at random."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: What replaces a part of a JSON file.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**400, 10**12, "", "x", "\x1b[31m", [], [None], ["x"], [{}], {},
    {"a": 1}, [[[[[[]]]]]],
)  # fmt: skip
#: Texts that are no run, model or manifest.
TEXTS = (
    "", "{", "null", "[]", '"x"', "\0" * 64, "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900,
    '{"format":"gsr run","format_version":1}', "9" * 5000,
)  # fmt: skip


def table(draw: np.random.Generator) -> tuple[Array, Array]:
    """Return rows and a target of extreme size, spread or structure."""
    n, d = int(draw.integers(2, 40)), int(draw.integers(1, 4))
    X = np.column_stack([_column(draw, n) for _ in range(d)])
    with np.errstate(all="ignore"):
        laws = (_column(draw, n), X[:, 0], X[:, 0] ** 2 + X[:, -1], np.exp(X[:, 0]), 1.0 / X[:, -1])
        y = np.nan_to_num(laws[int(draw.integers(len(laws)))] * _size(draw), nan=0.0)
    return X, y


def _size(draw: np.random.Generator) -> float:
    return float(draw.choice([1.0, -1.0, 10.0 ** draw.integers(-300, 300)]))


def _column(draw: np.random.Generator, n: int) -> Array:
    kinds = (
        draw.uniform(1, 2, n),
        draw.normal(0, 1, n),
        10.0 ** draw.uniform(-300, 300, n),
        np.full(n, draw.choice([0.0, 1.0, 5e-324, -1e300])),
        draw.integers(0, 2, n).astype(float),
        1e15 + draw.integers(0, 5, n),
        1.0 + 1e-15 * draw.integers(0, 5, n),
        draw.standard_cauchy(n) * 1e30,
        np.arange(n) * 5e-324,
        np.where(draw.random(n) < 0.1, 1e308, draw.random(n)),
        np.repeat(draw.uniform(0, 1, (n + 2) // 3), 3)[:n],
    )
    values = np.asarray(kinds[int(draw.integers(len(kinds)))], dtype=float)
    with np.errstate(over="ignore"):
        return values * _size(draw) if draw.random() < 0.3 else values


def damaged_json(text: str, draw: random.Random) -> str:
    """Return a JSON text with one part replaced or missing, or another text."""
    if draw.random() < 0.1:
        return draw.choice(TEXTS)
    found = json.loads(text)
    path = draw.choice([each for each in _paths(found) if each])
    changed = copy.deepcopy(found)
    part = changed
    for key in path[:-1]:
        part = part[key]
    if draw.random() < 0.1:
        part.pop(path[-1])
    else:
        part[path[-1]] = draw.choice(VALUES)
    return json.dumps(changed, ensure_ascii=draw.random() < 0.5)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(part, (*path, key))


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """Return bytes of which some are changed, cut off, repeated or exchanged."""
    found = bytearray(content)
    for _ in range(draw.choice([1, 2, 8])):
        at, size = draw.randrange(len(found) + 1), draw.randrange(1, 40)
        kind = draw.randrange(5)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del found[at : at + size]
        elif kind == 2:
            found[at:at] = found[at : at + size] * draw.choice([1, 50])
        elif kind == 3:
            found[at : at + size] = draw.choice([b"\0", b"\xff", b"9", b"\n", b","]) * size
        else:
            del found[at:]
    return bytes(found)
