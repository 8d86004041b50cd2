"""Printing, files, source code and plots of fitted equations of motion."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from gsr.dynamics.trajectories import Trajectory
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.files import write_whole
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.table import EquationTable


class MotionPresentation:
    """Methods of `GSRDynamics` that read its laws."""

    models_: dict[str, GSRRegressor]
    feature_names_: list[str]
    n_states_: int
    n_inputs_: int
    order: int
    noise_: dict[str, float]
    simulation_error_: dict[str, float]
    standard_errors_: dict[str, Array]
    trajectories_: Sequence[Trajectory]

    @property
    def states_(self) -> list[str]:
        """Names of the states."""
        return self.feature_names_[: self.n_states_]

    @property
    def inputs_(self) -> list[str]:
        """Names of the inputs."""
        first = self.order * self.n_states_
        return self.feature_names_[first : first + self.n_inputs_]

    @property
    def equations_(self) -> dict[str, EquationTable]:
        """The front of each state as a table."""
        check_is_fitted(self, "models_")
        return {name: model.equations_ for name, model in self.models_.items()}

    def equations(self) -> list[str]:
        """Return the chosen law of each state as text."""
        check_is_fitted(self, "models_")
        return [str(model.equation_) for model in self.models_.values()]

    def __str__(self) -> str:
        return "\n".join(self.equations()) if hasattr(self, "models_") else repr(self)

    def print(self) -> None:
        """Print the chosen laws."""
        print("\n".join(self.equations()))

    def sympy(self) -> list[Any]:
        """Return the chosen laws as SymPy equations."""
        check_is_fitted(self, "models_")
        return [model.sympy() for model in self.models_.values()]

    def latex(self) -> list[str]:
        """Return the chosen laws as LaTeX."""
        check_is_fitted(self, "models_")
        return [model.latex() for model in self.models_.values()]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data, for JSON."""
        return {
            "features": list(self.feature_names_),
            "equations": dict(zip(self.models_, self.equations(), strict=True)),
            "noise": dict(self.noise_),
            "simulation_error": dict(self.simulation_error_),
            "standard_errors": {name: e.tolist() for name, e in self.standard_errors_.items()},
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a readable file; `gsr.load` restores it.

        Parameters
        ----------
        path : str or path
            The JSON file. An existing file is replaced atomically.
        """
        from gsr import saving

        check_is_fitted(self, "models_")
        saving.save(self, path)

    def export(
        self, language: str, path: str | PathLike[str] | None = None, *, name: str = "motion"
    ) -> str:
        """Return source code of the right-hand sides that does not need gsr.

        Parameters
        ----------
        language : {"python", "numpy", "c", "torch", "jax"}
            The language.
        path : str or path, optional
            A file to which the source is also written.
        name : str
            Name of the function of time, states and inputs that returns all derivatives.

        Returns
        -------
        str
            The source.
        """
        from gsr.export.motion import Motion

        check_is_fitted(self, "models_")
        laws = {state: model.equation_ for state, model in self.models_.items()}
        motion = Motion(laws, self.order * self.n_states_, self.n_inputs_)
        source = motion.source(language, name)
        if path is not None:
            write_whole(source, path)
        return source

    def plot(self, kind: str = "series") -> Any:
        """Draw the measurements and the simulation.

        Parameters
        ----------
        kind : {"series", "phase"}
            Series over time, or the first two states against each other; with a single state,
            its derivative against the state.

        Returns
        -------
        matplotlib Figure
        """
        from gsr.plotting import motion

        check_is_fitted(self, "models_")
        if not getattr(self, "trajectories_", None):
            raise GSRError("the model was loaded without its series, so there is nothing to draw")
        return motion.plot(self, self.trajectories_, kind)
