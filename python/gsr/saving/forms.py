# ruff: noqa: D101
"""The format of a saved model: what each part of the file holds.

A form is made of an object of the package, whose attributes have the same names, and is dumped as
plain data for JSON; or it is made of parsed JSON, which it checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    StrictBool,
    StrictStr,
    Tag,
    ValidationError,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from gsr import _core
from gsr.exceptions import GSRError
from gsr.transformation import Array

#: Strict JSON has no such numbers.
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
SHOWN = 60
LARGEST_CODE = 1000
LARGEST_POWER = 1000
MOST_PARTS = 64

F = TypeVar("F", bound="Form")


# ---- mistakes ----------------------------------------------------------------------------------

#: What must be where pydantic has found something else, by its name for the mistake.
NEEDED = {
    "bool_type": "true or false",
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "needed": "{needed}",
    "literal_error": "one of {expected}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
}


def read(form: type[F], value: Any, where: str) -> F:
    """Check parsed JSON; what is wrong raises a `GSRError` that names the place."""
    try:
        return form.model_validate(value, from_attributes=False)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], where) from None


def _refusal(error: Any, where: str) -> GSRError:
    parts = (each for each in error["loc"] if each not in ("row", "variable"))
    where += "".join(f"[{p}]" if isinstance(p, int) else f".{p[:SHOWN]}" for p in parts)
    kind, known = error["type"], error.get("ctx", {})
    if kind == "missing":
        return GSRError(f"{where} is missing")
    value = known["actual_length"] if kind.startswith("too_") else error["input"]
    needed = NEEDED.get(kind, error["msg"]).format(**known)
    if kind == "literal_error":
        needed = needed.replace("'", "").replace(" or ", ", ")
    shown = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
    return GSRError(f"{where} must be {needed}, got {shown}")


def _needed(what: str) -> PydanticCustomError:
    return PydanticCustomError("needed", "{needed}", {"needed": what})


# ---- numbers -----------------------------------------------------------------------------------


def number(value: Any) -> float:
    """Take a number; "inf", "-inf" and "nan" are numbers too."""
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise _needed('a number, "inf", "-inf" or "nan"')
    try:
        return float(value)
    except OverflowError:
        raise _needed("a number within double precision") from None


def _finite(value: Any) -> float:
    if not math.isfinite(found := number(value)):
        raise _needed("a finite number")
    return found


def _cell(value: Any) -> int | float:
    """Take an entry of a basis matrix; integers stay integers: only weights are real."""
    _finite(value)
    if not isinstance(value, int | float):
        raise _needed("a number")
    return value


def _whole(low: int = 0, high: int = 2**62) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            raise _needed(f"a whole number from {low} to {high}")
        return int(value)

    return check


def _times(value: Any) -> int | float:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return _whole(-LARGEST_POWER, LARGEST_POWER)(value) if is_whole else _finite(value)


def plain_number(value: float) -> float | str:
    """Return a number as JSON can hold it."""
    if math.isfinite(value):
        return float(value)
    return next(name for name, special in SPECIAL.items() if str(float(value)) == str(special))


def _plain_numbers(values: Array) -> Any:
    if np.isfinite(values).all():
        return values.tolist()
    return [_plain_numbers(item) if item.ndim else plain_number(float(item)) for item in values]


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _table(rows: list[list[float]]) -> Array:
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise _needed("rows of the same length")
    return np.array(rows, dtype=float).reshape(len(rows), widths.pop() if widths else 0)


def _array(values: list[float]) -> Array:
    return np.array(values, dtype=float)


Number = Annotated[float, BeforeValidator(number), PlainSerializer(plain_number)]
Finite = Annotated[float, BeforeValidator(_finite), PlainSerializer(plain_number)]
Whole = Annotated[int, BeforeValidator(_whole())]
Flag = Annotated[StrictBool, BeforeValidator(lambda v: bool(v) if isinstance(v, np.bool_) else v)]
Level = Literal["rounding", "noise", "ambiguous", "above", "unknown"]
if TYPE_CHECKING:
    Vector: TypeAlias = Array
    FiniteVector: TypeAlias = Array
    Table: TypeAlias = Array
    FiniteTable: TypeAlias = Array
else:
    _IN, _OUT = BeforeValidator(_listed), PlainSerializer(_plain_numbers)
    Vector = Annotated[list[Number], AfterValidator(_array), _IN, _OUT]
    FiniteVector = Annotated[list[Finite], AfterValidator(_array), _IN, _OUT]
    Table = Annotated[list[list[Number]], AfterValidator(_table), _IN, _OUT]
    FiniteTable = Annotated[list[list[Finite]], AfterValidator(_table), _IN, _OUT]


# ---- laws --------------------------------------------------------------------------------------


class Form(BaseModel):
    """A part of the file; keys that it does not know are left out."""

    model_config = ConfigDict(from_attributes=True, arbitrary_types_allowed=True)


_Cells = Annotated[
    list[Annotated[Any, BeforeValidator(_cell)]],
    Field(min_length=1, max_length=2 + 2 * _core.MAX_VARIABLES),
]
Matrix = Annotated[list[_Cells], Field(min_length=1, max_length=_core.MAX_ROWS)]
Place = Annotated[int, BeforeValidator(_whole(0, _core.MAX_ROWS - 1))]
Bars = list[list[Place]]


class RowForm(Form):
    code: Annotated[int, BeforeValidator(_whole(0, LARGEST_CODE))]
    argument: ArgumentForm
    reciprocal: Flag
    number: Place


class PartForm(Form):
    """A part of an argument: a row, a variable or ONE, with its multiple or its power."""

    base: Annotated[
        Annotated[RowForm, Tag("row")]
        | Annotated[int, BeforeValidator(_whole(1, _core.ONE)), Tag("variable")],
        Discriminator(lambda base: "variable" if isinstance(base, int) else "row"),
    ]
    times: Annotated[Any, BeforeValidator(_times)]


class ArgumentForm(Form):
    product: Flag = Field(validation_alias=AliasChoices("product", "is_product"))
    parts: Annotated[list[PartForm], Field(max_length=MOST_PARTS)]


class SignForm(Form):
    constant: Annotated[int, BeforeValidator(_whole(-1, 1))]
    arguments: list[ArgumentForm]


class BranchesForm(Form):
    """Which solution of g(y) = v is meant; `neighbours` is a number of `training_rows`."""

    low: Finite
    high: Finite
    home: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    sides: list[Whole] | None = None
    sign: SignForm | None = None
    neighbours: Whole | None = None


class EquationForm(Form):
    """What an equation knows beyond its law; libraries are numbers of `libraries`."""

    library: Whole
    target_library: Whole
    bars_target: Bars
    bars_features: Bars
    level: Level
    branches: BranchesForm


class LawForm(Form):
    psi: Annotated[list[Matrix], Field(min_length=1)]
    beta: FiniteVector
    phi: list[Matrix]
    alpha: FiniteVector
    complexity: Whole
    rmse: Number
    transformed_error: Number
    exact: Flag
    bits: Number


class PolesForm(Form):
    verdict: Literal["safe", "unsafe", "unknown"]
    reason: StrictStr
    where: Vector | None = None


class NoiseForm(Form):
    kind: Literal["constant", "relative", "poisson", "power", "mixed", "given", "effective"]
    floor: Finite
    power: Finite | None = None
    precision: Finite
    knots: Annotated[list[FiniteVector], Field(min_length=2, max_length=2)] | None = None
    absolute: Flag


class UncertaintyForm(Form):
    names: list[StrictStr]
    values: Vector
    covariance: Table
    degrees_of_freedom: Whole
    sigma: Number
    noise: NoiseForm


class RoundedForm(Form):
    text: StrictStr | None = None
    texts: list[StrictStr | None]
    bits: Number
    law: LawForm
    equation: EquationForm


class GroupsForm(Form):
    """Constants of each group; see `gsr.groups.law.GroupTable`."""

    column: StrictStr
    labels: Annotated[list[StrictStr], Field(min_length=1)]
    law: LawForm
    constants: FiniteTable
    deviations: Table
    local: list[Flag]
    descriptions: list[StrictStr]
    letters: list[StrictStr]
    chances: Vector


class EntryForm(Form):
    text: StrictStr | None = None
    complexity: Whole
    rmse: Number
    exact: Flag
    weighted: Flag | None = None
    n_constants: Whole
    bits: Number
    held_out: Number | None = None
    left_out: Number | None = None
    length: Number | None = None
    level: Level
    poles: PolesForm
    law: LawForm
    equation: EquationForm
    uncertainty: UncertaintyForm | None = None
    rounded: RoundedForm | None = None
    groups: GroupsForm | None = None

    @model_serializer(mode="wrap")
    def _plain(self, plain: Callable[[EntryForm], dict[str, Any]]) -> dict[str, Any]:
        """Leave out what laws without groups do not have."""
        return {k: v for k, v in plain(self).items() if k != "groups" or v is not None}


# ---- models ------------------------------------------------------------------------------------


class HistoryForm(Form):
    """How far the search was, a column for each attribute of `Progress`."""

    seconds: list[Number]
    max_time: list[Number | None]
    generation: list[Whole]
    evaluations: list[Whole]
    rmse: list[Number]
    status: list[StrictStr]


class TargetForm(Form):
    parameters: dict[str, Any]
    not_stored: dict[str, StrictStr]
    features: Annotated[list[StrictStr], Field(min_length=1)] | None = None
    named: Flag
    target: StrictStr | None = None
    attributes: dict[str, Any]
    best_index: Whole | None = None
    front: list[EntryForm]
    others: list[EntryForm] | None = None
    history: HistoryForm


class NamedForm(Form):
    name: StrictStr
    model: TargetForm


class MotionForm(Form):
    """What `GSRDynamics` knows beside the laws of its states."""

    n_states_: Annotated[int, BeforeValidator(_whole(1))]
    n_inputs_: Whole
    largest_: Number
    feature_names_: Annotated[list[StrictStr], Field(min_length=1)]
    noise_: dict[str, Number]
    simulation_error_: dict[str, Number]
    standard_errors_: dict[str, Vector]


class ModelForm(TargetForm):
    targets: list[NamedForm]
    motion: MotionForm | None = None


class AttributesForm(Form):
    """What fitting leaves in an estimator; others may be any plain value."""

    status_: StrictStr = ""
    fit_time_: Number = 0.0
    n_generations_: Whole = 0
    n_evaluations_: Whole = 0
    n_unconverged_: Whole = 0
    n_features_in_: Annotated[int, BeforeValidator(_whole(1))] = 1
    n_rows_: Annotated[int, BeforeValidator(_whole(1))] = 1
    criterion_: StrictStr = ""
    criterion_value_: Number | None = None
    support_: Number = 1.0


class NumberForm(Form):
    number: Number


class LibraryForm(Form):
    name: StrictStr | None = None
    entries: Annotated[list[StrictStr], Field(min_length=1)]


class RowsForm(Form):
    """Training rows that laws need to choose among solutions."""

    scale: FiniteVector
    X: FiniteTable
    y: FiniteVector


class DocumentForm(Form):
    transformations: dict[str, dict[str, Any]]
    libraries: list[LibraryForm]
    training_rows: list[RowsForm]
    model: ModelForm
