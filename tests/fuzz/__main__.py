"""Fuzzes a target with coverage by atheris: `python tests/fuzz tables --seconds 3600`.

What breaks a target is written to a file ``crash-...``; once mended, it belongs into the corpus.
"""

import argparse
import sys

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["gsr", "tomllib"]):
    import targets

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("target", choices=targets.TARGETS)
parser.add_argument("--seconds", type=int, default=120)
parser.add_argument("--corpus", default="", help="folder that keeps what is found on the way")
asked = parser.parse_args()
folders = [*filter(None, [asked.corpus]), str(targets.CORPUS / asked.target)]
if not asked.corpus:
    folders.insert(0, __import__("tempfile").mkdtemp(prefix="gsr-fuzz-"))
options = [f"-max_total_time={asked.seconds}", "-timeout=30", "-rss_limit_mb=4096", "-max_len=5000"]
atheris.Setup(
    [sys.argv[0], *options, *folders], lambda content: targets.refused(asked.target, content)
)
atheris.Fuzz()
