"""Basis matrices: what each says, and how it is written."""

from gsr.encoding.matrices import (
    canonical,
    complexity,
    decode,
    encode,
    encode_target,
    evaluate,
    law_complexity,
)
from gsr.encoding.writing import text

__all__ = [
    "canonical",
    "complexity",
    "decode",
    "encode",
    "encode_target",
    "evaluate",
    "law_complexity",
    "text",
]
