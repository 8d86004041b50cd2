"""Right-hand sides of seven systems with two states, from Strogatz's book on nonlinear dynamics.

Elsewhere the rows lie on trajectories. Here they are drawn at random from a box that holds them.
Each right-hand side comes with both states, also where one plays no part.
"""

from __future__ import annotations

from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.sampling import Box

ROWS = 100
Range = tuple[float, float]


def _system(name: str, first: str, second: str, x1: Range, x2: Range) -> tuple[Problem, Problem]:
    def side(number: int, expression: str) -> Problem:
        return Problem(
            suite="strogatz",
            name=f"Strogatz-{name}{number}",
            expression=expression,
            variables=("x1", "x2"),
            sampling=Box((x1, x2), ROWS),
            library=(),
            target_library=(),
            note=f"d(x{number})/dt",
        )

    return side(1, first), side(2, second)


STROGATZ: tuple[Problem, ...] = (
    # bacterial respiration
    *_system("bacres", "20 - x1 - x1*x2/(1 + x1**2/2)", "10 - x1*x2/(1 + x1**2/2)",
             (0, 15), (0, 15)),
    # bar magnets
    *_system("barmag", "sin(x1 - x2)/2 - sin(x1)", "sin(x2 - x1)/2 - sin(x2)",
             (0, 6), (0, 6)),
    # glider
    *_system("glider", "-x1**2/20 - sin(x2)", "x1 - cos(x2)/x1", (0.5, 8), (-3, 3)),
    # Lotka-Volterra competition
    *_system("lv", "3*x1 - 2*x1*x2 - x1**2", "2*x2 - x1*x2 - x2**2", (0, 8), (0, 5)),
    # predator and prey
    *_system("predprey", "x1*(4 - x1 - x2/(1 + x1))", "x2*(x1/(1 + x1) - 3*x2/40)",
             (0, 10), (0, 15)),
    # shear flow
    *_system("shearflow", "cos(x2)/sin(x2)*cos(x1)", "(cos(x2)**2 + sin(x2)**2/10)*sin(x1)",
             (-3, 3), (0.2, 2.9)),
    # van der Pol
    *_system("vdp", "10*(x2 - (x1**3 - x1)/3)", "-x1/10", (-2, 2), (-2, 2)),
)  # fmt: skip
