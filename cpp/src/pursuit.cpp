#include "gsr/pursuit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "gsr/interrupt.hpp"
#include "guide/tuning.hpp"
#include "small_blas.hpp"

namespace gsr {
namespace {

using namespace tuning;

constexpr double kPi = 3.14159265358979323846;

bool by_left(const Pursuit::Model& a, const Pursuit::Model& b) { return a.left < b.left; }

bool same(const Pursuit::Model& a, const Pursuit::Model& b) {
  return a.inner == b.inner && a.terms.size() == b.terms.size() &&
         std::abs(a.left - b.left) <= kSameModel * a.left;
}

double best_left(const std::vector<Pursuit::Model>& models) {
  const auto best = std::min_element(models.begin(), models.end(), by_left);
  return best == models.end() ? 1.0 : best->left;
}

void drop_copies(std::vector<Pursuit::Model>& models) {
  std::vector<Pursuit::Model> kept;
  for (Pursuit::Model& model : models)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Pursuit::Model& other) { return same(model, other); }))
      kept.push_back(std::move(model));
  models = std::move(kept);
}

// The first `most` of each class; which class is up to `class_of`.
template <typename T, typename Class>
void keep_first_of_each(std::vector<T>& sorted, std::size_t most, Class class_of) {
  std::map<int, std::size_t> taken;
  std::vector<T> kept;
  for (T& each : sorted)
    if (taken[class_of(each)]++ < most) kept.push_back(std::move(each));
  sorted = std::move(kept);
}

// Terms without constants, with one, and with more compete among themselves only: alone the latter
// explain more whatever the truth is.
int kind_of(int inner) { return std::min(inner, 2); }

// The best few of each number of constants.
std::vector<Pursuit::Model> best_of_each_size(std::vector<Pursuit::Model> models) {
  std::stable_sort(models.begin(), models.end(), by_left);
  drop_copies(models);
  keep_first_of_each(models, kProposedEach,
                     [](const Pursuit::Model& model) { return model.n_constants(); });
  return models;
}

}  // namespace

std::vector<Pursuit::Model> Pursuit::search(const Buffer& target, const Buffer& row_weights,
                                            const Columns& free) {
  target_ = &target;
  operations_ = 0.0;
  Refiner refiner(x_, table_, row_weights);
  spread_ = refiner.spread(target.data());
  refiner.set_free(free);
  beside_free_ = refiner.spread(target.data()) / spread_;
  weigh_columns(refiner, row_weights);
  const double exactly = std::max(kExactly, kAtRounding / beside_free_);
  std::vector<Model> found, paired, repeated, open(1);
  for (int depth = 0; depth < widths_.terms; ++depth) {
    std::vector<Model> next;
    for (const Model& model : open)
      for (Model& longer : extensions(refiner, model)) next.push_back(std::move(longer));
    found.insert(found.end(), next.begin(), next.end());
    if (depth == 0 && widths_.terms > 1) {
      paired = pairs(refiner);
      repeated = repetitions(refiner);
      for (const std::vector<Model>* models : {&paired, &repeated})
        found.insert(found.end(), models->begin(), models->end());
    }
    if (depth == 1) std::move(paired.begin(), paired.end(), std::back_inserter(next));
    open = beam(std::move(next), depth == 0 ? widths_.first : widths_.beam);
    const double left = std::min({best_left(open), best_left(paired), best_left(repeated)});
    if (left < exactly || left > (depth == 0 ? kLeftByOne : kLeftByTwo)) break;
  }
  operations_ += kRefinedColumnWork * static_cast<double>(refiner.n_columns_evaluated()) *
                 static_cast<double>(x_.n_rows());
  return best_of_each_size(std::move(found));
}

// Weighted, without what the free columns explain, and of unit norm.
void Pursuit::weigh_columns(Refiner& refiner, const Buffer& row_weights) {
  const Index stride = x_.features.stride(), n = dictionary_.n_columns();
  columns_.resize(x_.n_rows(), n);
  norms_.assign(n, 0.0);
  overlap_.assign(n, 0.0);
  for (Index j = 0; j < n; ++j) {
    if (j % 256 == 0) stop_if_asked();
    double* out = columns_[j];
    std::copy_n(dictionary_.column(j), stride, out);
    for (std::size_t i = 0; i < row_weights.size(); ++i) out[i] *= row_weights[i];
    const double before = std::sqrt(small_blas::dot(out, out, stride));
    if (std::isfinite(before)) refiner.project_free(out);
    const double norm = std::sqrt(small_blas::dot(out, out, stride));
    const bool usable = norm > kNothing * before && std::isfinite(norm);
    norms_[j] = usable ? norm : 0.0;
    for (Index i = 0; i < stride; ++i) out[i] = usable ? out[i] / norm : 0.0;
  }
  for (const Dictionary::Entry& entry : dictionary_.entries())
    if (entry.phase >= 0)
      overlap_[entry.column] =
          small_blas::dot(columns_[entry.column], columns_[entry.column + 1], stride);
  operations_ += 4.0 * static_cast<double>(n * stride * refiner.n_free());
}

// What each entry explains beside the model whose constants may move a little too.
std::vector<Pursuit::Pick> Pursuit::best_of_families(Refiner& refiner, const Model& model) {
  if (!std::isfinite(refiner.linearise(target_->data(), model.terms))) return {};
  const Index stride = columns_.stride(), n = columns_.n_columns();
  const Orthogonalizer& reach = refiner.reach();
  correlation_.resize(n);
  small_blas::dots(columns_[0], stride, n, refiner.rest().data(), correlation_.data());
  const Index n_directions = reach.size() - refiner.n_free();
  inside_.resize(n, n_directions);
  for (Index k = 0; k < n_directions; ++k)
    small_blas::dots(columns_[0], stride, n, reach.q(refiner.n_free() + k), inside_.col(k).data());
  left_ = Vector::Ones(n) - inside_.rowwise().squaredNorm();
  operations_ += 2.0 * static_cast<double>((n_directions + 1) * n * stride);

  const std::vector<Dictionary::Entry>& entries = dictionary_.entries();
  std::vector<Pick> best(dictionary_.n_families(), Pick{0, 0.0, 0.0});
  for (std::size_t e = 0; e < entries.size(); ++e) {
    if (model.inner + entries[e].inner > kMostInner) continue;
    const Pick candidate = pick(e);
    Pick& of_family = best[entries[e].family];
    if (candidate.gain > of_family.gain) of_family = candidate;
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Pick& a, const Pick& b) { return a.gain > b.gain; });
  while (!best.empty() && best.back().gain <= 0.0) best.pop_back();
  keep_first_of_each(best, widths_.tried,
                     [&](const Pick& pick) { return kind_of(entries[pick.entry].inner); });
  return best;
}

// Sine and cosine of one frequency count by what their span explains; the best combination is a
// sine with a phase.
Pursuit::Pick Pursuit::pick(std::size_t e) const {
  const Dictionary::Entry& entry = dictionary_.entries()[e];
  const Index j = entry.column;
  const double a = correlation_(j);
  const Pick nothing{e, 0.0, 0.0};
  if (norms_[j] == 0.0 || left_(j) < kLeastIndependent) return nothing;
  if (entry.phase < 0) return {e, a * a / left_(j), 0.0};
  const double b = correlation_(j + 1);
  if (left_(j + 1) < kLeastIndependent) return nothing;
  const double cross = overlap_[j] - inside_.row(j).dot(inside_.row(j + 1));
  const double determinant = left_(j) * left_(j + 1) - cross * cross;
  if (determinant < kLeastIndependent * left_(j) * left_(j + 1)) return nothing;
  const double of_sine = (left_(j + 1) * a - cross * b) / determinant;
  const double of_cosine = (left_(j) * b - cross * a) / determinant;
  const double phase = std::atan2(of_cosine / norms_[j + 1], of_sine / norms_[j]);
  return {e, of_sine * a + of_cosine * b, phase};
}

void Pursuit::add(Model& model, const Pick& pick) const {
  const Dictionary::Entry& entry = dictionary_.entries()[pick.entry];
  model.terms.push_back(entry.basis);
  model.inner += entry.inner;
  if (entry.phase >= 0) model.terms.back().weights[entry.phase] = pick.phase;
}

std::vector<Pursuit::Model> Pursuit::extensions(Refiner& refiner, const Model& model) {
  std::vector<Model> models;
  for (const Pick& pick : best_of_families(refiner, model)) {
    models.push_back(model);
    add(models.back(), pick);
  }
  refine_best(refiner, models, model.terms.empty() ? widths_.first : widths_.kept,
              [&](const Model& longer) { return kind_of(longer.inner - model.inner); });
  return models;
}

// Many are refined a little, the best of each class to the end.
void Pursuit::refine_best(Refiner& refiner, std::vector<Model>& models, std::size_t kept,
                          const std::function<int(const Model&)>& class_of) const {
  for (Model& model : models) model.left = refiner.improve(target_->data(), model.terms, kGlance);
  models.erase(std::remove_if(models.begin(), models.end(),
                              [](const Model& m) { return !std::isfinite(m.left); }),
               models.end());
  std::stable_sort(models.begin(), models.end(),
                   [&](const Model& a, const Model& b) { return score(a) < score(b); });
  keep_first_of_each(models, kept, class_of);
  for (Model& model : models) model.left = refiner.improve(target_->data(), model.terms, kFull);
  models.erase(std::remove_if(models.begin(), models.end(),
                              [&](const Model& m) { return is_degenerate(refiner, m); }),
               models.end());
}

// Entries with at most one constant; an oscillation is two columns, and is found by itself.
std::vector<std::size_t> Pursuit::paired_entries() const {
  std::vector<std::size_t> out;
  const std::vector<Dictionary::Entry>& entries = dictionary_.entries();
  for (std::size_t e = 0; e < entries.size() && out.size() < kPairedColumns; ++e) {
    const Index j = entries[e].column;
    if (entries[e].inner <= 1 && entries[e].phase < 0 && norms_[j] > 0.0 &&
        left_(j) >= kLeastIndependent)
      out.push_back(e);
  }
  return out;
}

// What two columns explain together follows from their correlations with the target and each
// other. Of each pair of families the best counts; a family's columns stand side by side.
std::vector<Pursuit::PairPick> Pursuit::best_pairs(const std::vector<std::size_t>& chosen) {
  const std::vector<Dictionary::Entry>& entries = dictionary_.entries();
  const auto m = ssize(chosen);
  Matrix columns(columns_.stride(), m), along(m, inside_.cols());
  for (Index k = 0; k < m; ++k) {
    const Index j = entries[chosen[k]].column;
    columns.col(k) = Eigen::Map<const Vector>(columns_[j], columns_.stride());
    along.row(k) = inside_.row(j);
  }
  operations_ += static_cast<double>(m * m * columns_.stride());
  const auto family = [&](Index k) { return entries[chosen[k]].family; };
  const auto by_gain = [](const PairPick& a, const PairPick& b) { return a.gain > b.gain; };
  const auto constants = [&](const PairPick& pick) {
    return entries[pick.first].inner + entries[pick.second].inner;
  };
  std::vector<PairPick> best, of_family(dictionary_.n_families());
  for (Index begin = 0, end = 0; begin < m; begin = end) {
    stop_if_asked();
    while (end < m && family(end) == family(begin)) ++end;
    const Matrix gram = columns.leftCols(end).transpose() * columns.middleCols(begin, end - begin) -
                        along.topRows(end) * along.middleRows(begin, end - begin).transpose();
    std::fill(of_family.begin(), of_family.end(), PairPick{});
    for (Index a = begin; a < end; ++a)
      for (Index b = 0; b < a; ++b) {
        const double bb = left_(entries[chosen[b]].column), ab = gram(b, a - begin);
        const double aa = gram(a, a - begin), determinant = aa * bb - ab * ab;
        if (determinant < kLeastIndependent * aa * bb) continue;
        const double ca = correlation_(entries[chosen[a]].column);
        const double cb = correlation_(entries[chosen[b]].column);
        const double gain = (ca * ca * bb - 2.0 * ca * cb * ab + cb * cb * aa) / determinant;
        PairPick& known = of_family[family(b)];
        if (gain > known.gain) known = {chosen[b], chosen[a], gain};
      }
    std::vector<PairPick> found;
    std::copy_if(of_family.begin(), of_family.end(), std::back_inserter(found),
                 [](const PairPick& pick) { return pick.gain > 0.0; });
    std::stable_sort(found.begin(), found.end(), by_gain);
    keep_first_of_each(found, widths_.tried, constants);
    best.insert(best.end(), found.begin(), found.end());
  }
  std::stable_sort(best.begin(), best.end(), by_gain);
  keep_first_of_each(best, widths_.tried, constants);
  return best;
}

std::vector<Pursuit::Model> Pursuit::pairs(Refiner& refiner) {
  if (best_of_families(refiner, Model{}).empty()) return {};
  std::vector<Model> models;
  for (const PairPick& pick : best_pairs(paired_entries())) {
    models.emplace_back();
    for (const std::size_t e : {pick.first, pick.second}) add(models.back(), {e, 0.0, 0.0});
  }
  refine_best(refiner, models, widths_.kept,
              [](const Model& model) { return kind_of(model.inner); });
  return models;
}

namespace {

// What three columns of unit norm explain follows from their correlations with the target and each
// other.
Pursuit::Triple weigh_triple(const Matrix& gram, const Vector& along,
                             const std::array<Index, 3>& places) {
  const auto [a, b, c] = places;
  Pursuit::Triple out{places, 0.0, {}};
  const double ab = gram(a, b), ac = gram(a, c), rest = 1.0 - ab * ab;
  if (rest < kLeastOfTriple) return out;
  const double of_b = along(b) - ab * along(a), bc = gram(b, c) - ab * ac;
  const double left = 1.0 - ac * ac - bc * bc / rest;
  if (left < kLeastOfTriple) return out;
  const double of_c = along(c) - ac * along(a) - bc * of_b / rest;
  const double third = of_c / left, second = (of_b - bc * third) / rest;
  out.gain = along(a) * along(a) + of_b * of_b / rest + of_c * third;
  out.signs = {along(a) > ab * second + ac * third, second > 0.0, third > 0.0};
  return out;
}

}  // namespace

// The first families with constants; an oscillation is two columns, and is found by itself.
std::vector<std::vector<std::size_t>> Pursuit::repeated_families() const {
  std::map<int, std::vector<std::size_t>> of_family;
  const std::vector<Dictionary::Entry>& entries = dictionary_.entries();
  for (std::size_t e = 0; e < entries.size(); ++e)
    if (entries[e].inner > 0 && entries[e].phase < 0 && norms_[entries[e].column] > 0.0)
      of_family[entries[e].family].push_back(e);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [family, members] : of_family)
    if (members.size() > 1 && out.size() < widths_.repeated) out.push_back(std::move(members));
  return out;
}

// Members of one family hide each other: of two peaks on a decay, or of three decays, no single one
// explains as much as some other function. So two of them are looked at together, with a third one
// or a simple term.
std::vector<Pursuit::Model> Pursuit::repetitions(Refiner& refiner) {
  if (widths_.repeated == 0 || best_of_families(refiner, Model{}).empty()) return {};
  std::vector<std::size_t> simple = paired_entries();
  simple.resize(std::min(simple.size(), kBesideRepeated));
  std::vector<Model> models;
  for (const std::vector<std::size_t>& members : repeated_families()) {
    stop_if_asked();
    std::vector<std::size_t> chosen = members;
    for (const std::size_t e : simple)
      if (std::find(members.begin(), members.end(), e) == members.end()) chosen.push_back(e);
    for (const Triple& triple : best_triples(chosen, ssize(members))) {
      Model model;
      for (const Index k : triple.places) add(model, {chosen[k], 0.0, 0.0});
      if (model.inner <= kMostInner) models.push_back(std::move(model));
    }
  }
  refine_best(refiner, models, widths_.kept, [](const Model& model) { return model.inner; });
  return models;
}

// Two of the first n_members entries with a third one or any other, the best few by what they
// explain, no two with third ones of the same family. Those whose members have coefficients of one
// sign count by themselves: on a coarse grid a difference of neighbours stands in for anything.
std::vector<Pursuit::Triple> Pursuit::best_triples(const std::vector<std::size_t>& chosen,
                                                   Index n_members) {
  const auto m = ssize(chosen);
  Matrix columns(columns_.stride(), m);
  Vector along(m);
  for (Index k = 0; k < m; ++k) {
    const Index j = dictionary_.entries()[chosen[k]].column;
    columns.col(k) = Eigen::Map<const Vector>(columns_[j], columns_.stride());
    along(k) = correlation_(j);
  }
  const Matrix gram = columns.transpose() * columns;
  operations_ += static_cast<double>(m * (m * columns_.stride() + 6 * n_members * n_members));
  std::map<std::pair<int, bool>, Triple> best;  // by the third one's family and the signs
  for (Index a = 0; a < n_members; ++a)
    for (Index b = a + 1; b < n_members; ++b)
      for (Index c = b + 1; c < m; ++c) {
        const Triple triple = weigh_triple(gram, along, {a, b, c});
        const bool one_sign = triple.signs[0] == triple.signs[1] &&
                              (c >= n_members || triple.signs[1] == triple.signs[2]);
        Triple& known = best[{dictionary_.entries()[chosen[c]].family, one_sign}];
        if (triple.gain > known.gain) known = triple;
      }
  std::vector<std::pair<bool, Triple>> sorted;
  for (const auto& [kind, triple] : best)
    if (triple.gain > 0.0) sorted.emplace_back(kind.second, triple);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.gain > b.second.gain; });
  keep_first_of_each(sorted, kTriplesEach, [](const auto& each) { return each.first ? 1 : 0; });
  std::vector<Triple> out;
  for (const auto& [one_sign, triple] : sorted) out.push_back(triple);
  return out;
}

bool Pursuit::is_degenerate(Refiner& refiner, const Model& model) const {
  if (!std::isfinite(refiner.linearise(target_->data(), model.terms))) return true;
  for (Index k = 0; k < ssize(model.terms); ++k) {
    if (model.terms[k].n_weights() == 0) continue;
    if (std::abs(refiner.coefficient(k)) * refiner.term_norm(k) > kCancelled * spread_) return true;
  }
  return false;
}

// Bayesian information criterion.
double Pursuit::score(const Model& model) const {
  const double n = static_cast<double>(x_.n_rows());
  return 2.0 * n * std::log(std::max(model.left, kExactly)) + std::log(n) * model.n_constants();
}

// The best, and the best with few constants inside: a truth of few constants may come out only with
// its other terms.
std::vector<Pursuit::Model> Pursuit::beam(std::vector<Model> models, std::size_t width) const {
  std::stable_sort(models.begin(), models.end(),
                   [&](const Model& a, const Model& b) { return score(a) < score(b); });
  drop_copies(models);
  keep_first_of_each(models, width, [](const Model& model) { return kind_of(model.inner); });
  return models;
}

// ---- simpler forms ---------------------------------------------------------------------------

namespace {

using composition::Operand;
using composition::Tree;

// sin(w t + p) without p; false if p is not near a quarter of a cycle.
bool drop_phase(Tree& tree, const Table& table) {
  const bool wave = tree.transformation == table.find("sin") &&
                    tree.argument == ArgumentType::weighted && tree.operands.size() == 2;
  if (!wave || tree.operands[1].feature != kOne) return false;
  const double quarters = tree.operands[1].weight / (0.5 * kPi);
  const double nearest = std::round(quarters);
  if (std::abs(quarters - nearest) * 0.5 * kPi > kPhaseDropped) return false;
  const bool cosine = std::fmod(std::abs(nearest), 2.0) == 1.0;
  if (cosine && table.find("cos") < 0) return false;
  tree.operands.pop_back();
  if (cosine) tree.transformation = static_cast<std::int16_t>(table.find("cos"));
  return true;
}

// exp(p ln x) as a power or a root, if p is near a whole number or a half.
bool write_power(Tree& tree, const Table& table) {
  const bool power = tree.transformation == table.find("exp") &&
                     tree.argument == ArgumentType::weighted && tree.operands.size() == 1 &&
                     !tree.operands[0].inner.empty();
  if (!power) return false;
  const Tree& logarithm = tree.operands[0].inner[0];
  if (logarithm.transformation != table.find("ln") || logarithm.operands.size() != 1 ||
      logarithm.argument != ArgumentType::variable || logarithm.operands[0].feature <= 0)
    return false;
  const auto halves = static_cast<int>(std::lround(2.0 * tree.operands[0].weight));
  const bool root = halves % 2 != 0;
  if (std::abs(tree.operands[0].weight - 0.5 * halves) > kPowerRounded || halves == 0 ||
      std::abs(halves) > kMostRoundedHalves ||
      (root && (std::abs(halves) != 1 || table.find("sqrt") < 0)))
    return false;
  const int f = logarithm.operands[0].feature;
  tree = monomial_tree(table, {{f, root ? 1 : halves / 2}});
  if (!root) return true;
  tree = composition::apply(table, table.find("sqrt"), tree);
  if (halves < 0) tree = composition::reciprocal(std::move(tree));
  return true;
}

// exp(c u), sin(c u + p) or cos(c u) with a c of no effect.
bool is_constant_factor(const Tree& tree, const Table& table) {
  const auto known = [&](const char* name) { return tree.transformation == table.find(name); };
  return tree.argument == ArgumentType::weighted &&
         (known("exp") || known("sin") || known("cos")) &&
         std::all_of(tree.operands.begin(), tree.operands.end(), [](const Operand& operand) {
           return operand.feature == kOne || std::abs(operand.weight) < kNoRate;
         });
}

bool simplify(Tree& tree, const Table& table) {
  bool changed = drop_phase(tree, table) || write_power(tree, table);
  for (Operand& operand : tree.operands)
    if (!operand.inner.empty()) changed = simplify(operand.inner[0], table) || changed;
  return changed;
}

}  // namespace

std::vector<Basis> simplified(const std::vector<Basis>& terms, const Table& table) {
  std::vector<Basis> out = terms;
  for (Basis& basis : out) {
    std::vector<Tree> factors = composition::factors(basis);
    const auto idle = std::remove_if(factors.begin(), factors.end(), [&](const Tree& factor) {
      return is_constant_factor(factor, table);
    });
    bool changed = idle != factors.end() && idle != factors.begin();
    if (changed) factors.erase(idle, factors.end());
    for (Tree& factor : factors) changed = simplify(factor, table) || changed;
    Basis simpler;
    if (changed && composition::write(factors, simpler))
      basis = canonical(simpler, table, kMaxVariables);
  }
  return out;
}

}  // namespace gsr
