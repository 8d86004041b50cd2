"""Formulas as text: read into a syntax tree, and from there into SymPy; no Python is evaluated."""

from gsr.formula.parser import Grammar, Node, parse, sides
from gsr.formula.symbolic import Builder, expression

__all__ = ["Builder", "Grammar", "Node", "expression", "parse", "sides"]
