"""What this installation runs on."""

from __future__ import annotations

import platform

import gsr
from gsr import _core


def core_info() -> dict[str, str]:
    """Return which build of the core is in use, with versions.

    Returns
    -------
    dict
        ``build`` is ``v3`` (x86-64-v3: AVX2 and FMA) or ``baseline``; the environment variable
        GSR_CORE forces one. ``vector_math`` is what the element-wise functions use.
    """
    return {
        "gsr": gsr.__version__,
        "build": str(_core.variant),
        "vector_math": str(_core.instruction_set()),
        "eigen": str(_core.eigen_version),
        "compiler": str(_core.compiler),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
