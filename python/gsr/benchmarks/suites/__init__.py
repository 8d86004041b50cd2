"""Benchmark suites: the five of the paper, and others; by suite and by name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from gsr.benchmarks.suites.listed import BEYOND_PAPER, PROBLEMS
from gsr.benchmarks.suites.problem import Problem

__all__ = ["ALL_PROBLEMS", "ALL_SUITES", "PROBLEMS", "SUITES", "Problem", "get", "select"]

ALL_PROBLEMS: tuple[Problem, ...] = PROBLEMS + BEYOND_PAPER
SUITES = tuple(dict.fromkeys(each.suite for each in PROBLEMS))
ALL_SUITES = tuple(dict.fromkeys(each.suite for each in ALL_PROBLEMS))
GROUPS = {"all": ALL_SUITES, "paper": SUITES, **{suite: (suite,) for suite in ALL_SUITES}}

_BY_NAME = {each.name.lower(): each for each in ALL_PROBLEMS}


def get(name: str) -> Problem:
    """Return the problem called `name`, in any letter case; ValueError if there is none."""
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise _unknown(name, [each.name for each in ALL_PROBLEMS])
    return found


def select(names: Iterable[str]) -> list[Problem]:
    """Return the problems of the given names and suites, each once, in the order asked for.

    ``paper`` stands for the five suites of the paper, ``all`` for every suite.
    """
    chosen: dict[str, Problem] = {}
    for name in [names] if isinstance(names, str) else names:
        chosen.update((each.name, each) for each in _expand(name))
    return list(chosen.values())


def _expand(name: str) -> list[Problem]:
    key = name.lower()
    if key in GROUPS:
        return [each for each in ALL_PROBLEMS if each.suite in GROUPS[key]]
    if key in _BY_NAME:
        return [_BY_NAME[key]]
    raise _unknown(name, [*GROUPS, *(each.name for each in ALL_PROBLEMS)])


def _unknown(name: str, known: list[str]) -> ValueError:
    spelling = {each.lower(): each for each in known}
    near = [spelling[each] for each in get_close_matches(name.lower(), spelling, n=3)]
    suites = ", ".join(ALL_SUITES)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the suites are {suites}."
    return ValueError(f"unknown problem or suite {name!r}: {hint}")
