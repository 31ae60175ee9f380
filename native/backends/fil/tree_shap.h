// SHAP values of a forest, by the paths of its trees and the training rows that took them
// (Lundberg et al., "Consistent Individualized Feature Attribution for Tree Ensembles", 2018,
// algorithm 2).
//
// Immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "forest.h"
#include "ranks.h"

namespace tritonts::fil {

class TreeShap {
 public:
  // The time grows with the square of the depth, and the path of a row has a place for each level.
  static constexpr uint32_t kMostLevels = 32;

  // Takes the forest. UNSUPPORTED: a tree is too deep, has linear leaves, or its nodes have no
  // covers. Throws std::bad_alloc.
  static StatusOr<std::unique_ptr<const TreeShap>> Make(Forest forest);

  // The values of a row: for each column one a feature, and the expected margin.
  size_t width() const { return forest_.columns * (size_t{forest_.features} + 1); }
  // Computes the values of each row. `sums` has space for width() numbers.
  void Explain(const Rows& rows, double* sums, float* output) const;
  // About the time of so many rows on one thread.
  double EstimatedNs(size_t rows) const { return static_cast<double>(rows) * row_ns_; }

 private:
  explicit TreeShap(Forest forest) : forest_(std::move(forest)) {}

  Forest forest_;
  std::vector<double> expected_;  // the mean margin of each column, with the base
  std::vector<double> trees_of_;  // by column: what sums are divided by
  double row_ns_ = 0;
};

}  // namespace tritonts::fil
