"""Laws drawn at random from the encoding, for the searches that must find them again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import reference
from gsr.encoding import text
from gsr.library import resolve

ALL = resolve("all")
CODE = {name: ALL.code(name) for name in ALL}
ONE = 30000
ROW = 30000
LOW, HIGH = 0.5, 3.0
INVERSES = {"identity": lambda f: f, "sqrt": np.square, "ln": np.exp, "inverse": lambda f: 1.0 / f}


@dataclass(frozen=True)
class Law:
    """g(y) = sum of alpha phi(x)."""

    kind: str
    target: str
    phi: list
    alpha: list
    n_features: int
    n_rows: int

    def rows(self, n, seed):
        return np.random.default_rng(seed).uniform(LOW, HIGH, (n, self.n_features))

    def terms(self, X):
        return [
            a * reference.evaluate(m, ALL, X) for a, m in zip(self.alpha, self.phi, strict=True)
        ]

    def values(self, X):
        with np.errstate(all="ignore"):
            return INVERSES[self.target](np.sum(self.terms(X), axis=0))

    def __str__(self):
        terms = " + ".join(
            f"{a:g} {text(m, ALL)}" for a, m in zip(self.alpha, self.phi, strict=True)
        )
        g = "y" if self.target == "identity" else f"{self.target}(y)"
        return f"{g} = {terms}"


# ---- pieces ----------------------------------------------------------------------------------


def coefficient(rng, most):
    sign = float(rng.choice([-1.0, 1.0, 1.0]))
    return sign * float(np.round(rng.uniform(0.1, 1.0) * most, 2))


def constant(rng):
    return float(np.round(rng.uniform(0.4, 3.0), 2))


def power_product(rng, features):
    """Return the product of powers of the features, each at least to the first."""
    operands = []
    for feature in features:
        operands += [int(rng.choice([1, 1, -1])) * feature] * int(rng.choice([1, 1, 2]))
    return [[CODE["identity"], 2, *operands[:8]]]


def atom(rng, a, b):
    """Return one function of two features that is no product of powers."""
    shapes = [
        [[-CODE["identity"], 1, a, b]],
        [[CODE["sqrt"], 1, ONE, ROW + 2], [CODE["square"], 0, a, 0]],
        [[CODE["sin"], 2, a, b]],
        [[CODE["exp_neg"], 2, a, -b]],
        [[-CODE["identity"], 1, a, a, -b, ONE, ONE, ONE, ONE]],
        [[CODE["cos"], 1, a, -b]],
        [[CODE["ln"], 1, ONE, a]],
    ]
    return shapes[rng.integers(len(shapes))]


def composed(rng, a, b):
    """Return a transformation of a transformation."""
    shapes = [
        [[CODE["exp"], 0, ROW + 2], [CODE["cos"], 0, a]],
        [[CODE["sin"], 0, ROW + 2], [CODE["sqrt"], 0, a]],
        [[CODE["ln"], 1, ONE, ROW + 2], [CODE["square"], 0, a, 0]],
        [[CODE["sqrt"], 1, ROW + 2, b], [CODE["square"], 0, a, 0]],
        [[-CODE["identity"], 1, ONE, ROW + 2], [CODE["exp"], 0, a, 0]],
    ]
    return shapes[rng.integers(len(shapes))]


def with_constant(rng, a, b):
    """Return a function with a real constant in its argument."""
    c = constant(rng)
    shapes = [
        [[CODE["sin"], 3, a, c]],
        [[CODE["exp_neg"], 3, a, c]],
        [[-CODE["identity"], 3, a, ONE, 1.0, c]],
        [[CODE["cos"], 3, a, c]],
        [[-CODE["identity"], 3, a, b, 1.0, c]],
        [[CODE["ln"], 3, a, ONE, 1.0, c]],
    ]
    return shapes[rng.integers(len(shapes))]


def times(matrix, features, rng):
    """Return the basis function times a product of powers."""
    if not features:
        return matrix
    shifted = [[o + 1 if isinstance(o, int) and o > ROW else o for o in row] for row in matrix]
    return power_product(rng, features) + shifted


def pick(rng, d, n):
    return [int(f) for f in rng.permutation(d)[:n] + 1]


# ---- laws ------------------------------------------------------------------------------------


def product(rng, d):
    return "identity", [power_product(rng, pick(rng, d, d))]


def sum_of_terms(rng, d):
    n = int(rng.integers(2, 4))
    return "identity", [power_product(rng, pick(rng, d, min(d, 2))) for _ in range(n)]


def with_atom(rng, d):
    a, b, *rest = pick(rng, max(d, 2), max(d, 2))
    return "identity", [times(atom(rng, a, b), rest, rng)]


def with_composition(rng, d):
    a, b, *rest = pick(rng, max(d, 2), max(d, 2))
    return "identity", [times(composed(rng, a, b), rest[:1], rng)]


def logarithm(rng, d):
    return "ln", sum_of_terms(rng, d)[1][:2]


def square_root(rng, d):
    return "sqrt", sum_of_terms(rng, d)[1][:2]


def inverse(rng, d):
    return "inverse", sum_of_terms(rng, d)[1][:2]


def real_constant(rng, d):
    a, b, *rest = pick(rng, max(d, 2), max(d, 2))
    return "identity", [times(with_constant(rng, a, b), rest[:1], rng)]


def atom_and_term(rng, d):
    a, b, *_ = pick(rng, max(d, 2), max(d, 2))
    return "identity", [atom(rng, a, b), power_product(rng, pick(rng, max(d, 2), 1))]


KINDS = {
    "product": product,
    "sum": sum_of_terms,
    "atom": with_atom,
    "composition": with_composition,
    "logarithm": logarithm,
    "square root": square_root,
    "inverse": inverse,
    "constant": real_constant,
    "atom and term": atom_and_term,
}


def tame(law):
    """Tell whether the values are of moderate size and every term and feature matters."""
    X = law.rows(400, 99)
    y = law.values(X)
    with np.errstate(all="ignore"):
        f = np.sum(law.terms(X), axis=0)
    if not np.isfinite(y).all() or np.abs(y).max() > 1e4 * np.abs(y).std():
        return False
    if law.target == "ln" and np.abs(f).max() > 12:
        return False
    if law.target in ("sqrt", "inverse") and f.min() < 0.05 * np.abs(f).max():
        return False
    if y.std() < 0.02 * np.abs(y).max():
        return False
    terms = np.array(law.terms(X))
    if len(terms) > 1:
        sizes = terms.std(axis=1)
        related = np.abs(np.corrcoef(terms)) - np.eye(len(terms))
        return sizes.min() > 0.02 * sizes.max() and related.max() < 0.995
    return True


def draw(kind, rng):
    while True:
        d = int(rng.integers(1, 6))
        target, phi = KINDS[kind](rng, d)
        used = {abs(o) for m in phi for row in m for o in operands(row) if 0 < abs(o) < ONE}
        alpha = [coefficient(rng, 1.0 if target == "ln" else 5.0) for _ in phi]
        law = Law(kind, target, phi, alpha, max(used), int(rng.integers(60, 101)))
        if used == set(range(1, max(used) + 1)) and tame(law):
            return law


def operands(row):
    entries = row[2:]
    return entries[: len(entries) // 2] if row[1] == 3 else entries


def drawn_laws(count, seed=0):
    """Return laws of every kind in turn; the same seed draws the same laws."""
    rng = np.random.default_rng(seed)
    kinds = list(KINDS)
    return [draw(kinds[i % len(kinds)], rng) for i in range(count)]


def wider_matrix(rng, library, d=3):
    """Return a random matrix with everything that the paper's have not."""
    n = rng.randint(1, 4)
    room = 6  # weights that the core takes
    matrix = []
    for i in range(1, n + 1):
        kind = rng.choice([0, 1, 2] if room < 3 else [0, 1, 2, 3])
        pool = [*range(1, d + 1)] * 2 + [ONE, *range(ROW + i + 1, ROW + n + 1)]
        operands = rng.choices(pool, k=rng.randint(1, 3) if kind else 1)
        code = rng.choice([1, 1, -1]) * rng.randrange(1, len(library))
        if kind == 3:  # a weighted sum
            room -= len(operands)
            matrix.append(
                [code, kind, *operands, *(round(rng.uniform(-2, 2), 3) for _ in operands)]
            )
        else:
            signed = [rng.choice([1, 1, -1]) * o for o in operands]
            matrix.append([code, kind, *signed, *[0] * (3 - len(signed))])
    return matrix
