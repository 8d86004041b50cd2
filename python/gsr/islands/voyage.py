"""What every rank does with what rank 0 has planned: from the blueprint to the laws of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gsr.blueprint import Blueprint, columns_of, padded_block
from gsr.exceptions import GSRError
from gsr.islands.archipelago import Archipelago, Limits, State, make_residents
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.migration import make_migration
from gsr.islands.resume import Before, agreed, have_absorbed, resume
from gsr.islands.signals import heard
from gsr.islands.transport import Transport
from gsr.islands.troubles import Tell
from gsr.islands.watch import RunWatcher

#: Checkpoints of an island that are kept at least. In lock-step an island can be two ahead of
#: another on disk, and all must have one of the same moment.
LEAST_KEPT = {"throughput": 1, "deterministic": 3}


@dataclass(frozen=True)
class Orders:
    """What rank 0 tells the others; all of it is JSON.

    Parameters
    ----------
    folder : str
        The run folder.
    islands : dict
        Section ``[islands]``.
    checkpoint : dict
        Section ``[checkpoint]``.
    max_time : float, optional
        Seconds of search.
    max_evals : int, optional
        Individuals of all islands.
    n_threads : int
        Of each rank.
    seed : int
        Of the run.
    fingerprint : str
        Of the problem.
    n_saved : int
        Islands that may have checkpoints; 0: the run begins.
    """

    folder: str
    islands: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    max_time: float | None
    max_evals: int | None
    n_threads: int
    seed: int
    fingerprint: str
    n_saved: int

    @property
    def per_rank(self) -> int:
        """Islands of each rank."""
        return int(self.islands["per_rank"])

    @property
    def checkpoints(self) -> Checkpoints:
        """Where they are."""
        keep = max(self.checkpoint["keep"], LEAST_KEPT[self.islands["mode"]])
        return Checkpoints(Path(self.folder) / "checkpoints", keep)

    def manifest(self, ranks: int, islands: int) -> Manifest:
        """Return what the checkpoints have in common."""
        return Manifest(self.fingerprint, islands, ranks, self.seed, self.islands["mode"])


def share_blueprint(blueprint: Blueprint | None, transport: Transport) -> Blueprint:
    """Return rank 0's blueprint on all ranks; the rows are kept once per node."""
    text, block, y, weights, n_rows = None, None, None, None, 0
    if blueprint is not None:
        n_rows = len(blueprint.y)
        text = json.dumps([blueprint.to_json(), n_rows, blueprint.weights is not None]).encode()
        block, y = padded_block(blueprint.X), blueprint.y
        weights = np.ones(0) if blueprint.weights is None else blueprint.weights
    content, n_rows, weighted = json.loads(transport.share(text))
    block = transport.share_array(block)
    y, weights = transport.share_array(y), transport.share_array(weights)
    rows = columns_of(block, n_rows), y, weights if weighted else None
    if blueprint is not None:
        return blueprint.with_rows(*rows)
    return Blueprint.from_json(content, *rows)


class Voyage:
    """The search of a rank, from its first island to the last checkpoint.

    Parameters
    ----------
    orders : Orders
        What rank 0 has planned.
    blueprint : Blueprint
        What islands are made of.
    transport : Transport
        To the other ranks.
    tell : callable
        Takes sentences for the user.
    """

    def __init__(
        self, orders: Orders, blueprint: Blueprint, transport: Transport, tell: Tell
    ) -> None:
        self.orders = orders
        self.transport = transport
        self._tell = tell
        self.n_islands = orders.per_rank * transport.size
        self.checkpoints = orders.checkpoints
        self._residents = residents = make_residents(
            lambda k: blueprint.island(k, self.n_islands), transport.rank, orders.per_rank
        )
        deterministic = orders.islands["mode"] == "deterministic"
        self.before = Before()
        if orders.n_saved:
            self.before = resume(
                residents, self.checkpoints, orders.n_saved, transport,
                deterministic=deterministic, tell=tell,
            )  # fmt: skip
        self._begin_files()
        self.watcher = RunWatcher(
            Path(orders.folder),
            transport.rank,
            self.checkpoints,
            orders.checkpoint["interval"],
            residents[0].epoch if deterministic else self.before.sequence,
            tell,
            deterministic,
        )
        self.archipelago = Archipelago(
            residents,
            make_migration(self.n_islands, orders.seed, orders.islands),
            transport,
            Limits(orders.max_time, orders.max_evals),
            deterministic=deterministic,
            n_threads=orders.n_threads,
            before=State(
                seconds=self.before.seconds,
                generation=self.before.generation,
                evaluations=self.before.evaluations,
                rmse=self.before.rmse,
            ),
            watcher=self.watcher,
        )
        self.watcher.archipelago = self.archipelago
        self.watcher.metrics.event("resume" if self.before.islands else "start")

    @property
    def first(self) -> Any:
        """The first island of this rank; on rank 0 it has the laws of all in the end."""
        return self.archipelago.residents[0].island

    def hears(self) -> AbstractContextManager[None]:
        """Return a context in which signals are wishes of this rank."""
        return heard(self.archipelago.wishes)

    def sail(self) -> State:
        """Search to the end, and keep everything."""
        self.transport.wait()
        archipelago, watcher = self.archipelago, self.watcher
        state = archipelago.run()
        sequence = None
        if archipelago.deterministic:
            sequence = archipelago.residents[0].snapshot_epoch
        watcher.save(archipelago.residents, sequence)
        written = watcher.flush()
        watcher.metrics.event("stop", reason=state.status)
        self._forget_surplus(written)
        archipelago.merge_laws()
        return state

    def _begin_files(self) -> None:
        """Say whose the checkpoints are, before there are any."""
        for each in self._residents:
            if each.number >= self.orders.n_saved:
                self.checkpoints.forget(each.number)  # of one that was absorbed long ago
        self.transport.wait()
        if self.transport.rank == 0:
            try:
                self._write_manifest(max(self.orders.n_saved, self.n_islands))
            except OSError as error:
                raise GSRError(f"the checkpoints cannot be written: {error}") from error
        self.transport.wait()

    def _write_manifest(self, islands: int) -> None:
        self.checkpoints.write_manifest(self.orders.manifest(self.transport.size, islands))

    def _forget_surplus(self, written: bool) -> None:
        """Remove the checkpoints of islands that were absorbed, once no older one needs them."""
        surplus = range(self.n_islands, self.orders.n_saved)
        if not surplus:
            return
        written = written and all(have_absorbed(each, self.checkpoints) for each in self._residents)
        (missing,), _ = agreed(self.transport, [float(not written)])
        if missing:
            return
        if self.transport.rank == 0:
            with suppress(OSError):  # what is too much is absorbed again next time
                self._write_manifest(self.n_islands)
        self.transport.wait()
        for number in surplus[self.transport.rank :: self.transport.size]:
            self.checkpoints.forget(number)
