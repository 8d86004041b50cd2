"""SymPy, which takes seconds to load, loaded when it is first used."""

from __future__ import annotations

import importlib
from typing import Any


class _LazyModule:
    """A module whose attributes are looked up when they are needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of every object
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


sympy: Any = _LazyModule("sympy")
