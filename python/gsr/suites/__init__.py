"""The five benchmark suites of the paper and the figures published for them."""

from gsr.suites.problem import Problem
from gsr.suites.problems import PROBLEMS, SUITES, get, select

__all__ = ["PROBLEMS", "SUITES", "Problem", "get", "select"]
