"""Benchmark suites: the five of the paper with its figures, Feynman and Strogatz."""

from gsr.suites.catalogue import ALL_PROBLEMS, ALL_SUITES, get, select
from gsr.suites.problem import Problem
from gsr.suites.problems import PROBLEMS, SUITES

__all__ = ["ALL_PROBLEMS", "ALL_SUITES", "PROBLEMS", "SUITES", "Problem", "get", "select"]
