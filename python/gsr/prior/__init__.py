"""What is known before the search: rules, units, formulas, shapes."""

from gsr.prior.rules import Names, core_constraints, forbidden, without, without_targets

__all__ = ["Names", "core_constraints", "forbidden", "without", "without_targets"]
