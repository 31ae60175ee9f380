#include "evaluator.h"

#include <algorithm>
#include <cmath>

#include "transform.h"

namespace tritonts::fil {

namespace {

// So few rows are walked one after the other, because a kernel walks several rows in the same time.
constexpr size_t kFewRows = 4;

// The ranks of a chunk, and the trees of a tile, share the second cache.
constexpr size_t kMostRankBytes = size_t{512} << 10;
constexpr size_t kMostTileBytes = size_t{192} << 10;
constexpr size_t kMostChunkRows = 2048;

size_t BlocksOf(size_t rows) {
  return (rows + kBlockRows - 1) / kBlockRows;
}

// About the memory that a walk touches.
size_t TreeBytes(const CompiledForest& forest, const CompiledTree* tree) {
  const size_t value = forest.float_sums ? sizeof(float) : sizeof(double);
  const size_t leaves = size_t{1} << std::min(tree->levels, 14U);
  return leaves * (value + sizeof(uint32_t));
}

}  // namespace

size_t AnswerRule::width(const CompiledForest& forest) const {
  switch (answer) {
    case Answer::kClass:
      return 1;
    case Answer::kTwoColumns:
      return 2;
    case Answer::kValues:
      break;
  }
  return forest.transform == Transform::kMaxIndex ? 1 : forest.columns;
}

void Scratch::Reserve(const CompiledForest& forest, size_t rows) {
  const size_t padded = rows <= kFewRows ? rows : BlocksOf(rows) * kBlockRows;
  const size_t all_ranks = padded * forest.rank_columns;
  if (ranks.size() < all_ranks) ranks.resize(all_ranks);
  const size_t sums = (padded + 1) * forest.columns;  // and the margins of a row
  if (forest.float_sums) {
    if (float_sums.size() < sums) float_sums.resize(sums);
  } else if (double_sums.size() < sums) {
    double_sums.resize(sums);
  }
}

Evaluator::Evaluator(const CompiledForest& forest, const Kernel& kernel)
    : forest_(forest), kernel_(kernel), row_ns_(forest.steps) {
  for (const Part& part : forest.parts) {
    row_ns_ += 8 * static_cast<double>(part.features.size());
    size_t bytes = 0;
    for (size_t i = part.first_tree; i < part.first_tree + part.trees; i++) {
      const size_t own = TreeBytes(forest, &forest.trees[i]);
      if (i == part.first_tree || bytes + own > kMostTileBytes) {
        tiles_.push_back(i);
        bytes = 0;
      }
      bytes += own;
    }
  }
  tiles_.push_back(forest.trees.size());
  const size_t blocks =
      kMostRankBytes / (size_t{forest.rank_columns} * kBlockRows * sizeof(uint16_t));
  chunk_rows_ = tiles_.size() <= 2
                    ? kBlockRows
                    : std::clamp(blocks * kBlockRows, size_t{kBlockRows}, kMostChunkRows);
}

template <typename Sum>
void Evaluator::Start(Sum* sums, size_t stride, size_t count) const {
  for (size_t column = 0; column < forest_.columns; column++) {
    const Sum first = forest_.begins_with_base() ? static_cast<Sum>(forest_.base[column]) : Sum{0};
    std::fill_n(sums + column * stride, count, first);
  }
}

template <typename Sum>
void Evaluator::Finish(const Sum* sums, size_t stride, size_t count, const AnswerRule& rule,
                       Sum* margins, float* output) const {
  const size_t columns = forest_.columns;
  for (size_t row = 0; row < count; row++) {
    for (size_t column = 0; column < columns; column++) {
      Sum margin = sums[column * stride + row];
      if (forest_.averages && forest_.trees_of[column] > 0) {
        margin /= static_cast<Sum>(forest_.trees_of[column]);
      }
      if (!forest_.begins_with_base()) margin += static_cast<Sum>(forest_.base[column]);
      margins[column] = margin;
    }
    const size_t values = TransformMargins(forest_, margins, columns);
    switch (rule.answer) {
      case Answer::kValues:
        for (size_t i = 0; i < values; i++) *output++ = static_cast<float>(margins[i]);
        break;
      case Answer::kClass:
        if (columns == 1) {
          *output++ = static_cast<float>(margins[0]) > rule.threshold ? 1.0F : 0.0F;
        } else if (values == 1) {
          *output++ = static_cast<float>(margins[0]);
        } else {
          *output++ = static_cast<float>(std::max_element(margins, margins + values) - margins);
        }
        break;
      case Answer::kTwoColumns: {
        const auto p = static_cast<float>(margins[0]);
        *output++ = 1.0F - p;
        *output++ = p;
        break;
      }
    }
  }
}

template <typename Sum>
void Evaluator::AddLeaf(const CompiledTree& tree, uint32_t leaf, const float* row, size_t stride,
                        Sum* sums) const {
  if (tree.leaf_kind == LeafKind::kValue) {
    if constexpr (sizeof(Sum) == sizeof(float)) {
      sums[tree.column * stride] += forest_.float_leaves[tree.leaves + leaf];
    } else {
      sums[tree.column * stride] += forest_.double_leaves[tree.leaves + leaf];
    }
    return;
  }
  const size_t place = tree.first_place + forest_.leaf_places[tree.leaves + leaf];
  if (tree.leaf_kind == LeafKind::kVector) {
    for (size_t column = 0; column < forest_.columns; column++) {
      sums[column * stride] += static_cast<Sum>(forest_.leaf_vectors[place + column]);
    }
    return;
  }
  const CompiledLinearLeaf& linear = forest_.linear_leaves[place];
  double value = linear.constant;
  for (uint32_t i = 0; i < linear.terms; i++) {
    const LinearTerm& term = forest_.linear_terms[linear.first_term + i];
    if (std::isnan(row[term.feature])) {
      value = linear.value;
      break;
    }
    value += term.coefficient * row[term.feature];
  }
  sums[tree.column * stride] += static_cast<Sum>(value);
}

template <typename Sum>
void Evaluator::AddTrees(size_t first, size_t count, const Rows& rows, const uint16_t* ranks,
                         Sum* sums) const {
  const CompiledTree* const trees = forest_.trees.data();
  const auto has_values = [](const CompiledTree& tree) {
    return tree.shape != TreeShape::kPlain && tree.leaf_kind == LeafKind::kValue;
  };
  const auto in_block = static_cast<uint32_t>(rows.count);
  for (size_t i = first; i < first + count;) {
    size_t past = i;
    while (past < first + count && has_values(trees[past])) past++;
    if (past > i) {
      fil::AddTrees(kernel_, forest_, trees + i, past - i, ranks, in_block, sums);
      i = past;
      continue;
    }
    const CompiledTree& tree = trees[i++];
    uint32_t leaves[kBlockRows];
    if (tree.shape == TreeShape::kPlain) {
      for (size_t row = 0; row < rows.count; row++) {
        leaves[row] = FindPlain(forest_, tree, rows.row(row));
      }
    } else {
      FindLeaves(kernel_, forest_, tree, ranks, in_block, leaves);
    }
    for (size_t row = 0; row < rows.count; row++) {
      AddLeaf(tree, leaves[row], rows.row(row), kBlockRows, sums + row);
    }
  }
}

template <typename Sum>
void Evaluator::EvaluateEach(const Rows& rows, const AnswerRule& rule, Scratch* scratch, Sum* sums,
                             float* output) const {
  uint16_t* const ranks = scratch->ranks.data();
  for (size_t row = 0; row < rows.count; row++) {
    const float* const values = rows.row(row);
    Start(sums, 1, 1);
    for (const Part& part : forest_.parts) {
      RankRow(part, values, ranks);
      for (size_t i = part.first_tree; i < part.first_tree + part.trees;) {
        const CompiledTree& tree = forest_.trees[i++];
        if (tree.alike) {
          uint32_t leaves[kAlike];
          FindAlike(forest_, &tree, ranks, leaves);
          for (uint32_t k = 0; k < kAlike; k++) AddLeaf((&tree)[k], leaves[k], values, 1, sums);
          i += kAlike - 1;
          continue;
        }
        const uint32_t leaf = tree.shape == TreeShape::kPlain ? FindPlain(forest_, tree, values)
                                                              : FindOne(forest_, tree, ranks);
        AddLeaf(tree, leaf, values, 1, sums);
      }
    }
    Finish(sums, 1, 1, rule, sums + forest_.columns, output);
    output += rule.width(forest_);
  }
}

template <typename Sum>
void Evaluator::EvaluateAs(const Rows& rows, const AnswerRule& rule, Scratch* scratch, Sum* sums,
                           float* output) const {
  if (rows.count <= kFewRows) return EvaluateEach(rows, rule, scratch, sums, output);
  const size_t blocks = BlocksOf(rows.count);
  const size_t sums_of_block = kBlockRows * forest_.columns;
  const auto block_of = [&](size_t block) {
    const size_t first = block * kBlockRows;
    return Rows{rows.row(first), rows.width, std::min<size_t>(kBlockRows, rows.count - first)};
  };
  for (size_t block = 0; block < blocks; block++) {
    Start(sums + block * sums_of_block, kBlockRows, kBlockRows);
  }
  size_t tile = 0;
  for (const Part& part : forest_.parts) {
    const size_t ranks_of_block = size_t{part.rank_columns} * kBlockRows;
    for (size_t block = 0; block < blocks; block++) {
      RankBlock(part, block_of(block), scratch->ranks.data() + block * ranks_of_block);
    }
    for (; tiles_[tile] < part.first_tree + part.trees; tile++) {
      for (size_t block = 0; block < blocks; block++) {
        AddTrees(tiles_[tile], tiles_[tile + 1] - tiles_[tile], block_of(block),
                 scratch->ranks.data() + block * ranks_of_block, sums + block * sums_of_block);
      }
    }
  }
  const size_t width = rule.width(forest_);
  for (size_t block = 0; block < blocks; block++) {
    Finish(sums + block * sums_of_block, kBlockRows, block_of(block).count, rule,
           sums + blocks * sums_of_block, output + block * kBlockRows * width);
  }
}

void Evaluator::Evaluate(const Rows& rows, const AnswerRule& rule, Scratch* scratch,
                         float* output) const {
  scratch->Reserve(forest_, rows.count);
  if (forest_.float_sums) {
    EvaluateAs(rows, rule, scratch, scratch->float_sums.data(), output);
  } else {
    EvaluateAs(rows, rule, scratch, scratch->double_sums.data(), output);
  }
}

}  // namespace tritonts::fil
