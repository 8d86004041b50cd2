"""One profile for all property tests: the same examples on every run, however slow the machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gsr",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("gsr")
