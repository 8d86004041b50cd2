"""One search from start to end: checkpoints to judge noise, and to stop when settled."""

from __future__ import annotations

import math
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
from gsr.rows import MORE_ROWS
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, LawLike, Training, structure, without_repeats
from gsr.selection.noise_choice import MOST_LAWS, Explained, choose_noise, explain, promising
from gsr.selection.residuals import residual_level
from gsr.selection.target_scale import rmse

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
#: A search does not start anew for other weights alone before the guide has reached this stage:
#: until its first pursuit is done, the residuals of the laws are not noise.
FIRST_WEIGHED_STAGE = 2
#: The search goes on with more rows if noise is at least this part of the spread of y (R2 below
#: 0.999), there are so many times more, and all that was done up to there would, on so many rows,
#: take no more than one part in this many of the time that is left.
LEAST_NOISE = 0.03
LEAST_GROWTH = 1.5
MOST_REPEATED = 2.0
#: Part of `max_time` that a checkpoint may take.
LONGEST_CHECKPOINT = 0.15
#: Where checkpoints take more than this part of the time, they come at greater distances.
MOST_COMPARING = 0.3
#: Part of `max_time` kept for the final fits: at least, at most, and in units of a checkpoint.
LEAST_RESERVE, MOST_RESERVE = 0.03, 0.25
RESERVED_CHECKPOINTS = 8.0
#: Seconds by which the final fits may overrun `max_time`.
OVERRUN = 0.2
#: Seconds that the final fits may take after Ctrl-C.
AFTER_INTERRUPTION = 2.0


class Session:
    """Runs a search to its end; `max_time` is for search and final fits together."""

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
        self.earlier: list[LawLike] = []  # laws of searches given up, with their errors of now
        self._wanted: str | None = None  # kind of noise that the last checkpoint spoke for
        self._best: tuple[Any, float, int] | None = None  # terms, work when they came up, times

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
                    self._report,
                    lambda: self.problem.current(self.evolution.front()),
                    checkpoint if hasattr(self.evolution, "work") else None,
                )
            if status != search.CHECKPOINT:
                return status
            if self._look(checkpoint):
                return "settled"
            checkpoint *= growth**2 if self._checkpoints_are_slow else growth

    @property
    def _checkpoints_are_slow(self) -> bool:
        """Whether comparing laws takes time that the search needs."""
        elapsed = time.perf_counter() - self.started
        is_timed = self.max_time is not None and not self.problem.is_counted
        return is_timed and self.seconds_compared > MOST_COMPARING * elapsed

    @property
    def _first(self) -> Any:
        """The search, or the first of its islands."""
        return getattr(self.evolution, "first", self.evolution)

    # ---- time --------------------------------------------------------------------------------

    def final_deadline(self, status: str) -> float | None:
        """Return when the final fits must end, by `time.perf_counter`: soon after Ctrl-C."""
        ends = []
        if self.max_time is not None:
            ends = [self.started + self.max_time + OVERRUN - self.problem.verdict_seconds]
        if status == "interrupted":
            ends.append(time.perf_counter() + AFTER_INTERRUPTION)
        return min(ends, default=None)

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

    def _report(self, progress: search.Progress) -> object:
        """Report progress, with time and work counted from the start of the session."""
        return self.report(
            replace(
                progress,
                seconds=time.perf_counter() - self.started,
                max_time=self.max_time,
                generation=progress.generation + self.work_before[0],
                evaluations=progress.evaluations + self.work_before[1],
                make_front=self._front,
            )
        )

    def _front(self) -> list[FrontEntry]:
        make, data = self.problem.blueprint.equation, self.problem.data
        return [FrontEntry.of(law, make, data) for law in self.evolution.front()]

    # ---- checkpoints -------------------------------------------------------------------------

    def laws(self) -> list[LawLike]:
        """Return all laws worth comparing: of the search, and of what came before it."""
        found = [*self.evolution.front(), *self.evolution.runners_up()]
        return without_repeats([*found, *self.kept, *self.earlier])

    def _look(self, checkpoint: float) -> bool:
        """Judge the noise, and tell whether the search has settled."""
        start = time.perf_counter()
        until = None
        if self.max_time is not None:
            longest = math.inf if self.problem.is_counted else LONGEST_CHECKPOINT * self.max_time
            until = start + min(longest, self._time_left() or 0.0)
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
        weighed = self._with_its_noise(best)
        changed = self._with_more_rows(weighed, best)
        # Laws may still leave too much that is no noise for it to be judged.
        guided = bool(problem.blueprint.settings["guided"])
        if changed is weighed and guided and self._first.stage < FIRST_WEIGHED_STAGE:
            return best
        if changed is not problem:
            self._restart(changed, laws)
        return best

    def _with_its_noise(self, best: Explained) -> Problem:
        """Return the problem with the weights that the noise around a law asks for."""
        problem = self.problem
        if self._is_lasting(best.data):
            return problem.weighted(best)
        resisting = problem.resisting(best.law)
        return resisting if problem.resists_differently(resisting) else problem

    def _is_lasting(self, data: Training) -> bool:
        """Tell whether the noise of data is another one, and worth a new start.

        What approximations leave looks like one kind of noise and then like another, and a search
        that starts anew each time never gets to the law. So after the first change a kind other
        than constant noise must come up twice.
        """
        before = self._wanted
        self._wanted = data.noise.kind if self.problem.differs(data) else None
        if self._wanted is None:
            return False
        first = self.work_before == (0, 0)
        return first or self._wanted in ("constant", before)

    def _with_more_rows(self, problem: Problem, best: Explained) -> Problem:
        """Return the problem with more rows, if noise is all that a law leaves, and time allows.

        Structure in what it leaves must be explained first, for which fewer rows are faster.
        """
        n_rows = len(problem.data.y)
        wanted = min(n_rows + problem.rows_left, MORE_ROWS, self._rows_in_time(n_rows))
        if wanted < LEAST_GROWTH * n_rows and wanted < n_rows + problem.rows_left:
            return problem
        if wanted == n_rows or best.law.rmse < LEAST_NOISE * best.data.spread:
            return problem
        if residual_level(best.law, best.data, n_rows) != "noise":
            return problem
        return problem.with_rows(wanted, best.law)

    def _rows_in_time(self, n_rows: int) -> int:
        """Return on how many rows what was done so far can be done again."""
        if self.max_time is None:
            return MORE_ROWS
        again = MOST_REPEATED * max(time.perf_counter() - self.started, 1e-3)
        most = int(n_rows * (self._time_left() or 0.0) / again)
        return max((n for n in (n_rows, MORE_ROWS // 2, MORE_ROWS) if n <= most), default=n_rows)

    def _restart(self, problem: Problem, laws: Sequence[LawLike]) -> None:
        """Go on with other weights or rows, from the laws found so far."""
        done = (self.evolution.generation + 1, self.evolution.evaluations)
        problem = problem.after(*done, self._first.stage)
        evolution = make_evolution(problem, laws=laws)
        # Errors on fewer rows or with other weights do not compare with those of now.
        earlier = [*laws, *self.laws()]
        measured = [FittedLaw.of(law, rmse=rmse(law, problem.data)) for law in earlier]
        # Nothing is changed before all is made: Ctrl-C may come at any time.
        self.problem, self.evolution = problem, evolution
        self.work_before = (self.work_before[0] + done[0], self.work_before[1] + done[1])
        self.kept, self.earlier = [], without_repeats(measured)
        self._best, self._wanted = None, None

    def _has_settled(self, law: LawLike, checkpoint: float) -> bool:
        terms = structure(law)
        if self._best is None or self._best[0] != terms:
            self._best = (terms, checkpoint, 1)
            return False
        _, since, times = self._best
        self._best = (terms, since, times + 1)
        done = bool(getattr(self.evolution, "pursuits_done", False))
        return done and times + 1 >= SAME_CHECKPOINTS and checkpoint >= SAME_GROWTH * since
