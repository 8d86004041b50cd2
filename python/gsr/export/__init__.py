"""Source code of a law that needs no gsr: Python, NumPy, C, PyTorch and JAX."""

from __future__ import annotations

import re

import gsr
from gsr.equation import Equation
from gsr.export.law import Body, Solver, Terms, function, used_variables
from gsr.export.syntax import (
    LANGUAGES,
    Dialect,
    Expression,
    check_function_name,
    dialect,
    helper_texts,
    helpers,
    identifiers,
    shown,
    solver,
)
from gsr.groups.law import GroupedEquation

__all__ = ["LANGUAGES", "source"]

IMPORTS = {
    "python": "import math",
    "numpy": "import math\n\nimport numpy as np",
    "c": "#include <math.h>",
    "torch": "import math\n\nimport torch",
    "jax": "import math\n\nimport jax\nimport jax.numpy as jnp",
}
TAKES = {
    "python": "numbers",
    "numpy": "arrays that broadcast, or numbers",
    "c": "numbers",
    "torch": "tensors that broadcast; the result has derivatives",
    "jax": "arrays that broadcast; the function can be compiled and differentiated",
}


def source(equation: Equation, language: str, name: str = "law") -> str:
    """Return source code that predicts y from the features."""
    prefix = f"{name}_" if language == "c" else f"_{name}_"
    written = dialect(language, prefix)
    check_function_name(name, written.words)
    words = written.words | {name, *(prefix + helper for helper in helper_texts(language))}
    arguments = identifiers(equation.feature_names, words)
    body = Body(written, prefix, {*words, *arguments})
    variables = [Expression(argument) for argument in arguments]
    _convert(body, arguments, used_variables(equation))
    solving = Solver(equation, body, variables)
    result = _solved(equation, body, variables, solving)
    parts = [function(written, name, arguments, body.lines, result, is_helper=False)]
    if language == "numpy":
        parts[0] = f'@np.errstate(all="ignore")\n{parts[0]}'
    if solving.is_numeric:
        parts = [*solving.left_side(), solver(language, prefix), *parts]
    parts = [*body.functions.values(), *parts]
    parts = [*helpers(language, prefix, "\n".join(parts)), *parts]
    head = _header(equation, written, name, arguments, solving)
    gap = "\n\n" if language == "c" else "\n\n\n"
    code = gap.join(parts)
    return f"{head}\n{_imports(language, code)}\n{gap[1:]}{code}\n"


def _imports(language: str, code: str) -> str:
    """Return the imports that the code needs."""
    lines = IMPORTS[language]
    for module in ("math", "jax"):
        if language != "python" and not re.search(rf"\b{module}\.", code):
            lines = re.sub(rf"^import {module}\n+", "", lines, flags=re.MULTILINE)
    return lines


def _convert(body: Body, arguments: list[str], used: set[int]) -> None:
    """Write what makes arrays of the arguments, and says which are not used."""
    converted = {
        "python": "{0} = float({0})",
        "numpy": "{0} = np.asarray({0}, dtype=float)",
        "torch": f"{{0}} = {body.prefix}tensor({{0}})",
        "jax": "{0} = jnp.asarray({0}, dtype=float)",
    }
    language = body.dialect.language
    for number, argument in enumerate(arguments, start=1):
        if language in converted and not (body.dialect.scalar and number not in used):
            body.lines.append(converted[language].format(argument))
        elif language == "c" and number not in used:
            body.lines.append(f"(void){argument};")


def _solved(
    equation: Equation, body: Body, variables: list[Expression], solving: Solver
) -> Expression:
    """Write v = f(x) and y, and return the result."""
    written = body.dialect
    right = Terms(body, equation.library, variables).side(equation.phi, equation.alpha)
    v = body.let(right, "v")
    if not written.scalar and len(used_variables(equation)) < len(variables):
        _broadcast(body, v, variables)
    y = body.let(solving.y(v), "y")
    finite = written.all_of(*(written.call("isfinite", each).text for each in (v, y)))
    return written.where(finite, y, Expression(written.nan))


def _broadcast(body: Body, v: Expression, variables: list[Expression]) -> None:
    """Give v the shape of all features, also of those that the law does not use."""
    module = body.dialect.nan.partition(".")[0]
    shapes = ", ".join(f"{each.text}.shape" for each in variables)
    zeros = f"{module}.zeros({module}.broadcast_shapes({shapes}))"
    if module == "torch":
        zeros = (
            f"torch.zeros(torch.broadcast_shapes({shapes}),"
            f" dtype={variables[0].text}.dtype, device={variables[0].text}.device)"
        )
    body.lines.append(f"{v.text} = {v.text} + {zeros}")


def _header(
    equation: Equation, written: Dialect, name: str, arguments: list[str], solving: Solver
) -> str:
    target = shown(equation.target_name)
    lines = [
        f"{target} from the law",
        f"    {shown(str(equation))}",
        f"which was found in data and written as source code by gsr {gsr.__version__}.",
        "",
        f"{name} takes {TAKES[written.language]}.",
        "Arguments, in order:",
        *(f"    {a}: {shown(n)!r}" for a, n in zip(arguments, equation.feature_names, strict=True)),
        f"Result: {target!r}, NaN where the law has no finite value.",
    ]
    if isinstance(equation, GroupedEquation) and equation.table.letters:
        table = map(shown, str(equation.table).split("\n"))
        lines += ["", "The last arguments are constants of a group:", *(f"    {x}" for x in table)]
    if solving.is_numeric:
        lines += [
            f"The law has no closed form: {target!r} is found by bisection, where the left side is",
            "monotone around the training data.",
        ]
    if solving.is_open:
        lines += [
            "Where several values solve the law and nothing tells which is meant, it is NaN too;",
            "the predictions of gsr ask the nearest training row there.",
        ]
    return "\n".join(f"{written.comment} {_safe_line(line)}".rstrip() for line in lines) + "\n"


def _safe_line(line: str) -> str:
    """Return a line for a comment that does not continue on the next line."""
    return re.sub(r"(\\|\?\?/)\s*$", r"\1 .", line)
