"""Scan for sums of terms that vary less than they would if the columns were independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.implicit.form import Form, nodes
from gsr.lazy import sympy
from gsr.transformation import Array

Indices = npt.NDArray[np.intp]

#: Up to this many sets of terms of one size, all are tried; otherwise, extensions of the best ones.
MOST_SETS = 150_000
BEAM = 200
#: Most sets of terms that are the same function of different columns, for each function.
MOST_ALIKE = 5_000
LARGEST = 5
CHUNK = 30_000
#: Number of sums kept for each size.
KEPT = 8
#: Terms with a value further out, in standard deviations, are left out.
TAIL = 8.0
#: Ridge added to the variances, so that sums that never vary are not taken for laws.
RIDGE = 1e-9
#: Variance relative to the gradients below which a sum is exact up to the ridge.
NOTHING = 3e-9
BITS_PER_NODE = 4.0
#: Pairs of exponents in products of two columns.
EXPONENTS = (
    (1, 1), (1, 2), (2, 1), (1, -1), (-1, 1), (-1, -1), (2, -1), (-1, 2), (1, -2), (-2, 1),
    (2, 2),
)  # fmt: skip
SHORT = ((1, 1), (1, -1), (-1, 1))
#: Most columns for which products of three, all products of two, and any products are candidates.
FEW_COLUMNS, SOME_COLUMNS, MANY_COLUMNS = 5, 10, 20
#: Most numbers in the table of gradients; with many columns, fewer rows are used.
MOST_NUMBERS = 20_000_000


def shuffled(X: Array, seed: int) -> Array:
    """Return the table with each column permuted independently."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(column) for column in X.T])


def functions(x: Any) -> list[Any]:
    """Return the terms of one column."""
    powers = [x, x**2, x**3, x**4, 1 / x, x**-2, sympy.sqrt(x), sympy.log(sympy.Abs(x))]
    return [*powers, sympy.exp(x), sympy.exp(-x), sympy.sin(x), sympy.cos(x)]


def products(columns: Sequence[Any]) -> Iterator[Any]:
    """Yield terms of two or three columns."""
    exponents = EXPONENTS if len(columns) <= SOME_COLUMNS else SHORT
    for x, y in combinations(columns, 2) if len(columns) <= MANY_COLUMNS else ():
        yield from (x**p * y**q for p, q in exponents)
    if len(columns) <= FEW_COLUMNS:
        yield from (x * y * z for x, y, z in combinations(columns, 3))
        for z in columns:
            others = [column for column in columns if column is not z]
            yield from (x * y / z for x, y in combinations(others, 2))


class Moments(NamedTuple):
    """Means of products of the centred terms, and of their gradients."""

    values: Array
    gradients: Array

    @classmethod
    def of(cls, terms: Array, slopes: Array) -> Moments:
        """Take the means over rows of a table."""
        centred = terms - terms.mean(axis=0)
        flat = slopes.reshape(-1, slopes.shape[2])
        return cls(centred.T @ centred / len(terms), flat.T @ flat / len(terms))

    def part(self, sets: Indices) -> tuple[Array, Array]:
        """Return both matrices of each set of terms."""
        ridge = RIDGE * np.eye(sets.shape[1])
        values, gradients = (each[sets[:, :, None], sets[:, None, :]] + ridge for each in self)
        return values, gradients


class Scan:
    """Sums of terms that vary little relative to their gradients (Taubin's method).

    The variance of a sum is compared with that on independent columns, so that sums that are small
    for any data, and functions of a single column, are not preferred.
    """

    def __init__(self, columns: tuple[Any, ...], X: Array, scale: Array) -> None:
        singles = [functions(x) for x in columns]
        terms = [*chain.from_iterable(singles), *products(columns)]
        step = -(-len(X) * len(columns) * len(terms) // MOST_NUMBERS)
        X = X[::step]
        self.columns, self.n_rows = columns, len(X)
        here, apart = (
            _with_slopes(terms, columns, table, scale) for table in (X, shuffled(X, seed=0))
        )
        with np.errstate(all="ignore"):
            steep = np.sqrt((here[1] ** 2).sum(axis=1))
            self.steep = np.sqrt((steep**2).mean(axis=0))
            centred = np.abs(here[0] - here[0].mean(axis=0))
            tame = (centred.max(axis=0) < TAIL * here[0].std(axis=0)) & (self.steep > 0)
            tame &= steep.max(axis=0) < TAIL * self.steep
        for values, slopes in (here, apart):
            tame &= np.isfinite(values).all(axis=0) & np.isfinite(slopes).all(axis=(0, 1))
        self.terms = [term for term, fine in zip(terms, tame, strict=True) if fine]
        place = {term: k for k, term in enumerate(self.terms)}
        self.alike = [
            [place[term] for term in each if term in place] for each in zip(*singles, strict=True)
        ]
        self.nodes = np.array([nodes(term) for term in self.terms])
        self.values, self.steep = here[0][:, tame], self.steep[tame]
        self.here, self.apart = (
            Moments.of(values[:, tame] / self.steep, slopes[:, :, tame] / self.steep)
            for values, slopes in (here, apart)
        )

    def forms(self) -> Iterator[Form]:
        """Yield the best sums of each size."""
        if len(self.terms) < 2:
            return
        last: Indices | None = None
        for size in range(2, min(LARGEST, len(self.terms)) + 1):
            sets = self._sets(size, last)
            bits = self._bits(sets)
            order = np.argsort(bits, kind="stable")
            last = sets[order[:BEAM]]
            for chosen in last[:KEPT]:
                yield self._form(chosen)

    def _sets(self, size: int, last: Indices | None) -> Indices:
        m = len(self.terms)
        if last is None or comb(m, size) <= MOST_SETS:
            return np.array(list(combinations(range(m), size)), dtype=np.intp)
        wider = np.concatenate(
            [np.column_stack([last, np.full(len(last), k)]) for k in range(m)]
        )  # fmt: skip
        wider = np.sort(np.concatenate([wider, *self._alike(size)]), axis=1)
        return np.unique(wider[(np.diff(wider, axis=1) > 0).all(axis=1)], axis=0)

    def _alike(self, size: int) -> Iterator[Indices]:
        """Yield the sets of terms that are the same function of different columns."""
        for terms in self.alike:
            if size <= len(terms) and comb(len(terms), size) <= MOST_ALIKE:
                yield np.array(list(combinations(terms, size)), dtype=np.intp)

    def _bits(self, sets: Indices) -> Array:
        """Return an estimate of the description length of each set and its residuals."""
        ratio = np.concatenate(
            [self._solved(sets[k : k + CHUNK])[0] for k in range(0, len(sets), CHUNK)]
        )
        written = BITS_PER_NODE * (self.nodes[sets].sum(axis=1) + sets.shape[1])
        return np.asarray(written + 0.5 * self.n_rows * np.log2(ratio))

    def _solved(self, sets: Indices) -> tuple[Array, Array]:
        """Return the variance of the best sum of each set, relative to independent columns.

        The second array has the coefficients of the sums.
        """
        values, gradients = self.here.part(sets)
        whiten = np.linalg.inv(np.linalg.cholesky(gradients))
        sizes, vectors = np.linalg.eigh(whiten @ values @ whiten.transpose(0, 2, 1))
        sums = (whiten.transpose(0, 2, 1) @ vectors[:, :, :1])[:, :, 0]
        left = np.maximum(sizes[:, 0], RIDGE)
        values, gradients = (
            np.einsum("ni,nij,nj->n", sums, each, sums) for each in self.apart.part(sets)
        )
        # Exact sums are all equal, so that the shortest one is preferred.
        exact = sizes[:, 0] <= NOTHING
        return np.where(exact, RIDGE, left * gradients / values), sums

    def _form(self, chosen: Indices) -> Form:
        coefficients = self._solved(chosen[None])[1][0] / self.steep[chosen]
        right = float((self.values[:, chosen] @ coefficients).mean())
        terms = tuple(self.terms[k] for k in chosen)
        return Form(self.columns, terms, coefficients, right, np.empty(0))


def _with_slopes(
    terms: Sequence[Any], columns: tuple[Any, ...], X: Array, scale: Array
) -> tuple[Array, Array]:
    """Return the values of terms, and their gradients of shape (rows, columns, terms)."""
    values, slopes = np.empty((len(X), len(terms))), np.empty((*X.shape, len(terms)))
    for k, term in enumerate(terms):
        at = Form(columns, (term,), np.ones(1), 0.0, np.empty(0)).values(X)
        values[:, k], slopes[:, :, k] = at.F, at.gradient
    with np.errstate(over="ignore"):
        return values, slopes * scale[:, None]
