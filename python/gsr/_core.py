"""The compiled core: the build that fits this processor, under one name."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from gsr import _cpu


def _choose() -> str:
    forced = os.environ.get("GSR_CORE", "").strip().lower()
    if forced not in ("", "baseline", "v3"):
        raise ImportError(f"GSR_CORE must be 'baseline' or 'v3', not {forced!r}")
    if forced == "v3" and not _cpu.supports_v3():
        raise ImportError("GSR_CORE=v3, but this processor does not run x86-64-v3 code")
    return forced or ("v3" if _cpu.supports_v3() else "baseline")


def _load() -> ModuleType:
    variant = _choose()
    try:
        return importlib.import_module(f"gsr._core_{variant}")
    except ModuleNotFoundError:
        if variant == "v3" and not os.environ.get("GSR_CORE"):
            return importlib.import_module("gsr._core_baseline")
        raise ImportError(
            f"this installation of gsr has no core for {variant} x86-64 processors: it was built "
            "from source on another kind of machine. Install it again here, or build it with "
            'CMAKE_ARGS="-DGSR_ALL_VARIANTS=ON".'
        ) from None


_module = _load()
globals().update({name: getattr(_module, name) for name in dir(_module) if name[0] != "_"})
