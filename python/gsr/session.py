"""One search from start to end: checkpoints at which noise is judged and a settled search stops."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gsr import search
from gsr.blueprint import start_from
from gsr.exceptions import InterruptedWarning
from gsr.problem import Problem, make_evolution
from gsr.selection.fitted import LawLike, structure, without_repeats
from gsr.selection.noise_choice import MOST_LAWS, Explained, choose_noise, explain, promising

#: Work, in individuals, until the first checkpoint, and by which factor the next one is later; on
#: more rows laws take longer to compare.
FIRST_CHECKPOINT = 2500.0
GROWTH = 1.5
GROWTH_MANY_ROWS = 2.0
MANY_ROWS = 300
#: A search has settled when the best law is the same at so many checkpoints and over this factor of
#: work, with all pursuits of the guide done.
SAME_CHECKPOINTS = 5
SAME_GROWTH = 6.0
#: Rows are not weighed anew before the guide has reached this stage: before its first pursuit is
#: through, laws leave too much that is no noise.
FIRST_WEIGHED_STAGE = 2
#: Part of `max_time` that a checkpoint may take.
LONGEST_CHECKPOINT = 0.15
#: Where checkpoints take more than this part of the time, they come at greater distances.
MOST_COMPARING = 0.3
#: Part of `max_time` kept for the final fits: at least, at most, and in units of a checkpoint.
LEAST_RESERVE, MOST_RESERVE = 0.03, 0.25
RESERVED_CHECKPOINTS = 8.0
#: Seconds by which the final fits may overrun `max_time`.
OVERRUN = 0.2


class Session:
    """Runs a search to its end.

    Parameters
    ----------
    problem : Problem
        What is searched for.
    evolution : Evolution
        The search.
    max_time : float, optional
        Seconds for search and final fits together.
    report : callable
        Called with the progress.
    """

    def __init__(
        self,
        problem: Problem,
        evolution: Any,
        max_time: float | None,
        report: Callable[[search.Progress], object],
    ) -> None:
        self.problem, self.evolution = problem, evolution
        self.max_time, self.report = max_time, report
        self.started = time.perf_counter()
        self.checkpoint_seconds = 0.0  # of the last one
        self.seconds_compared = 0.0  # of all
        self.work_before = (0, 0)  # generations and evaluations of searches given up
        self.kept: list[LawLike] = []  # the best laws of earlier checkpoints
        self._best: tuple[Any, float, int] | None = None  # terms, work when they came up, times
        self._n_restarts = 0
        self._noise_before = ""  # its kind at the last checkpoint

    def run(self) -> str:
        """Search until a law is accepted, the search has settled, a limit is reached, or Ctrl-C."""
        try:
            return self._run()
        except KeyboardInterrupt:
            if self.evolution.evaluations + self.work_before[1] == 0:
                raise
            message = "interrupted: the best laws so far are kept"
            warnings.warn(message, InterruptedWarning, stacklevel=3)
            return "interrupted"

    def _run(self) -> str:
        growth = GROWTH_MANY_ROWS if len(self.problem.data.y) > MANY_ROWS else GROWTH
        checkpoint = FIRST_CHECKPOINT
        while True:
            with self._stopped_in_time():
                status = search.run(
                    self.evolution,
                    self._time_left(),
                    self._shifted(self.report),
                    lambda: self.problem.current(self.evolution.front()),
                    checkpoint if self._has_checkpoints else None,
                )
            if status != search.CHECKPOINT:
                return status
            if self._look(checkpoint):
                return "settled"
            checkpoint *= growth**2 if self._checkpoints_are_slow else growth

    @property
    def _has_checkpoints(self) -> bool:
        return hasattr(self.evolution, "work")

    @property
    def _checkpoints_are_slow(self) -> bool:
        """Whether comparing laws takes time that the search needs."""
        elapsed = time.perf_counter() - self.started
        return self.max_time is not None and self.seconds_compared > MOST_COMPARING * elapsed

    @property
    def _first(self) -> Any:
        """The search, or the first of its islands."""
        return getattr(self.evolution, "first", self.evolution)

    # ---- time --------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """When search and final fits must end, on the clock of `time.perf_counter`."""
        if self.max_time is None:
            return None
        return self.started + self.max_time + OVERRUN - self.problem.verdict_seconds

    def _time_left(self) -> float | None:
        if self.max_time is None:
            return None
        wanted = RESERVED_CHECKPOINTS * self.checkpoint_seconds
        reserve = min(max(wanted, LEAST_RESERVE * self.max_time), MOST_RESERVE * self.max_time)
        reserve += self.problem.verdict_seconds
        used = time.perf_counter() - self.started
        return max(self.max_time - reserve - used, 0.0)

    @contextmanager
    def _stopped_in_time(self) -> Iterator[None]:
        """Interrupt a piece of work that would run past the time limit."""
        left, interrupt = self._time_left(), getattr(self.evolution, "interrupt", None)
        if left is None or interrupt is None:
            yield
            return
        timer = threading.Timer(left, interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _shifted(self, report: Callable[[search.Progress], object]) -> Any:
        """Count time and work of reports from the start of the session."""

        def shifted(progress: search.Progress) -> object:
            seconds = time.perf_counter() - self.started
            return report(
                replace(
                    progress,
                    seconds=seconds,
                    max_time=self.max_time,
                    generation=progress.generation + self.work_before[0],
                    evaluations=progress.evaluations + self.work_before[1],
                )
            )

        return shifted

    # ---- checkpoints -------------------------------------------------------------------------

    def laws(self) -> list[LawLike]:
        """Return all laws worth comparing: of the search, and of earlier checkpoints."""
        return without_repeats([*self.evolution.front(), *self.evolution.runners_up(), *self.kept])

    def _look(self, checkpoint: float) -> bool:
        """Judge the noise, and tell whether the search has settled."""
        start = time.perf_counter()
        until = None
        if self.max_time is not None:
            until = start + min(LONGEST_CHECKPOINT * self.max_time, self._time_left() or 0.0)
        laws = self.evolution.front()
        if any(law.exact for law in laws):
            return False
        known = promising(self.laws(), self.problem.data, until)
        freed = promising(self.problem.freed(known, until), self.problem.data, until)
        for law in freed:
            start_from(self._first, law.psi, law.phi)
        best = self._judge_noise([*known, *freed], until)
        settled = best is not None and self._has_settled(best.law, checkpoint)
        self.checkpoint_seconds = time.perf_counter() - start
        self.seconds_compared += self.checkpoint_seconds
        return settled

    def _judge_noise(self, laws: Sequence[LawLike], until: float | None) -> Explained | None:
        problem = self.problem
        if problem.errors == "auto":
            best = choose_noise(laws, problem.data, until)
        else:
            best = explain(laws, problem.data, problem.data.noise, until)
        if best is None:
            return None
        self.kept = [*self.kept[-MOST_LAWS:], best.law]
        if not self._may_weigh_rows(best):
            return best
        if problem.differs(best.data):
            self._restart(problem.weighted(best), laws)
        elif problem.resists_differently(resisting := problem.resisting(best.law)):
            self._restart(resisting, laws)
        return best

    def _may_weigh_rows(self, best: Explained) -> bool:
        """Tell whether the kind of noise is clear enough to start anew with other weights.

        After the first time two checkpoints in a row must agree: on exact data the residuals of
        poor laws look like other noise at every checkpoint, and each restart repeats work.
        """
        kind = best.data.noise.kind
        agrees = self._n_restarts == 0 or kind == self._noise_before
        self._noise_before = kind
        unguided = not self.problem.blueprint.settings["guided"]
        return agrees and (unguided or self._first.stage >= FIRST_WEIGHED_STAGE)

    def _restart(self, problem: Problem, laws: Sequence[LawLike]) -> None:
        """Go on with rows weighted for their noise, from the laws found so far."""
        done = (self.evolution.generation + 1, self.evolution.evaluations)
        problem = problem.after(*done, self._first.stage)
        evolution = make_evolution(problem, laws=laws)
        # Nothing is changed before all is made: Ctrl-C may come at any time.
        self.problem, self.evolution = problem, evolution
        self.work_before = (self.work_before[0] + done[0], self.work_before[1] + done[1])
        self.kept, self._best = [*laws], None
        self._n_restarts += 1

    def _has_settled(self, law: LawLike, checkpoint: float) -> bool:
        terms = structure(law)
        if self._best is None or self._best[0] != terms:
            self._best = (terms, checkpoint, 1)
            return False
        _, since, times = self._best
        self._best = (terms, since, times + 1)
        done = bool(getattr(self.evolution, "pursuits_done", False))
        return done and times + 1 >= SAME_CHECKPOINTS and checkpoint >= SAME_GROWTH * since
