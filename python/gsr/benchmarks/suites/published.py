"""Figures printed in the paper for its own method (GSR) and for the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One printed table of figures per problem and method.

    Parameters
    ----------
    metric : str
        ``recovery %``, ``mean RMSE``, ``median RMSE`` or ``seconds``.
    runs : int or None
        Independent runs behind every figure; None where the paper does not say.
    methods : tuple of str
        The columns.
    rows : dict
        One figure per method for every problem; None where the paper prints none.
    average : tuple of float
        The printed last line.
    """

    metric: str
    runs: int | None
    methods: tuple[str, ...]
    rows: dict[str, tuple[float | None, ...]]
    average: tuple[float, ...]

    def figure(self, problem: str, method: str) -> float | None:
        """Return one figure, or None if the paper has none."""
        if problem not in self.rows or method not in self.methods:
            return None
        return self.rows[problem][self.methods.index(method)]


NGUYEN_RECOVERY_100 = Table(
    metric="recovery %",
    runs=100,
    methods=("GSR", "NGGPPS", "DSR", "Eureqa"),
    rows={
        "Nguyen-1": (100, 100, 100, 100),
        "Nguyen-2": (100, 100, 100, 100),
        "Nguyen-3": (100, 100, 100, 95),
        "Nguyen-4": (100, 100, 100, 70),
        "Nguyen-5": (100, 100, 72, 73),
        "Nguyen-6": (100, 100, 100, 100),
        "Nguyen-7": (100, 97, 35, 85),
        "Nguyen-8": (100, 100, 96, 0),
        "Nguyen-9": (100, 100, 100, 100),
        "Nguyen-10": (100, 100, 100, 64),
        "Nguyen-11": (100, 100, 100, 100),
    },
    average=(100, 99.73, 91.18, 80.64),
)

NGUYEN_RECOVERY = Table(
    metric="recovery %",
    runs=25,
    methods=("GSR", "NGGPPS+SLP/HER", "NGGPPS", "GEGL", "DSR"),
    rows={
        "Nguyen-1": (100, 100, 100, 100, 100),
        "Nguyen-2": (100, 100, 100, 100, 100),
        "Nguyen-3": (100, 100, 100, 100, 100),
        "Nguyen-4": (100, 100, 100, 100, 100),
        "Nguyen-5": (100, 100, 100, 92, 72),
        "Nguyen-6": (100, 100, 100, 100, 100),
        "Nguyen-7": (100, 100, 96, 48, 35),
        "Nguyen-8": (100, 100, 100, 100, 96),
        "Nguyen-9": (100, 100, 100, 100, 100),
        "Nguyen-10": (100, 100, 100, 92, 100),
        "Nguyen-11": (100, 100, 100, 100, 100),
        "Nguyen-12*": (100, 4, 12, 0, 0),
    },
    average=(100, 92.0, 92.33, 86.0, 83.58),
)

LIVERMORE_RECOVERY = Table(
    metric="recovery %",
    runs=25,
    methods=("GSR", "NGGPPS+SLP/HER", "NGGPPS", "GEGL", "DSR"),
    rows={
        "Livermore-1": (100, 100, 100, 100, 3),
        "Livermore-2": (100, 100, 100, 44, 87),
        "Livermore-3": (100, 100, 100, 100, 66),
        "Livermore-4": (100, 100, 100, 100, 76),
        "Livermore-5": (100, 40, 4, 0, 0),
        "Livermore-6": (100, 100, 88, 64, 97),
        "Livermore-7": (0, 4, 0, 0, 0),
        "Livermore-8": (0, 0, 0, 0, 0),
        "Livermore-9": (4, 88, 24, 12, 0),
        "Livermore-10": (100, 8, 24, 0, 0),
        "Livermore-11": (100, 100, 100, 92, 17),
        "Livermore-12": (100, 100, 100, 100, 61),
        "Livermore-13": (100, 100, 100, 84, 55),
        "Livermore-14": (100, 100, 100, 100, 0),
        "Livermore-15": (100, 100, 100, 96, 0),
        "Livermore-16": (100, 100, 92, 12, 4),
        "Livermore-17": (100, 36, 68, 4, 0),
        "Livermore-18": (100, 48, 56, 0, 0),
        "Livermore-19": (100, 100, 100, 100, 100),
        "Livermore-20": (100, 100, 100, 100, 98),
        "Livermore-21": (76, 88, 24, 64, 2),
        "Livermore-22": (100, 92, 84, 68, 3),
    },
    average=(85.45, 77.45, 71.09, 56.36, 30.41),
)

JIN_RMSE = Table(
    metric="mean RMSE",
    runs=50,
    methods=("GSR", "NGGPPS", "DSR", "BSR"),
    rows={
        "Jin-1": (0, 0, 0.46, 2.04),
        "Jin-2": (0, 0, 0, 6.84),
        "Jin-3": (0, 0, 0.00052, 0.21),
        "Jin-4": (0, 0, 0.00014, 0.16),
        "Jin-5": (0, 0, 0, 0.66),
        "Jin-6": (0.018, 0, 2.23, 4.63),
    },
    average=(0.003, 0, 0.45, 2.42),
)

NEAT_RMSE = Table(
    metric="median RMSE",
    runs=30,
    methods=("GSR", "NGGPPS", "DSR", "Neat-GP"),
    rows={
        "Neat-1": (0, 0, 0, 0.0779),
        "Neat-2": (0, 0, 0, 0.0576),
        "Neat-3": (0, 0, 0.0041, 0.0065),
        "Neat-4": (0, 0, 0.0189, 0.0253),
        "Neat-5": (0, 0, 0, 0.0023),
        "Neat-6": (2.0e-4, 6.1e-6, 0.2378, 0.2855),
        "Neat-7": (0.0521, 1.0028, 1.0606, 1.0541),
        "Neat-8": (4.0e-4, 0.0228, 0.1076, 0.1498),
        "Neat-9": (8.1e-9, 0, 0.1511, 0.1202),
    },
    average=(0.0059, 0.1139, 0.1756, 0.1977),
)

NGUYEN_SECONDS = Table(
    metric="seconds",
    runs=None,
    methods=("GSR", "NGGPPS"),
    rows={
        "Nguyen-1": (18.66, 27.05),
        "Nguyen-2": (25.96, 59.79),
        "Nguyen-3": (38.77, 151.06),
        "Nguyen-4": (63.82, 268.88),
        "Nguyen-5": (447.01, 501.65),
        "Nguyen-6": (465.79, 43.96),
        "Nguyen-7": (33.35, 752.32),
        "Nguyen-8": (93.89, 123.21),
        "Nguyen-9": (391.79, 31.17),
        "Nguyen-10": (68.05, 103.72),
        "Nguyen-11": (38.86, 66.50),
    },
    average=(153.27, 193.57),
)

SYMSET_RMSE = Table(
    metric="mean RMSE",
    runs=25,
    methods=("GSR", "s-GSR", "NGGPPS", "PSTree", "PySR", "gplearn"),
    rows={
        "SymSet-1": (2.52e-5, 3.69e-5, 3.66e-1, 7.92e-3, 1.10e-3, 4.45e-2),
        "SymSet-2": (4.28e-7, 2.34e-3, 4.75e-1, 1.96e-1, 5.75e-2, 3.42e-1),
        "SymSet-3": (6.58e-6, 1.22e-3, 1.34e-2, 3.73e-3, 1.71e-3, 1.72e-2),
        "SymSet-4": (7.94e-4, 1.37e-4, 1.76, 1.32, 6.14e-1, 2.89),
        "SymSet-5": (3.63e-5, 4.98e-5, 4.21e-1, 3.19e-1, 5.91e-2, 2.64e-1),
        "SymSet-6": (4.38e-5, 8.12e-2, 2.08, 1.42, 6.57, 3.94),
        "SymSet-7": (2.39e-4, 6.83e-2, 2.43e-2, 5.25e-1, 5.22e-2, 8.93e-1),
        "SymSet-8": (6.83e-4, 7.88e-3, 3.93e-1, 4.02e-1, 3.57e-1, 4.35e-1),
        "SymSet-9": (3.57e-6, 6.32e-3, 1.34e-1, 1.23e-1, 2.58e-2, 2.19e-1),
        "SymSet-10": (2.12e-4, 3.24e-4, 3.32e-1, 9.91e-1, 4.14e-2, 1.63),
        "SymSet-11": (1.43e-3, 9.39e-2, 2.49e-1, 1.11e-1, 2.81e-2, 1.88e-1),
        "SymSet-12": (1.22e-5, 7.09e-5, 8.76e-1, 8.32e-1, 2.53e-2, 2.62e-1),
        "SymSet-13": (2.31e-5, 9.13e-2, 2.19e-1, 8.69e-1, 8.44e-2, 1.07e-16),
        "SymSet-14": (2.18e-5, 6.14e-2, 4.93e-17, 8.24e-2, 1.59e-2, 9.82e-2),
        "SymSet-15": (1.81e-6, 6.71e-3, 2.86e-17, 6.22e-2, 6.90e-3, 2.05e-1),
        "SymSet-16": (7.24e-4, 9.86e-3, None, None, None, None),
        "SymSet-17": (2.57e-4, 3.41e-3, 9.16e-2, 5.44e-2, 3.94e-2, 1.18e-1),
    },
    average=(2.66e-4, 2.56e-2, 4.65e-1, 4.57e-1, 4.99e-1, 7.22e-1),
)

SYMSET_SECONDS = Table(
    metric="seconds",
    runs=25,
    methods=("GSR", "s-GSR", "NGGPPS", "PSTree", "PySR", "gplearn"),
    rows={
        "SymSet-1": (49.94, 43.81, 175.32, 42.98, 61.21, 140.44),
        "SymSet-2": (75.24, 91.95, 171.46, 24.68, 119.55, 145.84),
        "SymSet-3": (66.34, 88.14, 167.11, 21.68, 12.62, 169.38),
        "SymSet-4": (428.23, 405.54, 171.85, 24.14, 79.39, 248.12),
        "SymSet-5": (71.86, 64.19, 177.98, 13.09, 69.47, 190.83),
        "SymSet-6": (76.59, 94.18, 179.34, 13.28, 67.45, 215.11),
        "SymSet-7": (93.61, 109.94, 133.89, 11.78, 117.47, 169.94),
        "SymSet-8": (68.07, 90.61, 169.46, 11.54, 135.13, 167.64),
        "SymSet-9": (57.36, 83.18, 175.04, 12.23, 162.11, 159.22),
        "SymSet-10": (393.62, 379.56, 178.27, 11.06, 48.17, 192.92),
        "SymSet-11": (124.38, 187.49, 166.91, 21.26, 49.88, 184.38),
        "SymSet-12": (78.53, 69.72, 178.56, 11.65, 136.14, 187.32),
        "SymSet-13": (96.14, 114.85, 126.39, 9.92, 16.01, 12.52),
        "SymSet-14": (112.32, 137.61, 99.85, 9.95, 57.54, 142.12),
        "SymSet-15": (46.97, 85.07, 94.42, 9.93, 93.54, 147.58),
        "SymSet-16": (98.37, 126.16, None, None, None, None),
        "SymSet-17": (116.78, 143.31, 171.25, 10.46, 167.45, 148.42),
    },
    average=(120.84, 136.19, 158.57, 16.23, 87.07, 163.86),
)

BY_SUITE: dict[str, tuple[Table, ...]] = {
    "nguyen": (NGUYEN_RECOVERY, NGUYEN_RECOVERY_100, NGUYEN_SECONDS),
    "jin": (JIN_RMSE,),
    "neat": (NEAT_RMSE,),
    "livermore": (LIVERMORE_RECOVERY,),
    "symset": (SYMSET_RMSE, SYMSET_SECONDS),
}

#: Recovery % over Nguyen (with 12*) and Livermore together.
RECOVERY_OVERALL: dict[str, float] = {
    "GSR": 90.59,
    "NGGPPS+SLP/HER": 82.59,
    "NGGPPS": 78.59,
    "GEGL": 66.82,
    "DSR": 49.18,
}
