"""The loop of a rank: its islands evolve, each in a thread, while migrants come and go.

The main thread never computes: it looks after messages, agreement, signals and checkpoints some
dozens of times a second. What ends a run is agreed among all ranks and the same on each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from gsr.islands.exchange import Exchange
from gsr.islands.migration import Migration
from gsr.islands.resident import Counts, Resident
from gsr.islands.transport import Agreement, Transport

#: Seconds between two looks of the main thread, and between two agreements.
POLL, BEAT = 0.03, 0.2
#: Seconds between two looks for what others owe in lock-step.
SHORT_POLL = 0.002
#: Seconds in which one checkpoint will do, when all ranks are asked for one.
SOON = 1.0
#: Seconds after which an island migrates in any case, unless in lock-step.
LONGEST_TURN = 5.0
#: The least work of an epoch, in individuals.
LEAST_WORK = 60.0

#: Why a run ends, the strongest last: of several reasons at once that one counts on every rank.
REASONS = (
    "running", "max_generations", "max_evals", "max_time", "threshold", "exact", "stopped",
    "interrupted", "terminated",
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """When a run ends at the latest; None: no limit.

    Parameters
    ----------
    max_time : float
        Seconds of search, those before a resumption included.
    max_evals : int
        Individuals of all islands together.
    """

    max_time: float | None = None
    max_evals: int | None = None


@dataclass(frozen=True)
class State:
    """What all ranks know about the run.

    Parameters
    ----------
    status : str
        ``"running"``, or why it ends.
    save : bool
        Whether somebody asks for a checkpoint.
    seconds : float
        Of search, on the rank that has most.
    generation, evaluations : int
        The largest, and all.
    rmse : float
        The best error.
    """

    status: str = "running"
    save: bool = False
    seconds: float = 0.0
    generation: int = 0
    evaluations: int = 0
    rmse: float = float("inf")


@dataclass
class Wishes:
    """What this rank asks for; signal handlers and callbacks set it.

    Parameters
    ----------
    reason : str
        Why the run should end; ``"running"``: it should not.
    save_now : bool
        Whether this rank should save at once.
    save : bool
        Whether all should.
    signals : list of str
        What has arrived and is not recorded yet.
    """

    reason: str = "running"
    save_now: bool = False
    save: bool = False
    signals: list[str] = field(default_factory=list)

    def stop(self, reason: str) -> None:
        """Ask for the end; the strongest reason counts."""
        self.reason = max(self.reason, reason, key=REASONS.index)


class Watcher:
    """What a run calls while it goes on; this one does nothing."""

    def look(self, state: State) -> None:
        """See how far it is, in the main thread, at every look."""

    def save(self, residents: Sequence[Resident], sequence: int | None) -> None:
        """Save the snapshots; in lock-step under the number of the epoch."""

    def save_both(self, residents: Sequence[Resident]) -> None:
        """Save the snapshots of the last two epochs: of ranks in lock-step one may be ahead."""

    def save_is_due(self) -> bool:
        """Tell whether it is time for a checkpoint."""
        return False

    def can_save(self) -> bool:
        """Tell whether the last checkpoint is written; in lock-step none is begun before."""
        return True


class Archipelago:
    """The islands of a rank.

    Parameters
    ----------
    residents : sequence of Resident
        They are those of this rank, in order.
    migration : Migration
        What they exchange.
    transport : Transport
        The way to other ranks.
    limits : Limits
        When to end.
    deterministic : bool
        Lock-step: the same islands, seeds and settings give the same laws, bit for bit.
    n_threads : int
        Islands that run at a time.
    before : State, optional
        What earlier pieces of the run have done.
    watcher : Watcher
        What to call meanwhile.
    """

    def __init__(
        self,
        residents: Sequence[Resident],
        migration: Migration,
        transport: Transport,
        limits: Limits,
        *,
        deterministic: bool = False,
        n_threads: int = 1,
        before: State | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.residents = list(residents)
        self.migration = migration
        self.transport = transport
        self.limits = limits
        self.wishes = Wishes()
        self.state = before or State()
        self.deterministic = deterministic
        self._n_threads = n_threads
        self._before = self.state.seconds
        self._watcher = watcher or Watcher()
        by_number = {each.number: each for each in self.residents}
        self._exchange = Exchange(by_number, migration, transport, len(self.residents))
        self._agreement: Agreement | None = None
        self._next_beat = 0.0
        self._saved_at = float("-inf")
        self._start = time.perf_counter()
        self._thread_start = time.thread_time()

    @property
    def main_seconds(self) -> float:
        """Processor time of the main thread in this run: all that is not evolving."""
        return time.thread_time() - self._thread_start

    @property
    def seconds(self) -> float:
        """Seconds of search on this rank."""
        return self._before + time.perf_counter() - self._start

    @property
    def counts(self) -> Counts:
        """What migration did on this rank."""
        total = Counts()
        for name in vars(total):
            setattr(total, name, sum(getattr(each.counts, name) for each in self.residents))
        return total

    def run(self) -> State:
        """Search until all ranks agree that it is over."""
        for _ in self.steps():
            pass
        return self.state

    def steps(self) -> Iterator[None]:
        """Search in small steps of the main thread; islands go on between them."""
        self._start = time.perf_counter()
        self._thread_start = time.thread_time()
        # What earlier pieces of the run have done is the same on all ranks.
        over = self._reason("running", self._before, self.state.evaluations, 1)
        self.state = replace(self.state, status=over)
        with ThreadPoolExecutor(self._n_threads, "island") as pool:
            try:
                yield from self._in_step(pool) if self.deterministic else self._freely(pool)
            finally:
                self._interrupt()
        if not self.deterministic:
            for each in self.residents:
                each.keep()
            yield from self._count_together()
        self._watcher.look(self.state)

    def resume(self, limits: Limits) -> None:
        """Make a run that has ended ready to go on."""
        self.limits = limits
        self.wishes = Wishes()
        self._before = self.seconds
        self.state = replace(self.state, status="running", save=False)

    def merge_laws(self) -> bool:
        """Bring the laws of all islands to the first one of rank 0; True there."""
        first = self.residents[0].island
        for each in self.residents[1:]:
            first.add_laws(each.island.laws())

        def join(_: bytes, other: bytes) -> bytes:
            first.add_laws(other)
            return bytes(first.laws())

        return self.transport.merge(first.laws(), join) is not None

    # ---- throughput: nobody waits for anybody ------------------------------------------------

    def _freely(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        running = {self._begin(pool, each): each for each in self.residents}
        while self.state.status == "running":
            done, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                resident = running.pop(future)
                self._note_status(future)
                self._exchange.send(resident)
                resident.keep()
                if resident.status == "running":
                    running[self._begin(pool, resident)] = resident
            if not running:
                time.sleep(POLL)
            self._exchange.receive()
            self._beat()
            self._save_if_asked()
            if self.state.status == "running":
                self._watcher.look(self.state)
            yield
        self._interrupt()
        for future in running:
            future.result()  # what failed there must not be lost

    def _count_together(self) -> Iterator[None]:
        """Agree on what was done until all islands were at rest: so much a resumption finds."""
        status = self.state.status
        self._agreement = self.transport.agree(*self._contribution())
        while not self._learn():
            yield
            time.sleep(SHORT_POLL)
        self.state = replace(self.state, status=status, save=False)

    def _begin(self, pool: ThreadPoolExecutor, resident: Resident) -> Future[str]:
        seconds = LONGEST_TURN
        if self.limits.max_time is not None:
            seconds = min(seconds, max(self.limits.max_time - self.seconds, 0.0))
        return pool.submit(resident.turn, self.migration, self._goal(resident), seconds)

    def _beat(self) -> None:
        """Agree again and again; a new round begins when all have heard of the last."""
        now = time.perf_counter()
        if self._agreement is None and now >= self._next_beat:
            self._agreement = self.transport.agree(*self._contribution())
            self._next_beat = now + BEAT
        self._learn()

    def _save_if_asked(self) -> None:
        asked = self.state.save and time.perf_counter() - self._saved_at >= SOON
        if self.wishes.save_now or asked or self._watcher.save_is_due():
            self._watcher.save(self.residents, None)
            self._saved_at = time.perf_counter()
            self.wishes.save = self.wishes.save or self.wishes.save_now
            self.wishes.save_now = False
        self.state = replace(self.state, save=False)

    # ---- deterministic: in lock-step ---------------------------------------------------------

    def _in_step(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        while self.state.status == "running":
            yield from self._evolve_together(pool)
            if self._is_cut():
                return
            yield from self._exchange_together()
            # Before the agreement: what it counts must be what a resumption finds in the snapshots.
            for each in self.residents:
                each.let_in(self.migration)
                each.keep()
            yield from self._agree_together()
            if self.state.save:
                self._watcher.save(self.residents, self.residents[0].epoch)
                self.wishes.save = False  # it may have been asked for again meanwhile

    def _evolve_together(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Let all islands of this rank do the work of an epoch."""
        running = {
            pool.submit(each.turn, self.migration, self._goal(each)) for each in self.residents
        }
        while running:
            done, running = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                self._note_status(future)
            self._watch_in_step()
            yield
            if self._is_cut():
                self._interrupt()

    def _is_cut(self) -> bool:
        """Tell whether one rank alone ends within an epoch, for a reason that nobody can repeat."""
        reason = self._reason(self.wishes.reason, self.seconds, self._evaluations(), 1)
        cut = reason in ("max_time", "stopped", "interrupted", "terminated")
        if not cut or self.transport.size > 1:
            return False
        self.state = State(
            reason,
            seconds=self.seconds,
            generation=max(each.generation for each in self.residents),
            evaluations=self._evaluations(),
            rmse=min(each.rmse for each in self.residents),
        )
        return True

    def _goal(self, resident: Resident) -> float:
        goal = float(resident.island.work) + self.migration.interval
        if self.limits.max_evals is None:
            return goal
        # An individual is at least its work: near the limit epochs become short.
        n_islands = len(self.residents) * self.transport.size
        left = (self.limits.max_evals - self.state.evaluations) / n_islands
        return min(goal, float(resident.island.work) + max(left, LEAST_WORK))

    def _exchange_together(self) -> Iterator[None]:
        outgoing = self._exchange.due_messages(self.residents)
        expected = self._exchange.expected(self.residents)
        while outgoing or expected:
            self._exchange.try_to_send(outgoing)
            self._exchange.take(expected)
            if outgoing or expected:
                yield from self._nap()

    def _agree_together(self) -> Iterator[None]:
        self._agreement = self.transport.agree(*self._contribution())
        while not self._learn():
            yield from self._nap()

    def _nap(self) -> Iterator[None]:
        self._watch_in_step()
        yield
        time.sleep(SHORT_POLL)

    def _watch_in_step(self) -> None:
        """Look after everything but the islands; snapshots are those of the last epoch."""
        if self.wishes.save_now:
            self._watcher.save_both(self.residents)
            self.wishes.save_now = False
        self.wishes.save = self.wishes.save or self._watcher.save_is_due()
        self._watcher.look(self.state)

    # ---- agreement ---------------------------------------------------------------------------

    def _note_status(self, future: Future[str]) -> None:
        status = future.result()
        if status in ("exact", "threshold"):
            self.wishes.stop(status)

    def _reason(self, reason: str, seconds: float, evaluations: float, n_running: float) -> str:
        limits = self.limits
        reasons = [reason]
        if limits.max_time is not None and seconds >= limits.max_time:
            reasons.append("max_time")
        if limits.max_evals is not None and evaluations >= limits.max_evals:
            reasons.append("max_evals")
        if n_running == 0:
            reasons.append("max_generations")
        return max(reasons, key=REASONS.index)

    def _evaluations(self) -> int:
        return sum(each.evaluations + each.absorbed_evaluations for each in self.residents)

    def _contribution(self) -> tuple[list[float], list[float]]:
        maxima = [
            float(REASONS.index(self.wishes.reason)),
            float(self.wishes.save),
            float(self.deterministic and not self._watcher.can_save()),
            self.seconds,
            float(max(each.generation for each in self.residents)),
            -min(each.rmse for each in self.residents),
        ]
        self.wishes.save = False
        n_running = sum(each.status == "running" for each in self.residents)
        return maxima, [float(self._evaluations()), float(n_running)]

    def _learn(self) -> bool:
        """Take over what all have agreed on; False if they have not yet."""
        found = self._agreement.result() if self._agreement is not None else None
        if found is None:
            return False
        self._agreement = None
        (reason, save, busy, seconds, generation, best), (evaluations, n_running) = found
        self.state = State(
            self._reason(REASONS[int(reason)], seconds, evaluations, n_running),
            bool(save) and not busy,
            seconds,
            max(int(generation), 0),
            int(evaluations),
            -best,
        )
        return True

    def _interrupt(self) -> None:
        for each in self.residents:
            each.island.interrupt()


def make_residents(make_island: Callable[[int], Any], rank: int, per_rank: int) -> list[Resident]:
    """Make the islands of a rank."""
    numbers = range(rank * per_rank, (rank + 1) * per_rank)
    return [Resident(number, make_island(number)) for number in numbers]
