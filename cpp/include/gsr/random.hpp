// Random streams: one per (seed, generation, individual), so that a result does not depend on which
// thread made it.
#pragma once

#include <cstdint>

namespace gsr {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t substream) {
    std::uint64_t s = seed;
    s = mix(s) ^ stream;
    s = mix(s) ^ substream;
    for (std::uint64_t& word : state_) word = s = mix(s);
  }

  // xoshiro256++ (Blackman and Vigna).
  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // An integer from low to high, both included.
  int integer(int low, int high) {
    const auto span = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<int>(((next() >> 32) * span) >> 32);
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {  // SplitMix64
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  std::uint64_t state_[4];
};

}  // namespace gsr
