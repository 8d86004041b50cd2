// Elementary functions on vectors of doubles, written once in the compiler's vector types and
// compiled once per instruction set (vector_math.cpp, v4/vector_math_v4.cpp). Everything is local
// to the including file: code for one instruction set must not be merged with that for another.
//
// Each function is within about 2 ulp. Methods are those of FreeBSD's msun (reduction by pieces of
// pi/2, log by s = f / (2 + f)), and so are the polynomials of sin and cos; those of exp and log
// are Chebyshev fits of (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2 and of (2 artanh(s) / s - 2) / s^2
// on |s| <= 0.2.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "gsr/vector_math.hpp"

namespace gsr::vector_math {
namespace {

constexpr int kLanes = GSR_LANES;
typedef double D __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t I __attribute__((vector_size(kLanes * sizeof(double))));

// Adding this rounds to the nearest whole number and leaves it in the low bits.
constexpr double kRound = 0x1.8p52;
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kLog2E = 1.44269504088896338700;

D all(double x) { return x - D{}; }
D load(const double* x) {
  D v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
void store(double* out, D v) { std::memcpy(out, &v, sizeof v); }
I bits(D v) { return reinterpret_cast<I>(v); }
D from_bits(I v) { return reinterpret_cast<D>(v); }
D absolute(D x) { return from_bits(bits(x) & INT64_C(0x7fffffffffffffff)); }
I whole(D rounded) { return bits(rounded) - bits(all(kRound)); }
D power_of_two(I n) { return from_bits((n + 1023) << 52); }

#ifdef __AVX512F__
D at_most(D x, double limit) { return _mm512_min_pd(all(limit), x); }  // NaN stays NaN
D at_least(D x, double limit) { return _mm512_max_pd(all(limit), x); }
D times_power_of_two(D v, D n) { return _mm512_scalef_pd(v, n); }
#else
D at_most(D x, double limit) { return x > limit ? all(limit) : x; }
D at_least(D x, double limit) { return x < limit ? all(limit) : x; }
// In two steps, since 2^n alone may be out of range where the product is not.
D times_power_of_two(D v, D n) {
  const D half = n * 0.5 + kRound;
  const D rest = (n - (half - kRound)) + kRound;
  return (v * power_of_two(whole(half))) * power_of_two(whole(rest));
}
#endif

// e^x = 2^n e^r; `minus_one` is e^r - 1.
struct Exponential {
  D n, minus_one;
};

Exponential reduce_exp(D x) {
  const D n = (x * kLog2E + kRound) - kRound;
  const D r = (x - n * kLn2High) - n * kLn2Low;
  const D r2 = r * r;
  const D r4 = r2 * r2;
  const D a = (0x1.0000000000001p-1 + r * 0x1.5555555555556p-3) +
              r2 * (0x1.5555555553d37p-5 + r * 0x1.11111111109a6p-7);
  const D b = (0x1.6c16c1789d1d7p-10 + r * 0x1.a01a01a7cebcdp-13) +
              r2 * (0x1.a019b8ca26fcfp-16 + r * 0x1.71de0d85293b8p-19);
  const D c = 0x1.2891d4ffbb0f9p-22 + r * 0x1.af390ba7e6f47p-26;
  return {n, r + r2 * (a + r4 * (b + r4 * c))};
}

struct Exp {
  static D apply(D x) {
    const Exponential e = reduce_exp(at_least(at_most(x, 710.0), -746.0));
    return times_power_of_two(e.minus_one + 1.0, e.n);
  }
};

// |x| = 2^k m with m around 1; k is -inf for 0 and inf for inf, where the rest of log needs no
// care.
struct Split {
  D k, m;
};

#ifdef __AVX512F__
Split split(D x) {
  const D m = _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);
  return {_mm512_getexp_pd(x) - _mm512_getexp_pd(m), m};
}
#else
Split split(D x) {
  const D size = absolute(x);
  const I tiny = size < 0x1.0p-1022;
  const D scaled = tiny ? size * 0x1.0p54 : size;
  const I exponent = (bits(scaled) - INT64_C(0x3fe6a09e667f3bcd)) >> 52;  // m >= sqrt(1/2)
  D k = from_bits(exponent + bits(all(kRound))) - kRound;
  k = tiny ? k - 54.0 : k;
  k = size == 0.0 ? all(-INFINITY) : k;
  k = size < INFINITY ? k : size;  // infinity and NaN
  return {k, from_bits(bits(scaled) - (exponent << 52))};
}
#endif

struct Log {
  static D apply(D x) {
    const Split part = split(x);
    const D f = part.m - 1.0;
    const D s = f / (2.0 + f);
    const D z = s * s;
    const D w = z * z;
    const D t1 = w * (0.39999999999335556 + w * (0.22222182776674482 + w * 0.15283703752403147));
    const D t2 =
        z * (0.6666666666666694 +
             w * (0.2857142883604555 + w * (0.18184610246294064 + w * 0.1511848710872457)));
    const D half_square = 0.5 * f * f;
    const D low = s * (half_square + (t1 + t2)) + part.k * kLn2Low;
    return part.k * kLn2High - ((half_square - low) - f);
  }
};

// x = n pi/2 + r with |r| <= pi/4; good while n takes 20 bits.
constexpr double kLargest = 1e6;

struct Reduced {
  D sine, cosine;
  I quadrant;
};

D sin_near_zero(D r, D z) {
  const D p = 8.33333333332248946124e-03 +
              z * (-1.98412698298579493134e-04 +
                   z * (2.75573137070700676789e-06 +
                        z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  return r + (z * r) * (-1.66666666666666324348e-01 + z * p);
}

D cos_near_zero(D z) {
  const D p = 4.16666666666666019037e-02 +
              z * (-1.38888888888741095749e-03 +
                   z * (2.48015872894767294178e-05 +
                        z * (-2.75573143513906633035e-07 +
                             z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
  const D half = 0.5 * z;
  const D w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z) * p);
}

Reduced reduce_trigonometric(D x) {
  const D rounded = x * 6.36619772367581382433e-01 + kRound;
  const D n = rounded - kRound;
  D r = x - n * 1.57079632673412561417e+00;
  r = r - n * 6.07710050630396597660e-11;
  r = r - n * 2.02226624879595063154e-21;
  const D z = r * r;
  return {sin_near_zero(r, z), cos_near_zero(z), bits(rounded)};
}

D with_sign_of(I flag_at_bit_1, D v) { return from_bits(bits(v) ^ ((flag_at_bit_1 & 2) << 62)); }

struct Sin {
  static double scalar(double x) { return std::sin(x); }
  static D apply(D x) {
    const Reduced r = reduce_trigonometric(x);
    return with_sign_of(r.quadrant, (r.quadrant & 1) == 0 ? r.sine : r.cosine);
  }
};

struct Cos {
  static double scalar(double x) { return std::cos(x); }
  static D apply(D x) {
    const Reduced r = reduce_trigonometric(x);
    return with_sign_of(r.quadrant + 1, (r.quadrant & 1) == 0 ? r.cosine : r.sine);
  }
};

struct Tan {
  static double scalar(double x) { return std::tan(x); }
  static D apply(D x) {
    const Reduced r = reduce_trigonometric(x);
    const I even = (r.quadrant & 1) == 0;
    return (even ? r.sine : -r.cosine) / (even ? r.cosine : r.sine);
  }
};

// tanh|x| = (e^{2|x|} - 1) / (e^{2|x|} + 1).
struct Tanh {
  static D apply(D x) {
    const Exponential e = reduce_exp(at_most(absolute(x) * 2.0, 44.0));
    const D scale = power_of_two(whole(e.n + kRound));
    const D minus_one = scale * e.minus_one + (scale - 1.0);
    const D result = minus_one / (minus_one + 2.0);
    return from_bits(bits(result) | (bits(x) & INT64_MIN));
  }
};

template <typename Function>
void map(const double* x, double* out, std::size_t n) {
  if (n < kLanes) {
    double few[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) few[k] = k < n ? x[k] : 1.0;
    store(few, Function::apply(load(few)));
    for (std::size_t k = 0; k < n; ++k) out[k] = few[k];
    return;
  }
  // The last vector may overlap the one before; it is read first, since out may be x.
  const D last = load(x + n - kLanes);
  for (std::size_t i = 0; i + kLanes < n; i += kLanes) store(out + i, Function::apply(load(x + i)));
  store(out + n - kLanes, Function::apply(last));
}

bool within_reach(const double* x, std::size_t n) {
  I beyond{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) beyond |= ~(absolute(load(x + i)) <= kLargest);
  bool ok = true;
  for (std::size_t k = 0; k < kLanes; ++k) ok &= beyond[k] == 0;
  for (; i < n; ++i) ok &= std::fabs(x[i]) <= kLargest;
  return ok;
}

// Arguments beyond the reduction's reach, infinities and NaN go to the library's function, one by
// one.
template <typename Function>
void map_periodic(const double* x, double* out, std::size_t n) {
  constexpr std::size_t kBlock = 256;
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t size = n - start < kBlock ? n - start : kBlock;
    if (within_reach(x + start, size)) {
      map<Function>(x + start, out + start, size);
      continue;
    }
    for (std::size_t i = start; i < start + size; ++i) {
      if (std::fabs(x[i]) <= kLargest) {
        map<Function>(x + i, out + i, 1);
      } else {
        out[i] = Function::scalar(x[i]);
      }
    }
  }
}

constexpr Kernels kKernels{map<Exp>,          map<Log>,          map_periodic<Sin>,
                           map_periodic<Cos>, map_periodic<Tan>, map<Tanh>};

}  // namespace
}  // namespace gsr::vector_math
