"""Islands on the threads of one process: what `GSRRegressor(islands=8)` runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from gsr.blueprint import Blueprint
from gsr.islands.archipelago import Archipelago, Limits, make_residents
from gsr.islands.migration import Migration
from gsr.islands.transport import Alone


class LocalIslands:
    """Islands that are searched as if they were one; the face is that of the core's `Evolution`.

    They run in lock-step: the same seed gives the same laws with any number of threads.

    Parameters
    ----------
    blueprint : Blueprint
        What they are made of.
    n_islands, n_threads : int
        How many, and how many at a time.
    migration : Migration
        What they exchange.
    max_evals : int, optional
        Individuals of all islands together.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        n_islands: int,
        n_threads: int,
        migration: Migration,
        max_evals: int | None = None,
    ) -> None:
        residents = make_residents(lambda k: blueprint.island(k, n_islands), 0, n_islands)
        self._archipelago = Archipelago(
            residents,
            migration,
            Alone(),
            Limits(max_evals=max_evals),
            deterministic=True,
            n_threads=min(n_threads, n_islands),
        )
        self._residents = residents
        self._steps: Iterator[None] | None = None
        self._running = False

    @property
    def first(self) -> Any:
        """The island that starts from known laws."""
        return self._residents[0].island

    @property
    def scanned_features(self) -> list[int]:
        """Features that the guide combines with each other, numbered from 1."""
        return list(self.first.scanned_features)

    def run(self, seconds: float) -> str:
        """Go on for so long, and return the status; the islands go on after that."""
        deadline = time.perf_counter() + seconds
        if self._steps is None:
            self._steps = self._archipelago.steps()
        self._running = False  # unless it gets to the end of this
        for _ in self._steps:
            if time.perf_counter() >= deadline:
                break
        self._running = self.status == "running"
        return self.status

    def extend(self, generations: int, evaluations: int) -> None:
        """Set limits from here on, of a search that goes on after it has ended; 0: none."""
        self.rest()
        for each in self._residents:
            each.island.extend(generations, 0)
            each.keep()
        state = self._archipelago.state
        limit = state.evaluations + evaluations if evaluations else None
        self._archipelago.resume(Limits(max_evals=limit))

    def rest(self) -> None:
        """Let the islands come to rest."""
        if self._steps is not None:
            self._archipelago.wishes.stop("stopped")
            for _ in self._steps:
                pass
            self._steps = None
        self._running = False

    def front(self) -> list[Any]:
        """Return the laws of all islands together, or of the first while they run."""
        if self._running:
            return self._residents[0].front
        self._merge()
        return list(self.first.front())

    def runners_up(self) -> list[Any]:
        """Return laws that are beaten by a little, of all islands."""
        self._merge()
        return list(self.first.runners_up())

    def _merge(self) -> None:
        self.rest()
        self._archipelago.merge_laws()

    @property
    def status(self) -> str:
        """``"running"``, or why the search has ended."""
        return self._archipelago.state.status

    @property
    def generation(self) -> int:
        """Of the island that is furthest."""
        return max(each.generation for each in self._residents)

    @property
    def evaluations(self) -> int:
        """Of all islands."""
        return sum(each.evaluations for each in self._residents)

    @property
    def best_rmse(self) -> float:
        """Of the best law."""
        return min(each.rmse for each in self._residents)

    @property
    def n_unconverged(self) -> int:
        """ADMM solves that hit their limit."""
        self.rest()
        return sum(each.island.n_unconverged for each in self._residents)
