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
        if variant == "baseline" or os.environ.get("GSR_CORE"):
            raise
        return importlib.import_module("gsr._core_baseline")


_module = _load()
globals().update({name: getattr(_module, name) for name in dir(_module) if name[0] != "_"})
