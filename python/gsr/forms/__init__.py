"""Laws with known parts: a form in which unknown functions are searched."""
