"""Other programs for symbolic regression, each in a module of its name, and what judges them."""
