"""One law for several groups of rows: they share the structure, but constants may differ."""
