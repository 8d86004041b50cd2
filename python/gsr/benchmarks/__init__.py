"""Benchmark problems, and what judges, times and compares programs on them: `gsr bench`."""
