"""Rows that are powers, which may share a number and single variables among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from gsr.encoding.rows import PRODUCT, SUM, VARIABLE
from gsr.transformation import POWERS

Argument = tuple[int, tuple[int, ...]]
#: The transformations t and 1/t, by name.
UNITS = {name: power for name, power in POWERS.items() if abs(power) == 1}


@dataclass(frozen=True)
class Power:
    """A row whose transformation is a power, so that k times its argument is k^power times it."""

    name: str
    power: Fraction
    argument: Argument

    def scaled(self, k: int) -> Power:
        """Return the row with k copies of the argument."""
        variables = tuple(sorted(self.argument[1] * k))
        return self if k == 1 else replace(self, argument=(SUM, variables))


def argument_of(kind: int, variables: Sequence[int]) -> Argument:
    """Return (argument type, variables); a lone operand is no sum or product."""
    return (VARIABLE if len(variables) == 1 else kind), tuple(variables)


def merged(powers: list[Power], n_v: int) -> list[Power]:
    """Put single variables under identity, and those under inverse, into products."""
    kept = [p for p in powers if not _single(p)]
    for name, power in UNITS.items():
        lone = sorted(p.argument[1][0] for p in powers if _single(p) and p.name == name)
        for start in range(0, len(lone), n_v):
            argument = argument_of(PRODUCT, lone[start : start + n_v])
            kept.append(Power(name, power, argument))
    return kept


def _single(power: Power) -> bool:
    return power.name in UNITS and power.argument[0] == VARIABLE


def scales_for(powers: list[Power], sixth: Fraction, n_v: int) -> list[int] | None:
    """Return k_i with prod k_i^(6 power_i) = sixth, where k_i copies fit into the argument."""
    reached: dict[Fraction, list[int]] = {Fraction(1): []}
    for power in powers:
        kind, variables = power.argument
        most = 1 if kind == PRODUCT else n_v // len(variables)
        step: dict[Fraction, list[int]] = {}
        for k in (k for k in range(1, most + 1) if _only_primes_of(sixth, k)):
            factor = Fraction(k) ** int(6 * power.power)
            for value, scales in reached.items():
                step.setdefault(value * factor, [*scales, k])
        reached = step
    return reached.get(sixth)


def _only_primes_of(value: Fraction, k: int) -> bool:
    """Tell whether k could matter: primes that are not in the value would have to cancel."""
    return pow(value.numerator * value.denominator, k.bit_length(), k) == 0
