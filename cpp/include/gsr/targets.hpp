// Which transformations of the target are tried, the plain y first.
#pragma once

#include <vector>

#include "gsr/encoding.hpp"
#include "gsr/settings.hpp"

namespace gsr {

// ln|h(y)| makes a product a sum; `plain` is the simplest psi that says the same of h.
struct LogTarget {
  Basis logarithm;
  Basis plain;
};

std::vector<Basis> sum_targets(const Table& table, const Settings& settings);
// y, 1/y, y^2 and 1/y^2, as far as they are allowed.
std::vector<Basis> power_targets(const Table& table, const Settings& settings);
std::vector<LogTarget> log_targets(const Table& table, const Settings& settings);

}  // namespace gsr
