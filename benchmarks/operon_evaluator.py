"""Random trees for pyoperon's evaluator, which `benchmarks.micro` measures the core against."""

from __future__ import annotations

import importlib.util
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Counterparts of the transformations of Table 13, and arithmetic.
SYMBOLS = (
    *("Add", "Sub", "Mul", "Div", "Square", "Sqrt", "Exp", "Logabs", "Sin", "Cos"),
    *("Constant", "Variable"),
)
MAX_LENGTH = 50


def installed() -> bool:
    """Whether pyoperon can be imported."""
    return importlib.util.find_spec("pyoperon") is not None


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees with their data."""

    #: Of pyoperon.
    trees: list[Any]
    #: A view of `table`, which has to outlive it.
    dataset: Any
    table: npt.NDArray[np.float32]
    out: npt.NDArray[np.float32]
    #: Nodes of all trees that are not leaves.
    function_nodes: int

    def evaluate(self) -> None:
        """Evaluate every tree on every row, on one thread."""
        import pyoperon

        rows = pyoperon.Range(0, len(self.table))
        pyoperon.EvaluateTrees(self.trees, self.dataset, rows, self.out, 1)


def random_trees(X: npt.NDArray[np.float64], count: int, seed: int = 0) -> Trees:
    """Return random trees of 1 to 50 nodes with random coefficients."""
    import pyoperon

    table = np.asfortranarray(X, dtype=np.float32)
    dataset = pyoperon.Dataset(table)
    problem = pyoperon.Problem(dataset)
    problem.ConfigurePrimitiveSet(sum(int(getattr(pyoperon.NodeType, s)) for s in SYMBOLS))
    symbols = problem.PrimitiveSet  # the creator refers to it without keeping it alive
    create = pyoperon.BalancedTreeCreator(symbols, [v.Hash for v in dataset.Variables], 0.0)
    initialise = pyoperon.NormalCoefficientInitializer()
    initialise.ParameterizeDistribution(0, 1)

    lengths, generator = random.Random(seed), pyoperon.RandomGenerator(seed)
    trees = [create(generator, lengths.randint(1, MAX_LENGTH), 1, MAX_LENGTH) for _ in range(count)]
    for tree in trees:
        initialise(generator, tree)
    nodes = sum(not node.IsLeaf for tree in trees for node in tree.Nodes)
    return Trees(trees, dataset, table, np.empty((count, len(X)), dtype=np.float32), nodes)
