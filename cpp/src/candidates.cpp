#include "gsr/candidates.hpp"

#include <algorithm>
#include <cmath>

#include "gsr/interrupt.hpp"
#include "gsr/random.hpp"
#include "gsr/recipes.hpp"
#include "gsr/thread_pool.hpp"
#include "gsr/vector_math.hpp"
#include "small_blas.hpp"

namespace gsr {
namespace {

using composition::Tree;

constexpr std::size_t kKeptBytes = std::size_t{8} << 20;
constexpr double kPrintsPerUnit = 1e9;
// Products of two atoms are made of the cheapest ones only.
constexpr int kCheapAtom = 5;
constexpr std::size_t kPairedAtoms = 100;
constexpr std::size_t kPiece = 256;  // candidates that a thread writes at a time
constexpr int kCostliestFactor = 4;  // of a monomial beside an atom
// In products of three functions: x and 1/x cost 1 and 2, x^2 and most functions 2.
constexpr int kCostliestOfThree = 3;

// Beside a function mostly plain products stand.
int factor_cost(const Monomial& monomial) {
  const bool plain = std::all_of(monomial.begin(), monomial.end(),
                                 [](const auto& power) { return power.second == 1; });
  return cost_of(monomial) + (plain ? (monomial.size() > 1 ? -1 : 0) : 1);
}

// All with exactly this degree; with first powers only if `linear`.
void grow(const std::vector<int>& features, std::size_t from, int left, bool linear,
          std::size_t most, Monomial& sofar, std::vector<Monomial>& out) {
  if (left == 0) {
    out.push_back(sofar);
    return;
  }
  for (std::size_t f = from; f < features.size() && out.size() < most; ++f)
    for (int p = linear ? 1 : left; p >= 1; --p)
      for (const int sign : {1, -1}) {
        sofar.emplace_back(features[f], sign * p);
        grow(features, f + 1, left - p, linear, most, sofar, out);
        sofar.pop_back();
      }
}

}  // namespace

int cost_of(const Monomial& monomial) {
  int cost = 0;
  bool divided = false;
  bool linear = true;
  for (const auto& [f, p] : monomial) {
    cost += std::abs(p);
    divided = divided || p < 0;
    linear = linear && std::abs(p) == 1;
  }
  // Arguments such as m g h / (k T) are common: many first powers count for less.
  if (linear && cost > 3) cost = 3 + (cost - 3) / 2;
  return cost + (divided ? 1 : 0);
}

std::vector<Monomial> list_monomials(const std::vector<int>& features, int degree,
                                     std::size_t most) {
  constexpr std::size_t kEnough = 50000;
  constexpr int kMostFactors = 6;
  const auto cheaper = [](const Monomial& a, const Monomial& b) { return cost_of(a) < cost_of(b); };
  std::vector<Monomial> all;
  Monomial sofar;
  int reached = 0;
  while (reached < degree && all.size() < most)
    grow(features, 0, ++reached, false, kEnough, sofar, all);
  if (all.size() > most) --reached;  // cut off
  std::stable_sort(all.begin(), all.end(), cheaper);
  if (all.size() > most) all.resize(most);
  std::vector<Monomial> linear;
  for (int k = reached + 1; k <= kMostFactors && linear.size() < most; ++k)
    grow(features, 0, k, true, kEnough, sofar, linear);
  const auto listed = [&](const Monomial& m) {
    return std::find(all.begin(), all.end(), m) != all.end();
  };
  linear.erase(std::remove_if(linear.begin(), linear.end(), listed), linear.end());
  std::stable_sort(linear.begin(), linear.end(), cheaper);
  if (linear.size() > most) linear.resize(most);
  all.insert(all.end(), linear.begin(), linear.end());
  return all;
}

composition::Tree monomial_tree(const Table& table, const Monomial& monomial) {
  std::vector<composition::Operand> operands;
  for (const auto& [f, p] : monomial)
    for (int k = 0; k < std::abs(p); ++k) operands.push_back(composition::feature(p > 0 ? f : -f));
  if (operands.empty()) operands.push_back(composition::one());
  const bool lone = operands.size() == 1 && operands[0].feature > 0;
  return combine(table, lone ? ArgumentType::variable : ArgumentType::product, std::move(operands));
}

bool power_factors(const Table& table, const Tree& tree, int twice_p, std::vector<Tree>& out) {
  const bool divided = twice_p < 0;
  const auto push = [&](Tree factor) {
    out.push_back(divided ? composition::reciprocal(std::move(factor)) : std::move(factor));
  };
  int whole = std::abs(twice_p) / 2;
  if (twice_p % 2 != 0) {
    const int code = table.find("sqrt");
    if (code < 0) return false;
    push(composition::apply(table, code, tree));
  }
  const bool identity = tree.transformation == table.identity();
  for (const auto& [power, name] : {std::pair{3, "cube"}, std::pair{2, "square"}}) {
    const int code = table.find(name);
    if (whole != power || code < 0 || !identity) continue;
    push(composition::apply(table, code, tree));
    whole = 0;
  }
  for (; whole > 0; --whole) push(tree);
  return true;
}

Candidates::Candidates(const Dataset& data, const Table& table, const Settings& settings,
                       const Constraints& constraints, const std::vector<int>& features,
                       const Reach& reach)
    : data_(data),
      table_(table),
      settings_(settings),
      constraints_(constraints),
      evaluator_(data, table, kKeptBytes) {
  const Index stride = data.features.stride();
  direction_.assign(stride, 0.0);
  Random random(1, 0, 0);
  for (Index i = 0; i < data.n_rows(); ++i) direction_[i] = random.uniform() - 0.5;
  make_monomials(features, reach);
  make_atoms(features, reach);
  make_terms(reach);
  make_logarithms();
}

bool Candidates::admits(const std::vector<Tree>& factors) const {
  Basis basis;
  return !constraints_.restricts_bases() ||
         (composition::write(factors, basis) && constraints_.admits(basis, table_));
}

// By the direction.
std::int64_t Candidates::print_of(const double* values) const {
  const Index stride = data_.features.stride();
  const double norm = std::sqrt(small_blas::dot(values, values, stride));
  if (!(norm > 1e-150) || !(norm < 1e150)) return kNoPrint;
  const double print = std::abs(small_blas::dot(values, direction_.data(), stride)) / norm;
  return std::llround(print * kPrintsPerUnit);
}

void Candidates::keep_new(const std::vector<Candidate>& list, std::vector<Candidate>& out) {
  std::vector<std::int64_t> prints(list.size());
  in_pieces(list.size(), kPiece, [&](std::size_t begin, std::size_t end) {
    stop_if_asked();
    Buffer values(data_.features.stride(), 0.0);
    for (std::size_t k = begin; k < end; ++k) {
      write(list[k], values.data());
      prints[k] = print_of(values.data());
    }
  });
  for (std::size_t k = 0; k < list.size(); ++k)
    if (is_new(prints[k])) out.push_back(list[k]);
  prints_.clear();
}

void Candidates::make_monomials(const std::vector<int>& features, const Reach& reach) {
  const std::vector<Monomial> all = list_monomials(features, reach.degree, reach.monomials);
  monomial_values_.resize(data_.n_rows(), ssize(all));
  for (const Monomial& monomial : all) {
    Basis basis;
    double* out = monomial_values_[ssize(monomials_)];
    const Tree tree = monomial_tree(table_, monomial);
    if (!composition::allowed(tree, table_, settings_) || !admits({tree})) continue;
    if (!composition::write({tree}, basis) || !evaluator_.evaluate(basis, out)) continue;
    monomials_.push_back(monomial);
    monomial_costs_.push_back(cost_of(monomial));
  }
}

bool Candidates::add_atom(const Tree& tree, int cost, bool base) {
  if (atoms_.size() == max_atoms_ || !composition::allowed(tree, table_, settings_)) return false;
  if (!admits({tree})) return false;
  Basis basis;
  double* out = atom_values_[ssize(atoms_)];
  if (!composition::write({tree}, basis) || !evaluator_.evaluate(basis, out)) return false;
  atoms_.push_back({tree, cost, base, composition::only_feature(tree)});
  return true;
}

std::vector<int> Candidates::of_both_signs(const std::vector<int>& features) const {
  std::vector<int> out;
  for (const int f : features) {
    const double* x = data_.features[f - 1];
    const auto [low, high] = std::minmax_element(x, x + data_.n_rows());
    if (*low < 0.0 && *high > 0.0) out.push_back(f);
  }
  return out;
}

// Half of the atoms are others raised to a power.
void Candidates::make_atoms(const std::vector<int>& features, const Reach& reach) {
  max_atoms_ = reach.atoms;
  atom_values_.resize(data_.n_rows(), max_atoms_);
  const std::vector<int> signed_ones = of_both_signs(features);
  for (const Recipe& recipe : atom_recipes(table_, settings_, features, signed_ones, reach)) {
    stop_if_asked();
    const auto before = ssize(atoms_);
    if (add_atom(recipe.tree, recipe.cost, true) && !is_new(atom_values_[before]))
      atoms_.pop_back();
  }
  add_powers();
  prints_.clear();
}

// Sums first, which are what one raises to a power; then functions.
void Candidates::add_powers() {
  const std::size_t n = atoms_.size();
  for (const bool sums : {true, false})
    for (std::size_t k = 0; k < n; ++k) {
      const Tree tree = atoms_[k].tree;
      const int cost = atoms_[k].cost;
      const bool identity = tree.transformation == table_.identity();
      if (identity != sums) continue;
      for (const int twice_p : {-2, 4, 1, -4, -1}) {
        std::vector<Tree> factors;
        if (!identity && (twice_p == 1 || twice_p == -1)) continue;
        if (!power_factors(table_, tree, twice_p, factors) || factors.size() != 1) continue;
        add_atom(factors[0], cost + (twice_p == -4 || twice_p == -1 ? 2 : 1), false);
      }
    }
}

void Candidates::write(const Candidate& candidate, double* out) const {
  const Index stride = data_.features.stride();
  if (candidate.logarithm) {
    vector_math::kernels().log(atom_values_[candidate.atom], out, data_.n_rows());
    return;
  }
  std::fill_n(out, data_.n_rows(), 1.0);
  const auto multiply = [&](const double* values) {
    for (Index i = 0; i < stride; ++i) out[i] *= values[i];
  };
  if (candidate.monomial >= 0) multiply(monomial_values_[candidate.monomial]);
  for (const int a : {candidate.atom, candidate.second, candidate.third})
    if (a >= 0) multiply(atom_values_[a]);
}

// Functions of one feature each, of three different features; powers of a feature stand as the
// monomial.
void Candidates::list_products_of_three(std::vector<Candidate>& out) const {
  std::vector<int> atoms, powers;
  for (int a = 0; a < static_cast<int>(atoms_.size()); ++a)
    if (atoms_[a].feature != 0 && atoms_[a].cost <= kCostliestOfThree) atoms.push_back(a);
  for (int m = 0; m < static_cast<int>(monomials_.size()); ++m)
    if (monomials_[m].size() == 1 && monomial_costs_[m] <= kCostliestOfThree) powers.push_back(m);
  for (std::size_t i = 0; i < atoms.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Atom &a = atoms_[atoms[i]], &b = atoms_[atoms[j]];
      if (a.feature == b.feature) continue;
      const int cost = a.cost + b.cost;
      for (const int m : powers)
        if (const int f = monomials_[m][0].first; f != a.feature && f != b.feature)
          out.push_back({m, atoms[i], atoms[j], false, cost + monomial_costs_[m]});
      for (std::size_t k = 0; k < j; ++k)
        if (const Atom& c = atoms_[atoms[k]]; c.feature != a.feature && c.feature != b.feature)
          out.push_back({-1, atoms[i], atoms[j], false, cost + c.cost, atoms[k]});
    }
}

// Monomials alone, atoms alone, and products, in the order of their cost.
void Candidates::make_terms(const Reach& reach) {
  const std::size_t limit = reach.terms;
  std::vector<Candidate> all;
  const int n_monomials = static_cast<int>(monomials_.size());
  const int n_atoms = static_cast<int>(atoms_.size());
  for (int m = 0; m < n_monomials; ++m) all.push_back({m, -1, -1, false, monomial_costs_[m]});
  std::vector<int> by_cost(n_atoms);
  for (int a = 0; a < n_atoms; ++a) by_cost[a] = a;
  const auto cost = [&](int a) { return atoms_[a].cost; };
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](int a, int b) { return cost(a) < cost(b); });
  for (const int a : by_cost) all.push_back({-1, a, -1, false, cost(a)});
  const std::size_t most = 6 * limit;
  for (const int a : by_cost) {
    for (int m = 0; m < n_monomials && all.size() < most; ++m) {
      const int extra = factor_cost(monomials_[m]);
      if (extra > kCostliestFactor) continue;
      const int total = cost(a) + extra;
      all.push_back({m, a, -1, false, total});
    }
  }
  const std::size_t paired = std::min(kPairedAtoms, by_cost.size());
  for (std::size_t i = 0; i < paired; ++i)
    for (std::size_t j = i; j < paired; ++j)
      if (cost(by_cost[j]) <= kCheapAtom)
        all.push_back({-1, by_cost[i], by_cost[j], false, cost(by_cost[i]) + cost(by_cost[j])});
  if (reach.three_functions) list_products_of_three(all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  std::size_t places = limit;  // of products; what they are made of is always there
  std::vector<Candidate> admitted;
  const bool restricted = constraints_.restricts_bases();
  for (const Candidate& candidate : all) {
    const bool product = candidate.atom >= 0 && (candidate.monomial >= 0 || candidate.second >= 0);
    if ((product && places == 0) || (restricted && !admits(factors(candidate)))) continue;
    if (product) --places;
    admitted.push_back(candidate);
  }
  keep_new(admitted, terms_);
}

void Candidates::make_logarithms() {
  std::vector<Candidate> all;
  for (int a = 0; a < static_cast<int>(atoms_.size()); ++a) {
    const Atom& atom = atoms_[a];
    const std::string& name = table_[std::abs(atom.tree.transformation)].name;
    const bool exponential = name == "exp" || name == "exp_neg";
    if (!atom.base || exponential) continue;
    all.push_back({-1, a, -1, true, atom.cost + 1});
  }
  keep_new(all, logarithms_);
}

bool Candidates::of_one_feature(const Candidate& candidate) const {
  int only = 0;
  const auto agrees = [&](int feature) {
    if (feature == 0 || (only != 0 && only != feature)) return false;
    only = feature;
    return true;
  };
  if (candidate.monomial >= 0) {
    const Monomial& m = monomials_[candidate.monomial];
    if (m.size() != 1 || !agrees(m[0].first)) return false;
  }
  for (const int a : {candidate.atom, candidate.second, candidate.third})
    if (a >= 0 && !agrees(atoms_[a].feature)) return false;
  return true;
}

Columns Candidates::values(const std::vector<Candidate>& list) const {
  Columns out(data_.n_rows(), ssize(list));
  in_pieces(ssize(list), static_cast<Index>(kPiece), [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) write(list[j], out[j]);
  });
  return out;
}

std::vector<Tree> Candidates::factors(const Candidate& candidate) const {
  std::vector<Tree> out;
  if (candidate.logarithm) return {composition::apply(table_, table_.find("ln"), atom(candidate))};
  if (candidate.monomial >= 0) out.push_back(monomial_tree(table_, monomials_[candidate.monomial]));
  for (const int a : {candidate.atom, candidate.second, candidate.third})
    if (a >= 0) out.push_back(atoms_[a].tree);
  return out;
}

}  // namespace gsr
