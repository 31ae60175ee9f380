// SHAP values of a forest, by the paths of its trees and the training rows that took them
// (Lundberg et al., "Consistent Individualized Feature Attribution for Tree Ensembles", 2018,
// algorithm 2).
//
// Immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "forest.h"
#include "ranks.h"

namespace tritonts::fil {

class TreeShap {
 public:
  // The deepest trees whose values can be computed: the time grows with the square of the depth.
  static constexpr uint32_t kMostLevels = 32;

  // Takes the forest. UNSUPPORTED: a tree is too deep, has linear leaves, or has no covers.
  static StatusOr<std::unique_ptr<const TreeShap>> Make(Forest forest);

  // The values of a row: for each column one a feature, and the expected margin.
  size_t width() const { return forest_.columns * (size_t{forest_.features} + 1); }
  // Computes the values of each row.
  void Explain(const Rows& rows, float* output) const;
  double EstimatedNs(size_t rows) const;

 private:
  explicit TreeShap(Forest forest) : forest_(std::move(forest)) {}

  const Forest forest_;
};

}  // namespace tritonts::fil
