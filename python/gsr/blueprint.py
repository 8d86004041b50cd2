"""Blueprints: all that islands are made of, in a form that can be sent to other processes.

Nothing here needs scikit-learn: the ranks of a cluster run load little more than NumPy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gsr import _core, core_settings, prior
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.transformation import Array

#: A cache line: columns are padded to so many numbers, and aligned to so many bytes.
PAD, LINE = 8, 64


@dataclass(frozen=True)
class Variant:
    """Options of the search, and forbidden transformations, that only some islands have."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    #: By variable; None: those of all islands.
    rules: Mapping[str, Collection[str]] | None = None


@dataclass(frozen=True, eq=False)
class Blueprint:
    """What islands are made of."""

    #: Transformations of the features and of the target, and the names of both.
    library: Library
    target_library: Library
    names: Sequence[str]
    target_name: str
    #: Settings of the core by name; see `gsr.core_settings`.
    settings: Mapping[str, Any]
    #: The rows of the search.
    X: Array
    y: Array
    weights: Array | None = None
    #: Forbidden transformations by variable; see `gsr.prior.forbidden`.
    rules: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Exponents of the base units of features and target, and whether constants may have units.
    units: tuple[Any, Any] | None = None
    constants_with_units: bool = True
    #: Terms that every law has, as matrices.
    required: Sequence[Any] = ()
    #: Constraints on the shape of laws; see the parameter `constraints` of `GSRRegressor`.
    shapes: Any = None
    #: Matrices psi and phi of formulas that the first island starts from.
    starts: Sequence[tuple[Any, Any]] = ()
    #: Islands take them in turn.
    variants: Sequence[Variant] = (Variant(),)

    # ---- islands -----------------------------------------------------------------------------

    def island(self, number: int = 0, n_islands: int = 1) -> Any:
        """Make an island."""
        n_variants = len(self.variants)
        variant = self.variants[number % n_variants]
        settings = core_settings.to_core(
            {**self.settings, **variant.settings, "seed": self.seed_of(number)},
            scan_seed=self.seed_of(0),
            share=number // n_variants,
            n_shares=len(range(number % n_variants, n_islands, n_variants)),
        )
        constraints = self._constraints(variant)
        if self.shapes is not None:
            constraints.accept = self.accept
        try:
            island = _core.Island(
                self.X, self.y, self.library.table, self.target_library.table, settings,
                constraints, self.weights,
            )  # fmt: skip
        except ValueError as error:  # whose words are names of options, if it is about some
            raise GSRError(str(error), *re.findall(r"\w+", str(error))) from error
        if number == 0:
            self._start(island)
        return island

    def seed_of(self, number: int) -> int:
        """Return the seed of an island, far from the seeds of the others."""
        return int(self.settings["seed"]) + (number << 32)

    def _start(self, island: Any) -> None:
        for psi, phi in self.starts:
            if not start_from(island, psi, phi):
                raise GSRError(
                    "a formula to start from is undefined on the data, or breaks a constraint",
                    "start",
                )

    @cached_property
    def constraints(self) -> Any:
        """The prior knowledge for the core, except for shapes."""
        return self._constraints(Variant())

    def _constraints(self, variant: Variant) -> Any:
        rules = self.rules if variant.rules is None else variant.rules
        return prior.core_constraints(
            {name: set(rules.get(name, ())) for name in (*self.names, self.target_name)},
            self.library,
            self.names,
            target=(self.target_name, self.target_library),
            units=self.units,
            constants_with_units=self.constants_with_units,
            required=self.required,
            limits=core_settings.limits(self.settings),
            accept=None,
        )

    # ---- laws --------------------------------------------------------------------------------

    def equation(self, law: Any) -> Equation:
        """Make the equation of a law."""
        return Equation.from_data(
            self.library, self.target_library, law.psi, law.beta, law.phi, law.alpha,
            self.X, self.y, feature_names=self.names, target_name=self.target_name,
        )  # fmt: skip

    @cached_property
    def checker(self) -> Any:
        """Checks the shape of equations; None if any shape is accepted."""
        if self.shapes is None:
            return None
        from gsr.prior.constraints import Checker

        return Checker(self.shapes, self.X, self.y, self.names, self.target_name)

    def accept(self, law: Any) -> bool:
        """Tell whether a law satisfies the constraints on its shape."""
        return self.checker is None or bool(self.checker.holds(self.equation(law)))

    def admits(self, law: Any) -> bool:
        """Tell whether a law satisfies all prior knowledge: the last check before it is shown."""
        return self.accept(law) and bool(
            self.constraints.admits_law(
                list(law.psi), list(law.phi), law.complexity, self.library.table,
                self.target_library.table, len(self.names),
            )
        )  # fmt: skip

    # ---- to other processes ------------------------------------------------------------------

    def to_json(self) -> str:
        """Return everything except the rows as text."""
        content = {
            "library": list(self.library.names),
            "target_library": list(self.target_library.names),
            "names": list(self.names),
            "target_name": self.target_name,
            "settings": dict(self.settings),
            "rules": {name: sorted(codes) for name, codes in self.rules.items()},
            "units": self.units and [np.asarray(each).tolist() for each in self.units],
            "constants_with_units": self.constants_with_units,
            "required": list(self.required),
            "shapes": self.shapes,
            "starts": list(self.starts),
            "variants": [
                {"settings": dict(each.settings), "rules": each.rules} for each in self.variants
            ],
        }
        return json.dumps(content, sort_keys=True)

    @staticmethod
    def from_json(text: str, X: Array, y: Array, weights: Array | None) -> Blueprint:
        """Return the blueprint with the content of `to_json` and some rows."""
        content = json.loads(text)
        content["variants"] = [Variant(**each) for each in content["variants"]]
        units = content.pop("units")
        return Blueprint(
            library=Library(content.pop("library")),
            target_library=Library(content.pop("target_library")),
            X=X,
            y=y,
            weights=weights,
            units=units and (np.asarray(units[0]), np.asarray(units[1])),
            **content,
        )

    def with_rows(self, X: Array, y: Array, weights: Array | None) -> Blueprint:
        """Return the same blueprint with other rows."""
        return replace(self, X=X, y=y, weights=weights)


def start_from(island: Any, psi: Sequence[Any], phi: Sequence[Any]) -> bool:
    """Let an island start from a known law; False if data or constraints forbid it."""
    try:
        return bool(island.start_from(list(psi), list(phi)))
    except ValueError as error:
        raise GSRError(str(error)) from error


# ---- rows ----------------------------------------------------------------------------------------


def padded_block(X: Array) -> Array:
    """Return the columns in the layout of the core: one row each, padded with zeros."""
    n, d = X.shape
    block = np.zeros((d, -(-n // PAD) * PAD))
    block[:, :n] = X.T
    return block


def columns_of(block: Array, n_rows: int) -> Array:
    """Return the table in a block of `padded_block`, which the core uses without a copy.

    The block must not be written to. If it does not begin with a cache line, the core copies it.
    """
    view = block[:, :n_rows].T
    view.flags.writeable = False
    return view
