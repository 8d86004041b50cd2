"""Try an installed wheel: does the core load, and does it find a law?

Run as a script, with nothing but the wheel and what it requires.
"""

from __future__ import annotations

import importlib.resources

import numpy as np

import gsr


def main() -> None:
    """Raise unless everything is there."""
    suites = ("paper.csv", "published.toml")
    for name in (
        "py.typed",
        "_core.pyi",
        "data/planets.csv",
        "report/template/page.html",
        "export/helpers/numpy.txt",
        *(f"benchmarks/suites/data/{suite}" for suite in suites),
    ):
        if not importlib.resources.files("gsr").joinpath(name).is_file():
            raise SystemExit(f"{name} is missing in the wheel")
    X = np.random.default_rng(0).uniform(1, 2, (40, 2))
    y = np.sqrt(X[:, 0] ** 3 + 2 * X[:, 1] + 1)
    model = gsr.GSRRegressor(random_state=0, max_time=60).fit(X, y)
    if model.status_ != "exact":
        raise SystemExit(f"the law was not found: {model.equation_} ({model.status_})")
    print(gsr.core_info(), model.equation_)


if __name__ == "__main__":
    main()
