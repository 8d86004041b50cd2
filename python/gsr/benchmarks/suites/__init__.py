"""Benchmark suites: the five of the paper with its figures, and others."""

from gsr.benchmarks.suites.catalogue import ALL_PROBLEMS, ALL_SUITES, get, select
from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.problems import PROBLEMS, SUITES

__all__ = ["ALL_PROBLEMS", "ALL_SUITES", "PROBLEMS", "SUITES", "Problem", "get", "select"]
