"""The same conditions for all tests, whatever the machine and the shell."""

import signal

from hypothesis import HealthCheck, settings

# A shell that starts tests in the background lets them ignore Ctrl-C, and tests of it would wait.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run, however slow the machine.

settings.register_profile(
    "gsr",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("gsr")
