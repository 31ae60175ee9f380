// Turns values of rows into ranks (compiled_forest.h). Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiled_forest.h"

namespace tritonts::fil {

// Rows of an input: `count` rows of `width` values each.
struct Rows {
  const float* values = nullptr;
  size_t width = 0;
  size_t count = 0;

  const float* row(size_t index) const { return values + index * width; }
};

// Ranks the values of at most kBlockRows rows: `ranks` gets kBlockRows ranks for each column of the
// part, of which the first `rows.count` are set. Ranks are minus kRankBias.
void RankBlock(const Part& part, const Rows& rows, uint16_t* ranks);

// The same for one row: `ranks` gets one rank for each column.
void RankRow(const Part& part, const float* row, uint16_t* ranks);

}  // namespace tritonts::fil
