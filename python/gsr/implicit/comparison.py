"""Comparison of forms: which of them are fitted, which are laws, and the front."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

import numpy as np

from gsr.exceptions import GSRError
from gsr.implicit.form import Form
from gsr.implicit.law import ImplicitLaw, description, fit, spread_of
from gsr.implicit.scan import shuffled
from gsr.implicit.variants import variants
from gsr.selection.criteria import BITS_OF_LAW
from gsr.transformation import Array

#: Least residual that is assumed for a form before it is fitted, relative to independent columns.
ROUGH = 1e-6
#: Least part of the scatter of independent columns that a law explains.
LEAST_SCORE = 0.75


class Comparison:
    """Laws fitted to some rows."""

    def __init__(self, X: Array, scale: Array) -> None:
        self.X, self.apart, self.scale = X, shuffled(X, seed=0), scale
        self.names = tuple(f"x{j}" for j in range(X.shape[1]))
        self.laws: list[ImplicitLaw] = []
        self.seen: set[object] = set()

    @property
    def has_exact(self) -> bool:
        """Whether one of the laws is exact."""
        return any(law.level == "rounding" for law in self.laws)

    def add(self, forms: Iterable[Form], most: int) -> None:
        """Fit the `most` forms, or variants of them, with the shortest descriptions."""
        ranked: list[tuple[float, int, Form]] = []
        for form in chain.from_iterable(map(self._variants, forms)):
            if form.key not in self.seen and len(form.used) > 1:
                self.seen.add(form.key)
                ranked.append((self._rough_bits(form), len(ranked), form))
        for bits, _, form in sorted(ranked)[:most]:
            law = fit(form, self.names, self.X, self.scale) if math.isfinite(bits) else None
            if law is not None and is_law(law):
                self.laws.append(law)

    def _variants(self, form: Form) -> list[Form]:
        try:
            return list(variants(form, self.X))
        except (GSRError, NameError):  # a function that NumPy does not have
            return []

    def _rough_bits(self, form: Form) -> float:
        """Return an estimate of the bits of a form, with its present constants."""
        here, apart = (form.distances(X, self.scale) for X in (self.X, self.apart))
        if not np.isfinite(here).all() or not (spread := spread_of(apart)):
            return math.inf
        left = float(np.sqrt(np.mean(here**2))) / spread
        return description(form, max(left, ROUGH), len(here))


def is_law(law: ImplicitLaw) -> bool:
    """Return whether a law describes the rows better than independent columns would."""
    return len(law.form.used) > 1 and law.bits < -BITS_OF_LAW and law.score > LEAST_SCORE


def front(laws: Iterable[ImplicitLaw]) -> list[ImplicitLaw]:
    """Return the laws with a shorter description than all simpler ones, simplest first."""
    kept: list[ImplicitLaw] = []
    for law in sorted(laws, key=lambda law: (law.complexity, law.bits)):
        if not kept or law.bits < kept[-1].bits:
            kept.append(law)
    return kept
