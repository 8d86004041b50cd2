// An island: an evolution that can be sent, saved and joined with others. Selection and replacement
// have the names that pagmo gives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gsr/evolution.hpp"

namespace gsr {

enum class EmigrantSelection { best, random };
// fair: the best of residents and immigrants stay; worst, random: immigrants take the places of
// those, whatever their fitness; the best resident always stays.
enum class Replacement { fair, worst, random };

class Island : public Evolution {
 public:
  explicit Island(Problem problem) : Evolution(std::move(problem)) {}

  // Copies of `n` individuals, what the guide has learned, and laws. The same epoch draws the same
  // ones.
  std::string emigrants(int n, EmigrantSelection selection, std::uint64_t epoch);
  // Returns how many of them stay. What the sender knew is learned if `knowledge`.
  int accept(std::string_view migrants, Replacement replacement, std::uint64_t epoch,
             bool knowledge = true);

  std::string save() const;
  void load(std::string_view saved);
  // Takes over what is best of another island that ends.
  void absorb(std::string_view saved);

  // Front and runners-up, to be merged where the results are made.
  std::string laws() const;
  void add_laws(std::string_view laws);

 private:
  // What the guide of another island knows.
  struct Knowledge {
    Promises promises;
    std::vector<std::pair<Law, int>> laws;  // and whether their neighbours were looked at
  };
  void write_knowledge(Writer& writer);
  static Knowledge read_knowledge(Reader& reader);
  void learn(const Knowledge& knowledge);
  int settle(std::vector<Individual>& guests, Replacement replacement, std::uint64_t epoch);
};

}  // namespace gsr
