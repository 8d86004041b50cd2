"""What a law predicts: g(y) = f(x) solved for y, in closed form or by root finding."""
