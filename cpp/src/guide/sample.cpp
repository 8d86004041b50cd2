#include "sample.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gsr/random.hpp"
#include "screening.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

std::vector<Index> counted(Index n) {
  std::vector<Index> out(n);
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

// Rows whose weight is not far below that of most.
std::vector<Index> rows_that_count(const Buffer& roots, Index n) {
  std::vector<Index> rows = counted(n);
  if (roots.empty()) return rows;
  std::vector<double> sorted(roots.begin(), roots.begin() + n);
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.end());
  const double least = kLeastWeight * sorted[n / 2];
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](Index i) { return roots[i] < least; }),
             rows.end());
  return rows;
}

std::vector<Index> spread_rows(std::vector<Index> rows, Index wanted, std::uint64_t seed) {
  const Index n = ssize(rows);
  if (wanted >= n) return rows;
  Random random(seed, kRowStream, 0);
  for (Index i = 0; i < wanted; ++i)
    std::swap(rows[i], rows[random.integer(static_cast<int>(i), static_cast<int>(n) - 1)]);
  rows.resize(wanted);
  return rows;
}

Columns take_rows(const Columns& from, const std::vector<Index>& rows) {
  Columns out(ssize(rows), from.n_columns());
  for (Index j = 0; j < from.n_columns(); ++j)
    for (Index i = 0; i < ssize(rows); ++i) out[j][i] = from[j][rows[i]];
  return out;
}

Index rows_to_screen(const Problem& problem) {
  const int d = problem.x.n_features();
  return d <= static_cast<int>(kMostFeatures) ? problem.x.n_rows() : screened_rows(d);
}

}  // namespace

Rows choose_rows(const Problem& problem, Index n, bool light_ones) {
  return rows_among(
      problem, rows_that_count(light_ones ? Buffer() : problem.row_weights, problem.x.n_rows()), n);
}

Rows rows_among(const Problem& problem, std::vector<Index> rows, Index n) {
  const Buffer& roots = problem.row_weights;
  const std::vector<Index> chosen = spread_rows(std::move(rows), n, problem.settings.scan_seed);
  Rows out;
  out.x.features = take_rows(problem.x.features, chosen);
  out.y.features = take_rows(problem.y.features, chosen);
  if (roots.empty()) return out;
  out.weights.assign(out.x.features.stride(), 0.0);
  for (Index i = 0; i < ssize(chosen); ++i) out.weights[i] = roots[chosen[i]];
  return out;
}

std::vector<int> features_to_combine(const Rows& rows) {
  const Index n = rows.x.n_rows();
  std::vector<int> features;
  for (int f = 1; f <= rows.x.n_features(); ++f) {
    const double* x = rows.x.features[f - 1];
    const auto [low, high] = std::minmax_element(x, x + n);
    if (*low < *high) features.push_back(f);  // a constant feature explains nothing
  }
  if (features.size() <= kMostFeatures) return features;
  return screen_features(rows.x.features, rows.y.features[0], features, kMostFeatures);
}

Sample::Sample(const Problem& posed)
    : problem(posed), features(features_to_combine(choose_rows(posed, rows_to_screen(posed)))) {}

double Sample::work_of(double operations) const {
  return operations / (kOperationsPerRow * static_cast<double>(problem.x.n_rows()) + kOperations);
}

double Sample::work_of(const Work& work, Index n_columns) const {
  return work_of(work.operations * static_cast<double>(n_columns * n_rows())) + work.proposals;
}

}  // namespace gsr::guide
