"""One law for several groups of rows: the structure is shared, constants may differ."""
