"""Islands on the threads of one process: what `GSRRegressor(islands=8)` runs."""

from __future__ import annotations

from typing import Any

from gsr.blueprint import Blueprint
from gsr.islands.archipelago import Archipelago, Limits
from gsr.islands.local_island import make_local_islands
from gsr.islands.migration import Migration
from gsr.islands.transport import Alone


class LocalIslands(Archipelago):
    """Islands that are searched as if they were one, in lock-step.

    The same seed gives the same laws with any number of threads.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        n_islands: int,
        n_threads: int,
        migration: Migration,
        max_evals: int | None = None,
    ) -> None:
        super().__init__(
            make_local_islands(lambda k: blueprint.island(k, n_islands), 0, n_islands),
            migration,
            Alone(),
            Limits(max_evals=max_evals),
            deterministic=True,
            n_threads=min(n_threads, n_islands),
        )
        self._is_running = False

    def run(self, seconds: float = float("inf")) -> str:
        """Search for so long, and return the status; see `Archipelago.run`."""
        self._is_running = False  # an exception ends the search
        status = super().run(seconds)
        self._is_running = status == "running"
        return status

    def extend(self, generations: int, evaluations: int) -> None:
        """Let a search that has ended continue, with new limits; 0: none."""
        self.rest()
        for each in self.islands:
            each.island.extend(generations, 0)
            each.keep()
        self.resume(Limits(max_evals=self.state.evaluations + evaluations if evaluations else None))

    def rest(self) -> None:
        """Stop the islands; the search continues when it is run again."""
        if self._steps is not None:
            self.requests.stop("stopped")
            for _ in self._steps:
                pass
            self._steps = None
        self._is_running = False

    def front(self) -> list[Any]:
        """Return the Pareto front of all islands, or of the first while they run."""
        if self._is_running:
            return self.islands[0].front
        self._merge()
        return super().front()

    def runners_up(self) -> list[Any]:
        """Return the laws of all islands that are slightly worse than the front."""
        self._merge()
        return super().runners_up()

    def _merge(self) -> None:
        self.rest()
        self.merge_laws()

    @property
    def n_unconverged(self) -> int:
        """The number of ADMM solves that reached their limit of iterations."""
        self.rest()
        return super().n_unconverged
