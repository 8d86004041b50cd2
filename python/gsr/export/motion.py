"""Source code of equations of motion: a function for each law, and one of all derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.export import source
from gsr.export.syntax import LANGUAGES, identifiers

#: Expressions that make a vector of the derivatives.
STACKED = {
    "python": "[{}]",
    "numpy": "np.array([{}])",
    "torch": "torch.stack([{}])",
    "jax": "jnp.stack([{}])",
}


@dataclass(frozen=True)
class Motion:
    """Equations of motion and the kinds of their features.

    Parameters
    ----------
    equations : mapping
        From the name of each state to the law of its derivative.
    n_states, n_inputs : int
        Features that are states, and inputs. Where there are more states than laws, the last ones
        are the derivatives of the first.
    """

    equations: Mapping[str, Equation]
    n_states: int
    n_inputs: int

    def source(self, language: str, name: str) -> str:
        """Return source code; the last function has the signature of `scipy.integrate`."""
        if language not in LANGUAGES:
            raise GSRError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
        names = [f"{name}_{each}" for each in identifiers(list(self.equations), ())]
        pairs = zip(self.equations.values(), names, strict=True)
        parts = [source(equation, language, each) for equation, each in pairs]
        in_c = language == "c"
        whole = self._in_c(name, names) if in_c else self._in_python(language, name, names)
        return "\n\n".join([*parts, whole])

    def _arguments(self) -> str:
        """Return the features as elements of vectors, and the time if it is one."""
        n_features = len(next(iter(self.equations.values())).feature_names)
        elements = [f"x[{k}]" for k in range(self.n_states)]
        elements += [f"u[{k}]" for k in range(self.n_inputs)]
        return ", ".join([*elements, *["t"] * (n_features - len(elements))])

    def _derivatives(self, names: Sequence[str]) -> list[str]:
        n_laws = len(self.equations)
        velocities = [f"x[{k}]" for k in range(n_laws, self.n_states)]
        return [*velocities, *(f"{each}({self._arguments()})" for each in names)]

    def _in_python(self, language: str, name: str, names: Sequence[str]) -> str:
        values = STACKED[language].format(", ".join(self._derivatives(names)))
        given = ", u" if self.n_inputs else ""
        told = "Return the derivatives of the states, or their next values for a map."
        return f'def {name}(t, x{given}):\n    """{told}"""\n    return {values}\n'

    def _in_c(self, name: str, names: Sequence[str]) -> str:
        lines = [f"dx[{k}] = {value};" for k, value in enumerate(self._derivatives(names))]
        unused = "" if self._arguments().endswith("t") else "(void)t;\n"
        given = "const double *u, " if self.n_inputs else ""
        body = indent(unused + "\n".join(lines), "    ")
        return f"void {name}(double t, const double *x, {given}double *dx) {{\n{body}\n}}\n"
