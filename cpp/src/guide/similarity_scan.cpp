#include "similarity_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "gsr/evolution.hpp"
#include "gsr/interrupt.hpp"
#include "substitution.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

constexpr const char* kPowersAndLogarithm[] = {"one",    "identity", "inverse",
                                               "square", "sqrt",     "ln"};

// Left sides that a prefactor can leave.
Table inner_targets(const Table& targets) {
  std::vector<Transformation> entries;
  for (int code = 0; code < targets.size(); ++code)
    if (code == targets.constant() || code == targets.identity() ||
        std::any_of(std::begin(kPowersAndLogarithm), std::end(kPowersAndLogarithm),
                    [&](const char* name) { return targets[code].name == name; }))
      entries.push_back(targets[code]);
  return Table(std::move(entries));
}

// psi(y/m) in terms of y: a power of it, in halves, or its logarithm.
struct LeftSide {
  bool logarithm = false;
  int twice_power = 0;
};

std::optional<LeftSide> left_side(const Basis& psi, const Table& table) {
  const Trees factors = composition::factors(psi);
  if (factors.size() != 1) return std::nullopt;
  const Tree& tree = factors[0];
  int multiplicity = 0;
  for (const composition::Operand& operand : tree.operands) {
    if (std::abs(operand.feature) != 1 || operand.weight != 1.0) return std::nullopt;
    multiplicity += operand.feature;
  }
  const int sign = tree.transformation < 0 ? -1 : 1;
  const Transformation& t = table[std::abs(tree.transformation)];
  const bool plain = tree.argument != ArgumentType::sum || tree.operands.size() == 1;
  if (!plain || tree.argument == ArgumentType::weighted) return std::nullopt;
  if (t.name == "ln")
    return sign > 0 && multiplicity == 1 ? std::optional(LeftSide{true, 0}) : std::nullopt;
  const double power = std::abs(tree.transformation) == table.identity() ? 1.0 : t.power;
  if (power == 0.0) return std::nullopt;
  return LeftSide{false, static_cast<int>(std::lround(2.0 * power)) * sign * multiplicity};
}

// The same function with the codes of another table.
std::optional<Basis> recoded(Basis psi, const Table& from, const Table& to) {
  for (Row& row : psi) {
    const int code = to.find(from[row.code()].name);
    if (code < 0) return std::nullopt;
    row.transformation = static_cast<std::int16_t>(row.reciprocal() ? -code : code);
  }
  return psi;
}

std::optional<Buffer> product_values(const Trees& factors, const Dataset& x, const Table& table) {
  Buffer out(x.features.stride(), 1.0);
  for (const Tree& tree : factors) {
    Basis basis;
    if (!composition::write({tree}, basis)) return std::nullopt;
    const Buffer values = values_of(basis, x, table);
    if (values.empty()) return std::nullopt;
    for (Index i = 0; i < x.n_rows(); ++i) out[i] *= values[i];
  }
  return out;
}

Settings inner_settings(Settings settings) {
  settings.inner_searches = false;
  settings.n_threads = 1;
  settings.share = 0;
  settings.n_shares = 1;
  settings.max_generations = 0;
  settings.max_evaluations = 0;
  settings.plain_stages_done = 0;
  settings.max_bytes /= kInnerBytesShare;
  settings.seed = settings.scan_seed;
  return settings;
}

std::optional<Problem> inner_problem(const Problem& problem, const Similarity& similarity) {
  const Rows rows = choose_rows(problem, kInnerRows);
  const Index n = rows.x.n_rows();
  const std::optional<Trees> prefactor = similarity.prefactor(2, problem.table);
  if (!prefactor) return std::nullopt;
  const std::optional<Buffer> m = product_values(*prefactor, rows.x, problem.table);
  if (!m) return std::nullopt;
  Problem inner{{Columns(n, similarity.n_variables())},
                {Columns(n, 1)},
                problem.table,
                inner_targets(problem.target_table),
                inner_settings(problem.settings)};
  for (Index j = 0; j < similarity.n_variables(); ++j) {
    const std::optional<Buffer> u =
        product_values({similarity.variable(j, problem.table)}, rows.x, problem.table);
    if (!u) return std::nullopt;
    std::copy_n(u->begin(), n, inner.x.features[j]);
  }
  for (Index i = 0; i < n; ++i) {
    inner.y.features[0][i] = rows.y.features[0][i] / (*m)[i];
    if (!std::isfinite(inner.y.features[0][i])) return std::nullopt;
  }
  return inner;
}

// y = m F(u) is also y = m u^k G(u): some G are easier to find than others.
std::vector<Similarity> with_powers(const Similarity& similarity) {
  if (similarity.n_variables() > 1) return {similarity};
  std::vector<Similarity> out;
  for (const int k : {0, -1, 1, -2, 2}) {
    out.push_back(similarity);
    out.back().twice_outer += 2 * k * similarity.exponents.col(0);
  }
  return out;
}

// Its laws after so much work. The search has one thread, the one that calls.
std::unique_ptr<const Evolution> search(Problem posed, double most) {
  const ThreadPool::OneThread alone;
  auto inner = std::make_unique<Evolution>(std::move(posed));
  const auto running = [&] {
    return std::as_const(*inner).status() == Evolution::Status::running && inner->work() < most;
  };
  while (running()) {
    stop_if_asked();
    inner->run(std::numeric_limits<double>::infinity(), inner->work() + kInnerSlice);
  }
  return inner;
}

}  // namespace

double SimilarityScan::build() {
  const Problem& problem = sample_.problem;
  const bool possible = problem.settings.inner_searches && problem.settings.division &&
                        problem.constraints.required.empty() && problem.table.identity() >= 0 &&
                        problem.target_table.identity() >= 0 && sample_.features.size() > 1;
  if (!possible) return kNothingToScan;
  const Similarities similarities =
      find_similarities(problem, sample_.features, goals_.prefactors, sample_.level);
  if (!similarities.found.empty()) found_ = with_powers(similarities.found[0]);
  const Index n = std::min(kIndexRows, problem.x.n_rows());
  return sample_.work_of(kIndexFitWork * static_cast<double>(similarities.n_fits * n));
}

double SimilarityScan::scan(std::size_t number) const {
  const Law* known = proposer_.archive().best_exact();
  const bool solved = known != nullptr && known->bits <= kShortExactLaw;
  if (number >= found_.size() || solved) return kNothingToScan;
  const Similarity& similarity = found_[number];
  std::optional<Problem> posed = inner_problem(sample_.problem, similarity);
  if (!posed) return kNothingToScan;
  const double rows = static_cast<double>(posed->x.n_rows());
  const std::unique_ptr<const Evolution> inner =
      search(std::move(*posed), kInnerWork[sample_.level]);
  proposer_.count_evaluations(inner->evaluations());
  for (const std::vector<Law>* laws : {&inner->archive().front(), &inner->archive().runners_up()})
    for (const Law& law : *laws) propose(law, inner->problem().target_table, similarity);
  return sample_.work_of(inner->work() * (kOperationsPerRow * rows + kOperations));
}

void SimilarityScan::propose(const Law& inner, const Table& inner_targets,
                             const Similarity& similarity) const {
  const Problem& problem = sample_.problem;
  const Table& table = problem.table;
  if (inner.psi.size() != 1) return;
  const std::optional<LeftSide> left = left_side(inner.psi[0], inner_targets);
  const std::optional<Basis> psi = recoded(inner.psi[0], inner_targets, problem.target_table);
  if (!left || !psi) return;
  const std::optional<Trees> prefactor =
      similarity.prefactor(left->logarithm ? 4 : left->twice_power, table);
  if (!prefactor) return;
  Trees variables;
  for (Index j = 0; j < similarity.n_variables(); ++j)
    variables.push_back(similarity.variable(j, table));
  std::vector<Basis> terms;
  for (const Basis& phi : inner.phi) {
    Trees factors;
    if (!is_constant(phi, table))
      for (const Tree& tree : composition::factors(phi))
        factors.push_back(substituted(tree, variables, table));
    if (!left->logarithm) factors.insert(factors.end(), prefactor->begin(), prefactor->end());
    if (!factors.empty() && !add_term(problem, factors, terms)) return;
  }
  if (left->logarithm)
    for (const Tree& tree : *prefactor)
      if (!add_term(problem, {composition::apply(table, table.find("ln"), tree)}, terms)) return;
  if (!terms.empty()) proposer_.propose({*psi}, terms);
}

}  // namespace gsr::guide
