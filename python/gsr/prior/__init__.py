"""Knowledge before the search: rules in the form that the core takes; units, formulas, shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gsr import _core
from gsr.exceptions import GSRError, about, suggestion
from gsr.library import Library
from gsr.transformation import BUILTINS

Names = Mapping[str, Sequence[str]]
EVERY = "*"
#: Powers that products hold without a transformation of their own.
POWERS = {"inverse": "division", "square": "squares", "cube": "cubes"}


def forbidden(
    allow: Names | None,
    forbid: Names | None,
    library: Library,
    feature_names: Sequence[str],
    target_name: str,
) -> dict[str, set[str]]:
    """Return the names of the transformations that each feature and the target must not stand in.

    `allow` and `forbid` are those of the estimator. What is allowed for one variable replaces what
    is allowed for all.
    """
    names = [*feature_names, target_name]
    known = {*BUILTINS, *library.names}
    for label, given in (("allow", allow), ("forbid", forbid)):
        with about(label):
            _check(label, given, names, known)
    found = {}
    for name in names:
        of_all = EVERY if name != target_name else None
        allowed = _of(allow, name)
        allowed = _of(allow, of_all) if allowed is None else allowed
        out = set() if allowed is None else known - {*allowed, "one", "identity"}
        found[name] = out | {*(_of(forbid, name) or ()), *(_of(forbid, of_all) or ())}
    return found


def _of(given: Names | None, name: str | None) -> Sequence[str] | None:
    return None if given is None or name is None else given.get(name)


def _check(label: str, given: Names | None, names: Sequence[str], known: set[str]) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise GSRError(f"{label} must be a mapping such as {{'x1': ['sin']}}, got {given!r}")
    for name, listed in given.items():
        if name != EVERY and name not in names:
            hint = suggestion(name, names, otherwise_list=True)
            raise GSRError(f"{label} has {name!r}, which is no variable{hint}")
        if isinstance(listed, str):
            raise GSRError(f"{label}[{name!r}] must be a list of names, got {listed!r}")
        for each in listed:
            if each not in known:
                raise GSRError(
                    f"{label}[{name!r}] has {each!r}, which is no transformation"
                    f"{suggestion(each, sorted(known), otherwise_list=True)}"
                )


def _forbidden(names: set[str], library: Library) -> dict[str, Any]:
    powers = {flag: power in names for power, flag in POWERS.items()}
    return {"codes": [each in names for each in library.names], **powers}


def without_targets(parameters: Mapping[str, Any], others: set[str]) -> dict[str, Any]:
    """Return the parameters that change if what is known about other targets is left out."""
    known: dict[str, Any] = {
        name: {key: each for key, each in value.items() if key not in others}
        for name, value in parameters.items()
        if isinstance(value, Mapping) and not others.isdisjoint(value)
    }
    start = parameters.get("start")
    formulas = [start] if isinstance(start, str) else start
    if isinstance(formulas, Sequence):
        kept = [each for each in formulas if str(each).partition("=")[0].strip() not in others]
        if len(kept) < len(formulas):
            known["start"] = kept or None
    return known


def without(library: Library, names: set[str]) -> Library:
    """Return the library without some transformations."""
    pairs = list(zip(library.entries, library.names, strict=True))
    kept = [entry for entry, name in pairs if name not in names]
    if len(kept) == len(library):
        return library
    if [name for _, name in pairs if name not in names] in ([], ["one"]):
        raise GSRError("allow and forbid leave no transformation of the target", "allow", "forbid")
    return Library(kept, name=library.name)


def core_constraints(
    rules: Mapping[str, set[str]],
    library: Library,
    feature_names: Sequence[str],
    *,
    target: tuple[str, Library],
    units: tuple[Any, Any] | None,
    constants_with_units: bool,
    required: Sequence[Any],
    limits: Mapping[str, int],
    accept: Callable[[Any], bool] | None,
) -> Any:
    """Return the core's constraints."""
    constraints = _core.Constraints()
    d = len(feature_names)
    for k, name in enumerate(feature_names):
        if rules[name]:
            constraints.forbid(d, k, **_forbidden(rules[name], library))
    if rules[target[0]]:
        constraints.forbid_target(**_forbidden(rules[target[0]], target[1]))
    if units is not None:
        of_features, of_target = units
        constraints.set_units(of_features.tolist(), of_target.tolist(), constants_with_units)
    for matrix in required:
        constraints.require(matrix, library.table, d)
    for name, limit in limits.items():
        setattr(constraints, name, limit)
    constraints.accept = accept
    return constraints
