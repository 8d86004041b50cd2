"""Helper functions that a source may need, written out in its language.

In each text ``@`` stands for the prefix of the helpers' names. `solve` finds y between a and b, or
beyond them up to `below` and `above`, where g is monotone; a pole, where g jumps, is no solution,
which the size of g's terms tells. `choose` takes the one of several
solutions that the training data speak for, NaN if they speak for none.
"""

from __future__ import annotations

import re

SOLVE_NUMPY = '''
def @solve(v, a, b, below, above, rising, small):
    """Return y with g(y) = v; g is monotone from below to above."""
    step = b - a if b > a else 1.0
    a, b = np.full_like(v, a), np.full_like(v, b)
    for _ in range(1100):
        low, high = rising * (@g(a) - v) > 0, rising * (@g(b) - v) < 0
        if not (low | high).any():
            break
        down = below + (a - below) / 2 if math.isfinite(below) else a - step
        up = above + (b - above) / 2 if math.isfinite(above) else b + step
        a, b = np.where(low, down, np.where(high, b, a)), np.where(low, a, np.where(high, up, b))
        step *= 2
    found = (rising * (@g(a) - v) <= 0) & (rising * (@g(b) - v) >= 0)
    for _ in range(200):
        middle = a + (b - a) / 2
        low = rising * (@g(middle) - v) <= 0
        a, b = np.where(low, middle, a), np.where(low, b, middle)
    y = np.where(np.abs(@g(a) - v) <= np.abs(@g(b) - v), a, b)
    found &= np.abs(@g(y) - v) <= 1e-6 * (np.abs(v) + @size(y)) + small
    return np.where(found, y, np.nan)
'''

#: One step of Newton's method changes nothing but gives y its derivative.
SOLVE_TORCH = (
    SOLVE_NUMPY.replace("np.", "torch.")
    .replace(
        "    step = b - a",
        "    target, v = v, v.detach()\n    step = b - a",
    )
    .replace(
        "    return torch.where(found",
        "    slope = torch.func.jvp(@g, (y,), (torch.ones_like(y),))[1]\n"
        "    y = torch.where(slope != 0, y - (@g(y) - target) / slope, y)\n"
        "    return torch.where(found",
    )
)

SOLVE_JAX = '''
def @solve(v, a, b, below, above, rising, small):
    """Return y with g(y) = v; g is monotone from below to above."""
    target, v = v, jax.lax.stop_gradient(v)

    def is_outside(ends):
        a, b, _, k = ends
        return ((rising * (@g(a) - v) > 0) | (rising * (@g(b) - v) < 0)).any() & (k < 1100)

    def widen(ends):
        a, b, step, k = ends
        low, high = rising * (@g(a) - v) > 0, rising * (@g(b) - v) < 0
        down = below + (a - below) / 2 if math.isfinite(below) else a - step
        up = above + (b - above) / 2 if math.isfinite(above) else b + step
        next_a = jnp.where(low, down, jnp.where(high, b, a))
        next_b = jnp.where(low, a, jnp.where(high, up, b))
        return next_a, next_b, 2 * step, k + 1

    def halve(_, ends):
        middle = ends[0] + (ends[1] - ends[0]) / 2
        low = rising * (@g(middle) - v) <= 0
        return jnp.where(low, middle, ends[0]), jnp.where(low, ends[1], middle)

    step = jnp.full_like(v, b - a if b > a else 1.0)
    ends = jnp.full_like(v, a), jnp.full_like(v, b), step, 0
    a, b, _, _ = jax.lax.while_loop(is_outside, widen, ends)
    found = (rising * (@g(a) - v) <= 0) & (rising * (@g(b) - v) >= 0)
    a, b = jax.lax.fori_loop(0, 200, halve, (a, b))
    y = jnp.where(jnp.abs(@g(a) - v) <= jnp.abs(@g(b) - v), a, b)
    found &= jnp.abs(@g(y) - v) <= 1e-6 * (jnp.abs(v) + @size(y)) + small
    slope = jax.jvp(@g, (y,), (jnp.ones_like(y),))[1]
    y = jnp.where(slope != 0, y - (@g(y) - target) / slope, y)
    return jnp.where(found, y, jnp.nan)
'''

SOLVE_PYTHON = '''
def @solve(v, a, b, below, above, rising, small):
    """Return y with g(y) = v; g is monotone from below to above."""
    step = b - a if b > a else 1.0
    for _ in range(1100):
        if rising * (@g(a) - v) > 0:
            a, b = (below + (a - below) / 2 if math.isfinite(below) else a - step), a
        elif rising * (@g(b) - v) < 0:
            a, b = b, (above + (b - above) / 2 if math.isfinite(above) else b + step)
        else:
            break
        step *= 2
    if not (rising * (@g(a) - v) <= 0 <= rising * (@g(b) - v)):
        return math.nan
    for _ in range(200):
        middle = a + (b - a) / 2
        if rising * (@g(middle) - v) <= 0:
            a = middle
        else:
            b = middle
    y = a if abs(@g(a) - v) <= abs(@g(b) - v) else b
    return y if abs(@g(y) - v) <= 1e-6 * (abs(v) + @size(y)) + small else math.nan
'''

SOLVE_C = """
static double @solve(double v, double a, double b, double below, double above, double rising,
                     double small)
{
    double step = b > a ? b - a : 1.0, y;
    int k;
    for (k = 0; k < 1100; k++) {
        if (rising * (@g(a) - v) > 0.0) {
            b = a;
            a = isfinite(below) ? below + (a - below) / 2.0 : a - step;
        } else if (rising * (@g(b) - v) < 0.0) {
            a = b;
            b = isfinite(above) ? above + (b - above) / 2.0 : b + step;
        } else {
            break;
        }
        step *= 2.0;
    }
    if (!(rising * (@g(a) - v) <= 0.0 && rising * (@g(b) - v) >= 0.0))
        return NAN;
    for (k = 0; k < 200; k++) {
        const double middle = a + (b - a) / 2.0;
        if (rising * (@g(middle) - v) <= 0.0)
            a = middle;
        else
            b = middle;
    }
    y = fabs(@g(a) - v) <= fabs(@g(b) - v) ? a : b;
    return fabs(@g(y) - v) <= 1e-6 * (fabs(v) + @size(y)) + small ? y : NAN;
}
"""

CHOOSE_NUMPY = '''
def @choose(solutions, home, span, same, sign):
    """Return the y of (y, rank) that the training data speak for."""
    best = np.full_like(solutions[0][0], np.nan)
    least, rivals = np.full_like(best, np.inf), best == best
    for y, rank in solutions:
        rank = rank + 8.0 * ((y < home[0]) | (y > home[1])) + 4.0 * (sign * y < 0)
        rank = rank + 2.0 * ((y < span[0]) | (y > span[1]))
        rank = np.where(np.isfinite(y), rank, np.inf)
        better = rank < least
        rivals = ~better & (rivals | ((rank == least) & (np.abs(y - best) > same)))
        best, least = np.where(better, y, best), np.where(better, rank, least)
    return np.where(rivals, np.nan, best)
'''

CHOOSE_PYTHON = '''
def @choose(solutions, home, span, same, sign):
    """Return the y of (y, rank) that the training data speak for."""
    best, least, rivals = math.nan, math.inf, False
    for y, rank in solutions:
        if not math.isfinite(y):
            continue
        rank = rank + 8.0 * (y < home[0] or y > home[1]) + 4.0 * (sign * y < 0)
        rank = rank + 2.0 * (y < span[0] or y > span[1])
        if rank < least:
            best, least, rivals = y, rank, False
        elif rank == least and abs(y - best) > same:
            rivals = True
    return math.nan if rivals else best
'''

CHOOSE_C = """
/* The solution that the training data speak for. */
static double @choose(int n, const double *y, const double *ranks, const double *home,
                      const double *span, double same, double sign)
{
    double best = NAN, least = INFINITY;
    int k, rivals = 0;
    for (k = 0; k < n; k++) {
        double rank = ranks[k];
        if (!isfinite(y[k]))
            continue;
        rank += y[k] < home[0] || y[k] > home[1] ? 8.0 : 0.0;
        rank += sign * y[k] < 0.0 ? 4.0 : 0.0;
        rank += y[k] < span[0] || y[k] > span[1] ? 2.0 : 0.0;
        if (rank < least) {
            best = y[k];
            least = rank;
            rivals = 0;
        } else if (rank == least && fabs(y[k] - best) > same) {
            rivals = 1;
        }
    }
    return rivals ? NAN : best;
}
"""

SAFE = '''
def @safe(function, t):
    """Return what C would: NaN outside the domain, infinity instead of an overflow."""
    try:
        return function(t)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf
'''
LOG = '''
def @log(t):
    """Return ln(t), -infinity at 0."""
    return -math.inf if t == 0 else @safe(math.log, t)
'''
DIVIDE = '''
def @divide(a, b):
    """Return a / b; infinity or NaN where b is 0."""
    if b != 0:
        return a / b
    if a == 0 or a != a or b != b:
        return math.nan
    return math.copysign(math.inf, a * math.copysign(1, b))
'''
POW = '''
def @pow(t, q):
    """Return t**q with q > 0; NaN where it is not real."""
    try:
        return math.pow(t, q)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf
'''
SIGN = '''
def @sign(t):
    """Return 1, 0 or -1."""
    return t if t != t else float((t > 0) - (t < 0))
'''
CBRT = '''
def @cbrt(t):
    """Return the real cube root."""
    return math.copysign(abs(t) ** (1 / 3), t)
'''
CBRT_TORCH = '''
def @cbrt(t):
    """Return the real cube root."""
    return torch.sign(t) * torch.abs(t) ** (1 / 3)
'''
SIGN_C = """
static double @sign(double t)
{
    return isnan(t) ? t : (double)((t > 0.0) - (t < 0.0));
}
"""
TENSOR = '''
def @tensor(x):
    """Return x as a tensor of real numbers."""
    x = torch.as_tensor(x)
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())
'''

#: In the order in which they are written; one may need those before it.
HELPERS: dict[str, dict[str, str]] = {
    "python": {"safe": SAFE, "log": LOG, "divide": DIVIDE, "pow": POW, "sign": SIGN,
               "cbrt": CBRT, "choose": CHOOSE_PYTHON},
    "numpy": {"choose": CHOOSE_NUMPY},
    "c": {"sign": SIGN_C, "choose": CHOOSE_C},
    "torch": {"tensor": TENSOR, "cbrt": CBRT_TORCH,
              "choose": CHOOSE_NUMPY.replace("np.", "torch.")},
    "jax": {"choose": CHOOSE_NUMPY.replace("np.", "jnp.")},
}  # fmt: skip
SOLVE = {"python": SOLVE_PYTHON, "numpy": SOLVE_NUMPY, "c": SOLVE_C, "torch": SOLVE_TORCH,
         "jax": SOLVE_JAX}  # fmt: skip


def helpers(language: str, prefix: str, body: str) -> list[str]:
    """Return the helpers that a source needs, in order."""
    found: list[str] = []
    for name, text in reversed(HELPERS[language].items()):
        written = text.strip("\n").replace("@", prefix)
        if re.search(rf"\b{prefix}{name}\(", "\n".join([body, *found])):
            found.insert(0, written)
    return found


def solver(language: str, prefix: str) -> str:
    """Return the source of the function that solves g(y) = v."""
    return SOLVE[language].strip("\n").replace("@", prefix)
