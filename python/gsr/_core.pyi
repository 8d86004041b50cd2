# What the compiled cores (_core_baseline, _core_v3) export; _core.py chooses one of them.
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Function = Callable[[_Array], Any]
_Matrix = Sequence[Sequence[int | float]]
_AdmmStatus = Literal["converged", "max_iterations", "degenerate"]
_SearchStatus = Literal["running", "exact", "threshold", "max_generations", "max_evals"]

variant: str
compiler: str
eigen_version: str
MAX_ROWS: int
ONE: int
MAX_VARIABLES: int

def instruction_set() -> str: ...

# ---- library ---------------------------------------------------------------------------------

class Transformation:
    @staticmethod
    def custom(
        name: str,
        text: str,
        sympy: str,
        value: _Function,
        derivative: _Function | None = None,
        inverse: _Function | None = None,
        inverse_sympy: str = "",
        cost: int = 1,
    ) -> Transformation: ...
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def sympy(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def inverse_sympy(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def cost(self) -> int: ...
    @property
    def power(self) -> float: ...
    @property
    def mirror(self) -> float: ...
    @property
    def period(self) -> float: ...
    @property
    def family(self) -> Literal["constant", "polynomial", "trigonometric", "other"]: ...
    @property
    def has_derivative(self) -> bool: ...
    @property
    def has_inverse(self) -> bool: ...
    def value(self, x: npt.ArrayLike, /) -> _Array: ...
    def derivative(self, x: npt.ArrayLike, /) -> _Array: ...
    def inverse(self, v: npt.ArrayLike, /) -> _Array: ...

def builtin_transformations() -> list[Transformation]: ...

class Table:
    def __init__(self, entries: Sequence[Transformation]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, code: int, /) -> Transformation: ...
    def polynomial(self) -> list[int]: ...
    def trigonometric(self) -> list[int]: ...

# ---- encoding --------------------------------------------------------------------------------

def evaluate_bases(table: Table, matrices: Sequence[_Matrix], x: npt.ArrayLike) -> _Array: ...
def canonical(table: Table, matrix: _Matrix, n_features: int) -> list[list[Any]]: ...
def complexity(table: Table, matrix: _Matrix, n_features: int) -> int: ...

# ---- ADMM ------------------------------------------------------------------------------------

class AdmmSettings:
    lam: float
    rho: float
    delta: float
    max_iterations: int
    relaxation: float
    @staticmethod
    def printed() -> AdmmSettings: ...
    @staticmethod
    def well_posed() -> AdmmSettings: ...

class _Infos(TypedDict):
    status: list[_AdmmStatus]
    iterations: list[int]
    change: list[float]

class _Printed(_Infos):
    w: _Array
    z: _Array
    u: _Array

class _WellPosed(_Infos):
    alpha: _Array
    beta: _Array
    z: _Array
    u: _Array
    error: list[float]

# Batches are (problems, columns, rows).
def admm_printed(
    x: npt.ArrayLike, y: npt.ArrayLike, settings: AdmmSettings, start: npt.ArrayLike | None = None
) -> _Printed: ...
def admm_well_posed(
    x: npt.ArrayLike, y: npt.ArrayLike, settings: AdmmSettings, start: npt.ArrayLike | None = None
) -> _WellPosed: ...

# ---- evolution -------------------------------------------------------------------------------

class SolverKind:
    well_posed: ClassVar[SolverKind]
    printed: ClassVar[SolverKind]
    def __init__(self, value: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

class Settings:
    population_size: int
    n_survivors: int
    p_crossover: float
    p_mutation: float
    n_mutated: int
    n_phi: int
    n_psi: int
    division: bool
    differences: bool
    one: bool
    constants: bool
    depth: int
    guided: bool
    min_factors: int
    max_factors: int
    n_target_factors: int
    min_multiplicity: int
    max_multiplicity: int
    transform_target: bool
    solver: SolverKind
    admm: AdmmSettings
    epsilon: float
    relax_factor: float
    relax_interval: int
    max_generations: int
    max_evaluations: int
    sublibraries: bool
    cycle_full: int
    cycle_polynomial: int
    cycle_trigonometric: int
    late_after: int
    late_stage: int
    target_stage: int
    seed: int
    plain_stages_done: int
    scan_seed: int
    scan_factor: float
    share: int
    n_shares: int
    n_threads: int
    max_bytes: int
    def __init__(self) -> None: ...

class Law:
    @property
    def phi(self) -> list[list[list[int]]]: ...
    @property
    def psi(self) -> list[list[list[int]]]: ...
    @property
    def alpha(self) -> list[float]: ...
    @property
    def beta(self) -> list[float]: ...
    @property
    def complexity(self) -> int: ...
    @property
    def transformed_error(self) -> float: ...
    @property
    def rmse(self) -> float: ...
    @property
    def exact(self) -> bool: ...
    @property
    def bits(self) -> float: ...

MAX_UNITS: int

class Constraints:
    max_terms: int
    max_complexity: int
    accept: Callable[[Law], bool] | None
    def __init__(self) -> None: ...
    def forbid(
        self,
        n_features: int,
        feature: int,
        codes: Sequence[bool],
        division: bool,
        squares: bool,
        cubes: bool,
    ) -> None: ...
    def set_units(
        self,
        features: Sequence[Sequence[float]],
        target: Sequence[float],
        constants_carry_units: bool,
    ) -> None: ...
    def require(self, matrix: _Matrix, table: Table, n_features: int) -> None: ...
    def forbid_target(
        self, codes: Sequence[bool], division: bool, squares: bool, cubes: bool
    ) -> None: ...
    def admits(self, matrix: _Matrix, table: Table, n_features: int) -> bool: ...
    def admits_law(
        self,
        psi: Sequence[_Matrix],
        phi: Sequence[_Matrix],
        complexity: int,
        table: Table,
        target_table: Table,
        n_features: int,
    ) -> bool: ...

class Evolution:
    def start_from(self, psi: Sequence[_Matrix], phi: Sequence[_Matrix]) -> bool: ...
    def extend(self, generations: int, evaluations: int) -> None: ...
    def run(self, seconds: float, work: float = ...) -> _SearchStatus: ...
    def interrupt(self) -> None: ...
    @property
    def work(self) -> float: ...
    @property
    def pursuits_done(self) -> bool: ...
    @property
    def stage(self) -> int: ...
    @property
    def scanned_features(self) -> list[int]: ...
    def front(self) -> list[Law]: ...
    def runners_up(self) -> list[Law]: ...
    @property
    def generation(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def status(self) -> _SearchStatus: ...
    @property
    def best_rmse(self) -> float: ...
    @property
    def n_unconverged(self) -> int: ...

class DamagedBytes(ValueError): ...  # noqa: N818

class EmigrantSelection:
    best: ClassVar[EmigrantSelection]
    random: ClassVar[EmigrantSelection]
    def __init__(self, value: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

class Replacement:
    fair: ClassVar[Replacement]
    worst: ClassVar[Replacement]
    random: ClassVar[Replacement]
    def __init__(self, value: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

class Island(Evolution):
    def __init__(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        table: Table,
        target_table: Table,
        settings: Settings,
        constraints: Constraints = ...,
        weights: npt.ArrayLike | None = None,
    ) -> None: ...
    def emigrants(self, n: int, selection: EmigrantSelection, epoch: int) -> bytes: ...
    def accept(
        self, migrants: bytes, replacement: Replacement, epoch: int, knowledge: bool = True
    ) -> int: ...
    def save(self) -> bytes: ...
    def load(self, saved: bytes) -> None: ...
    def absorb(self, saved: bytes) -> None: ...
    def laws(self) -> bytes: ...
    def add_laws(self, laws: bytes) -> None: ...

class LawFitter:
    def __init__(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        table: Table,
        target_table: Table,
        weights: npt.ArrayLike | None = None,
    ) -> None: ...
    def refine(
        self,
        psi: Sequence[_Matrix],
        phi: Sequence[_Matrix],
        alpha: Sequence[float],
        steps: int,
        free: Sequence[bool] = ...,
    ) -> tuple[list[float], float] | None: ...
    def linearise(
        self, psi: Sequence[_Matrix], phi: Sequence[_Matrix], alpha: Sequence[float]
    ) -> _Array | None: ...

# ---- timings ---------------------------------------------------------------------------------

def time_transformation(
    transformation: Transformation, x: npt.ArrayLike, repeats: int
) -> float: ...
def time_bases(x: npt.ArrayLike, table: Table, count: int, seed: int) -> tuple[float, int, int]: ...
def time_individuals(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    table: Table,
    target_table: Table,
    settings: Settings,
    count: int,
) -> float: ...
