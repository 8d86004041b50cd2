"""The fuzz targets on their corpus, and on damaged copies of it."""

import random

import pytest

from benchmarks.nasty import damaged_bytes
from fuzz.targets import CORPUS, TARGETS, refused

#: Damaged copies of each file.
COPIES = 30


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_and_damaged_copies_of_it_are_read_or_refused(name):
    found = sorted((CORPUS / name).iterdir())
    assert not all(refused(name, path.read_bytes()) for path in found)
    draw = random.Random(name)
    for path in found:
        for _ in range(COPIES):
            refused(name, damaged_bytes(path.read_bytes(), draw))
