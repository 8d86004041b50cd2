// Where laws are sought: candidate columns, the free columns beside them, and how a choice of
// columns becomes a law. Sums are one space, sums of logarithms, which are products, another; both
// may be restricted to some of the candidates.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "goals.hpp"
#include "gsr/ols.hpp"
#include "proposer.hpp"
#include "terms.hpp"

namespace gsr::guide {

// Columns that every law of a space has, and the terms that a proposal must name for them.
struct Free {
  Columns columns;
  std::vector<Basis> terms;
};
// 1 and the given terms; no columns if one of them has no values on these rows.
Free constant_and(const std::vector<Basis>& terms, const Dataset& x, const Table& table);

class Space {
 public:
  // Columns are multiplied by `factor`, if there is one.
  Space(const Problem& problem, const Candidates& candidates, std::vector<Candidate> list,
        Free free, const Buffer& factor = {});
  // With functions that have constants inside after the plain candidates.
  Space(const Problem& problem, const Candidates& candidates, std::vector<Candidate> list,
        Free free, std::unique_ptr<Parametric> parametric);

  using Rule = std::function<bool(const Candidate&)>;
  // The cheapest `most` of the candidates that the rule holds for.
  Space restricted(const Rule& rule, Index most = std::numeric_limits<Index>::max()) const;
  // The same candidates beside other columns.
  Space beside(Free other, std::size_t most) const;
  Space weighed(const Buffer& weights) const;

  Index size() const { return pool.size(); }
  Index n_plain() const { return ssize(list); }
  const Candidates& candidates() const { return candidates_; }
  const Parametric& parametric() const { return *parametric_; }
  Trees factors(Index column) const;
  void propose(const Goal& goal, const ols::Choice& choice, Proposer& proposer) const;
  // The product that a logarithm stands for, by a fit on the rows of the pool alone.
  void propose_by_pool(const Goal& goal, const ols::Choice& choice, Proposer& proposer) const;

  const std::vector<Candidate> list;
  const Free free;
  ols::Pool pool;

 private:
  Law fit_on_rows(const Goal& goal, const ols::Choice& choice) const;

  const Problem& problem_;
  const Candidates& candidates_;
  std::unique_ptr<Parametric> parametric_;
};

// Both spaces of a stage, with what their columns are made of.
class Spaces {
 public:
  std::unique_ptr<Candidates> candidates;
  std::unique_ptr<Space> sums, products;

  // Both return the work.
  double build(const Sample& sample);
  // As far as `reach` goes, with logarithms before other factors of products.
  double build_deep(const Sample& sample, Reach reach);
  void clear();
  Space& of(Form form) const { return form == Form::sum ? *sums : *products; }

 private:
  void make_candidates(const Sample& sample, const Reach& reach);
  void make_products(const Sample& sample, const Reach& reach, int logarithms_cheaper = 0);
};

// The first `most`.
std::vector<Candidate> cheapest(const std::vector<Candidate>& list, std::size_t most);

}  // namespace gsr::guide
