"""Comparisons with other programs and measurements of speed, beside `gsr bench`.

Run from the root of the source tree: ``python -m benchmarks.NAME``. See README.md in this folder.
"""
