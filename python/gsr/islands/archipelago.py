"""The loop of a rank: its islands evolve, each in a thread, while migrants come and go.

The main thread does not compute: some dozens of times a second it handles messages, agreement,
signals and checkpoints. All ranks agree on when and why a run ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from gsr.blueprint import Blueprint
from gsr.islands.migration import Counts, Exchange, LocalIsland, Migration, make_local_islands
from gsr.islands.transport import Agreement, Alone, Transport
from gsr.islands.watch import REASONS, Limits, Requests, RunState, Watcher

#: Seconds between two polls of the main thread, and between two agreements.
POLL, BEAT = 0.03, 0.2
#: Seconds between two polls in lock-step, where others wait.
SHORT_POLL = 0.002
#: When all ranks are asked for a checkpoint, one of the last so many seconds is recent enough.
SOON = 1.0
#: Seconds after which an island migrates in any case, unless in lock-step.
LONGEST_TURN = 5.0
#: The least work of an epoch, in individuals.
LEAST_WORK = 60.0


class Archipelago:
    """The islands of a rank."""

    def __init__(
        self,
        islands: Sequence[LocalIsland],
        migration: Migration,
        transport: Transport,
        limits: Limits,
        *,
        deterministic: bool = False,
        n_threads: int = 1,
        before: RunState | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.islands = list(islands)
        self.migration = migration
        self.transport = transport
        self.limits = limits
        self.requests = Requests()
        self.state = before or RunState()
        self.deterministic = deterministic
        self.watcher = watcher or Watcher()
        self._n_threads = n_threads
        self._before = self.state.seconds
        by_number = {each.number: each for each in self.islands}
        self._exchange = Exchange(by_number, migration, transport, len(self.islands))
        self._steps: Iterator[None] | None = None
        self._is_over = False
        self._agreement: Agreement | None = None
        self._next_beat = 0.0
        self._saved_at = float("-inf")
        self._start = time.perf_counter()
        self._thread_start = time.thread_time()

    # ---- the search --------------------------------------------------------------------------

    @property
    def first(self) -> Any:
        """The first island of this rank, which starts from known laws and merges those of all."""
        return self.islands[0].island

    @property
    def status(self) -> str:
        """``"running"``, or why the search has ended."""
        return self.state.status if self._is_over else "running"

    @property
    def generation(self) -> int:
        """The generation of the island that is furthest."""
        local = max(each.generation for each in self.islands)
        return local if self.transport.size == 1 else max(local, self.state.generation)

    @property
    def evaluations(self) -> int:
        """The number of evaluations of all islands, as far as this rank knows."""
        return max(self.state.evaluations, self._evaluations())

    @property
    def best_rmse(self) -> float:
        """The error of the best law, as far as this rank knows."""
        return min(self.state.rmse, *(each.rmse for each in self.islands))

    @property
    def scanned_features(self) -> list[int]:
        """The features that the guide combines with each other, numbered from 1."""
        return list(self.first.scanned_features)

    @property
    def n_unconverged(self) -> int:
        """The number of ADMM solves of this rank that reached their limit of iterations."""
        return sum(each.island.n_unconverged for each in self.islands)

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
            setattr(total, name, sum(getattr(each.counts, name) for each in self.islands))
        return total

    def front(self) -> list[Any]:
        """Return the Pareto front of the first island."""
        return list(self.first.front())

    def runners_up(self) -> list[Any]:
        """Return the laws that are slightly worse than the front."""
        return list(self.first.runners_up())

    def run(self, seconds: float = float("inf")) -> str:
        """Search for so long, or until all ranks agree that it is over; return the status.

        Islands continue to run in their threads after a time limit.
        """
        ends = time.perf_counter() + seconds
        if self._steps is None:
            self._steps = self.steps()
        for _ in self._steps:
            if time.perf_counter() >= ends:
                return "running"
        return self.status

    def steps(self) -> Iterator[None]:
        """Search in small steps of the main thread; islands run between them."""
        self._is_over = False
        self._start = time.perf_counter()
        self._thread_start = time.thread_time()
        # What was done before a resumption is the same on all ranks.
        over = self._reason("running", self._before, self.state.evaluations, 1)
        self.state = replace(self.state, status=over)
        with ThreadPoolExecutor(self._n_threads, "island") as pool:
            try:
                yield from self._in_step(pool) if self.deterministic else self._freely(pool)
            finally:
                self._interrupt()
        if not self.deterministic:
            for each in self.islands:
                each.keep()
            yield from self._count_together()
        self._is_over = True
        self.watcher.on_poll(self)

    def resume(self, limits: Limits) -> None:
        """Let a run that has ended continue."""
        self.limits = limits
        self.requests = Requests()
        self._steps, self._is_over = None, False
        self._before = self.seconds
        self.state = replace(self.state, status="running", save=False)

    def merge_laws(self) -> bool:
        """Merge the laws of all islands into the first one of rank 0; True there."""
        first = self.first
        for each in self.islands[1:]:
            first.add_laws(each.island.laws())

        def join(_: bytes, other: bytes) -> bytes:
            first.add_laws(other)
            return bytes(first.laws())

        return self.transport.merge(first.laws(), join) is not None

    # ---- throughput: no island waits for another ---------------------------------------------

    def _freely(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        running = {self._begin(pool, each): each for each in self.islands}
        while self.state.status == "running":
            done, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                local = running.pop(future)
                self._note_status(future)
                self._exchange.send(local)
                local.keep()
                if local.status == "running":
                    running[self._begin(pool, local)] = local
            if not running:
                time.sleep(POLL)
            self._exchange.receive()
            self._beat()
            self._save_if_asked()
            if self.state.status == "running":
                self.watcher.on_poll(self)
            yield
        self._interrupt()
        for future in running:
            future.result()  # raises what failed there

    def _count_together(self) -> Iterator[None]:
        """Agree on the work of all islands after they have stopped, which is what is saved."""
        status = self.state.status
        self._agreement = self.transport.agree(*self._contribution())
        while not self._learn():
            yield
            time.sleep(SHORT_POLL)
        self.state = replace(self.state, status=status, save=False)

    def _begin(self, pool: ThreadPoolExecutor, local: LocalIsland) -> Future[str]:
        seconds = LONGEST_TURN
        if self.limits.max_time is not None:
            seconds = min(seconds, max(self.limits.max_time - self.seconds, 0.0))
        return pool.submit(local.turn, self.migration, self._goal(local), seconds)

    def _beat(self) -> None:
        """Agree at regular intervals; a round begins when the last one is known to all ranks."""
        now = time.perf_counter()
        if self._agreement is None and now >= self._next_beat:
            self._agreement = self.transport.agree(*self._contribution())
            self._next_beat = now + BEAT
        self._learn()

    def _save_if_asked(self) -> None:
        asked = self.state.save and time.perf_counter() - self._saved_at >= SOON
        if self.requests.save_now or asked or self.watcher.save_is_due():
            self.watcher.save(self, None)
            self._saved_at = time.perf_counter()
            self.requests.save = self.requests.save or self.requests.save_now
            self.requests.save_now = False
        self.state = replace(self.state, save=False)

    # ---- deterministic: in lock-step ---------------------------------------------------------

    def _in_step(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        while self.state.status == "running":
            yield from self._evolve_together(pool)
            if self._is_cut():
                return
            yield from self._exchange_together()
            # Before the agreement: it must count what the snapshots hold.
            for each in self.islands:
                each.let_in(self.migration)
                each.keep()
            yield from self._agree_together()
            if self.state.save:
                self.watcher.save(self, self.islands[0].epoch)
                self.requests.save = False  # it may have been requested again meanwhile

    def _evolve_together(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Let all islands of this rank do the work of an epoch."""
        running = {
            pool.submit(each.turn, self.migration, self._goal(each)) for each in self.islands
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
        """Tell whether a single rank must end within an epoch, which makes it not repeatable."""
        reason = self._reason(self.requests.reason, self.seconds, self._evaluations(), 1)
        cut = reason in ("max_time", "stopped", "interrupted", "terminated")
        if not cut or self.transport.size > 1:
            return False
        self.state = RunState(
            reason,
            seconds=self.seconds,
            generation=max(each.generation for each in self.islands),
            evaluations=self._evaluations(),
            rmse=min(each.rmse for each in self.islands),
        )
        return True

    def _goal(self, local: LocalIsland) -> float:
        goal = float(local.island.work) + self.migration.interval
        if self.limits.max_evals is None:
            return goal
        # An individual costs at least one unit of work: near the limit epochs become short.
        n_islands = len(self.islands) * self.transport.size
        left = (self.limits.max_evals - self.state.evaluations) / n_islands
        return min(goal, float(local.island.work) + max(left, LEAST_WORK))

    def _exchange_together(self) -> Iterator[None]:
        outgoing = self._exchange.due_messages(self.islands)
        expected = self._exchange.expected(self.islands)
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
        """Handle requests; snapshots are those of the last epoch."""
        if self.requests.save_now:
            self.watcher.save_both(self)
            self.requests.save_now = False
        self.requests.save = self.requests.save or self.watcher.save_is_due()
        self.watcher.on_poll(self)

    # ---- agreement ---------------------------------------------------------------------------

    def _note_status(self, future: Future[str]) -> None:
        status = future.result()
        if status in ("exact", "threshold"):
            self.requests.stop(status)

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
        return sum(each.evaluations + each.absorbed_evaluations for each in self.islands)

    def _contribution(self) -> tuple[list[float], list[float]]:
        maxima = [
            float(REASONS.index(self.requests.reason)),
            float(self.requests.save),
            float(self.deterministic and not self.watcher.can_save()),
            self.seconds,
            float(max(each.generation for each in self.islands)),
            -min(each.rmse for each in self.islands),
        ]
        self.requests.save = False
        n_running = sum(each.status == "running" for each in self.islands)
        return maxima, [float(self._evaluations()), float(n_running)]

    def _learn(self) -> bool:
        """Take over what all ranks have agreed on; False if they have not yet."""
        found = self._agreement.result() if self._agreement is not None else None
        if found is None:
            return False
        self._agreement = None
        (reason, save, busy, seconds, generation, best), (evaluations, n_running) = found
        self.state = RunState(
            self._reason(REASONS[int(reason)], seconds, evaluations, n_running),
            bool(save) and not busy,
            seconds,
            max(int(generation), 0),
            int(evaluations),
            -best,
        )
        return True

    def _interrupt(self) -> None:
        for each in self.islands:
            each.island.interrupt()


# ---- islands on the threads of one process -------------------------------------------------------


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
