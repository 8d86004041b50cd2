"""Finds laws in data: generalized symbolic regression, g(y) = f(x)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gsr.classifier import GSRClassifier
    from gsr.dynamics.estimator import GSRDynamics
    from gsr.equation import Equation
    from gsr.estimator import GSRRegressor
    from gsr.exceptions import (
        DomainWarning,
        GSRError,
        InterruptedWarning,
        MissingWarning,
        PredictionWarning,
    )
    from gsr.forms.estimator import GSRForm
    from gsr.implicit.estimator import GSRImplicit
    from gsr.implicit.law import ImplicitLaw
    from gsr.info import core_info
    from gsr.library import Library, Transformation
    from gsr.prior.fitted_formula import FittedFormula
    from gsr.prior.written_formula import fit_formula
    from gsr.saving import load
    from gsr.transformer import GSRTransformer

#: Loaded when first used, so that `import gsr` stays light.
_HOMES = {
    "DomainWarning": "exceptions",
    "Equation": "equation",
    "FittedFormula": "prior.fitted_formula",
    "GSRClassifier": "classifier",
    "GSRDynamics": "dynamics.estimator",
    "GSRError": "exceptions",
    "GSRForm": "forms.estimator",
    "GSRImplicit": "implicit.estimator",
    "GSRRegressor": "estimator",
    "GSRTransformer": "transformer",
    "ImplicitLaw": "implicit.law",
    "InterruptedWarning": "exceptions",
    "Library": "library",
    "MissingWarning": "exceptions",
    "PredictionWarning": "exceptions",
    "Transformation": "library",
    "core_info": "info",
    "fit_formula": "prior.written_formula",
    "load": "saving",
}

__all__ = [
    "DomainWarning",
    "Equation",
    "FittedFormula",
    "GSRClassifier",
    "GSRDynamics",
    "GSRError",
    "GSRForm",
    "GSRImplicit",
    "GSRRegressor",
    "GSRTransformer",
    "ImplicitLaw",
    "InterruptedWarning",
    "Library",
    "MissingWarning",
    "PredictionWarning",
    "Transformation",
    "__version__",
    "core_info",
    "fit_formula",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gsr' has no attribute {name!r}")
    return getattr(importlib.import_module(f"gsr.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
