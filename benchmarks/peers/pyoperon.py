"""pyoperon's search, for `python -m benchmarks.against`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.formula import Formula
from benchmarks.peers.oracle import Found, Oracle

Array = npt.NDArray[np.float64]

SYMBOLS = (
    *("Add", "Sub", "Mul", "Div", "Sin", "Cos", "Exp", "Log", "Square", "Sqrt"),
    *("Constant", "Variable"),
)
POPULATION = 1000
MAX_LENGTH, MAX_DEPTH = 50, 10
LOCAL_ITERATIONS = 5
WITHOUT_LIMIT = 10**9
#: Mean square error, relative to the variance of y, from which on a law is looked at again in
#: double precision. The search is in single precision.
WORTH_A_LOOK = 1e-10


def search(X: Array, y: Array, seed: int, oracle: Oracle) -> None:
    """Let pyoperon search on one thread until the oracle is satisfied or the time is up.

    Parameters
    ----------
    X, y : arrays
        Training rows.
    seed : int
        Of pyoperon's random generator.
    oracle : Oracle
        Sees the best tree of every generation, with its constants fitted in double precision.
    """
    import pyoperon

    parts = _parts(X, y)
    algorithm = _algorithm(parts, seed)
    seen: set[str] = set()

    def look(worth: float) -> None:
        for text in (_text(each, parts) for each in algorithm.BestFront if each[0] <= worth):
            if text not in seen:
                seen.add(text)
                oracle.judge(Formula(text).fitted(X, y)(oracle.X), text)

    def after_generation() -> None:
        with oracle.looking():
            look(WORTH_A_LOOK)
        if oracle.done:
            raise Found

    with suppress(Found):
        algorithm.Run(pyoperon.RandomGenerator(seed + 1), after_generation, 1, False)
    with oracle.looking():
        look(min(each[0] for each in algorithm.BestFront))


def _text(individual: Any, parts: _Parts) -> str:
    import pyoperon

    return str(pyoperon.InfixFormatter.Format(individual.Genotype, parts.names, 12))


@dataclass(frozen=True, eq=False)
class _Parts:
    """What pyoperon's objects refer to without keeping it alive."""

    problem: Any
    initialise_tree: Any
    initialise_coefficients: Any
    generator: Any
    reinserter: Any
    sorter: Any
    names: dict[int, str]
    others: tuple[Any, ...]


def _parts(X: Array, y: Array) -> _Parts:
    import pyoperon as op

    table = np.asfortranarray(np.column_stack([X, y]), dtype=np.float32)
    dataset = op.Dataset(table)
    variables = sorted(dataset.Variables, key=lambda each: each.Index)
    inputs = [each.Hash for each in variables[:-1]]
    problem = _problem(dataset, variables[-1], inputs)
    symbols = problem.PrimitiveSet

    create = op.BalancedTreeCreator(symbols, inputs, 0.0)
    trees = op.UniformLengthTreeInitializer(create)
    trees.ParameterizeDistribution(2, 10)
    trees.MinDepth, trees.MaxDepth = 1, 1000
    coefficients = op.NormalCoefficientInitializer()
    coefficients.ParameterizeDistribution(0, 1)

    compare = op.CrowdedComparison()
    select = op.TournamentSelector(compare)
    select.TournamentSize = 5
    evaluate = _evaluator(problem)
    cross = op.SubtreeCrossover(0.9, MAX_DEPTH, MAX_LENGTH)
    mutate, mutations = _mutation(symbols, inputs, create, coefficients)
    local = op.LMOptimizer(evaluate[1], problem, LOCAL_ITERATIONS, 0)
    refine = op.CoefficientOptimizer(local)
    generator = op.BasicOffspringGenerator(evaluate[0], cross, mutate, select, select, refine)
    reinsert, sort = op.KeepBestReinserter(compare), op.RankSorter()
    names = {each.Hash: each.Name for each in variables}
    others = (table, dataset, symbols, create, compare, select, evaluate, cross, mutate, mutations)
    kept = (*others, local, refine)
    return _Parts(problem, trees, coefficients, generator, reinsert, sort, names, kept)


def _problem(dataset: Any, target: Any, inputs: list[int]) -> Any:
    import pyoperon as op

    problem = op.Problem(dataset)
    problem.TrainingRange = op.Range(0, dataset.Rows)
    problem.TestRange = op.Range(dataset.Rows - 1, dataset.Rows)
    problem.Target = target
    problem.InputHashes = inputs
    problem.ConfigurePrimitiveSet(sum(int(getattr(op.NodeType, each)) for each in SYMBOLS))
    return problem


def _evaluator(problem: Any) -> tuple[Any, ...]:
    """Return the evaluator of error and length, and what it refers to."""
    import pyoperon as op

    table = op.DispatchTable()
    error = op.Evaluator(problem, table, op.NMSE(), True)
    length = op.LengthEvaluator(problem)
    both = op.MultiEvaluator(problem)
    for each in (error, length):
        each.Budget = WITHOUT_LIMIT
        both.Add(each)
    both.Budget = WITHOUT_LIMIT
    return both, table, error, length


def _mutation(symbols: Any, inputs: list[int], create: Any, coefficients: Any) -> tuple[Any, Any]:
    import pyoperon as op

    limits = (create, coefficients, MAX_DEPTH, MAX_LENGTH)
    point, points = op.NormalOnePointMutation(), op.NormalMultiPointMutation()
    for each in (point, points):
        each.ParameterizeDistribution(0, 1)
    constants = op.DiscretePointMutation()
    for value in op.Math.Constants:
        constants.Add(value, 1.0)
    kinds = (
        point,
        points,
        constants,
        op.ChangeVariableMutation(inputs),
        op.ChangeFunctionMutation(symbols),
        op.InsertSubtreeMutation(*limits),
        op.ReplaceSubtreeMutation(*limits),
        op.RemoveSubtreeMutation(symbols),
    )
    mutate = op.MultiMutation()
    for each in kinds:
        mutate.Add(each, 1.0)
    return mutate, kinds


def _algorithm(parts: _Parts, seed: int) -> Any:
    import pyoperon as op

    configuration = op.GeneticAlgorithmConfig(
        generations=WITHOUT_LIMIT,
        max_evaluations=WITHOUT_LIMIT,
        local_iterations=LOCAL_ITERATIONS,
        population_size=POPULATION,
        pool_size=POPULATION,
        p_crossover=1.0,
        p_mutation=0.25,
        p_local=1.0,
        p_lamarck=1.0,
        epsilon=0.0,
        seed=seed + 1,
        max_time=WITHOUT_LIMIT,
    )
    return op.NSGA2Algorithm(
        configuration,
        parts.problem,
        parts.initialise_tree,
        parts.initialise_coefficients,
        parts.generator,
        parts.reinserter,
        parts.sorter,
    )
