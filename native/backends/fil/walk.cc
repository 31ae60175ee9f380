#include "walk.h"

#include <algorithm>

#include "decide.h"

namespace tritonts::fil {

namespace {

bool GoesLeft(const CompiledForest& forest, const PlainNode& node, float value) {
  if (IsMissing(value, node.zero_is_missing)) return node.missing_left;
  if (!node.is_category) return value < node.threshold;
  return InSet(forest.category_words.data() + node.first_word, node.words,
               forest.truncates_negatives, value);
}

// 1 if the row goes right.
uint32_t Right(uint32_t word, const uint16_t* ranks, uint32_t row) {
  const auto rank = static_cast<int16_t>(ranks[(word & 0xffff) * kBlockRows + row]);
  return rank > static_cast<int32_t>(word) >> 16 ? 1 : 0;
}

void WalkBlocks(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
                uint32_t rows, uint32_t* at) {
  const uint32_t* words = forest.words.data() + tree.nodes;
  for (uint32_t level = kTopLevels; level < tree.levels;) {
    const uint32_t levels = std::min(tree.levels - level, kBlockLevels);
    uint32_t in_block[kBlockRows];
    for (uint32_t row = 0; row < rows; row++) {
      at[row] <<= levels;
      in_block[row] = 1;
    }
    for (uint32_t i = 0; i < levels; i++) {
      for (uint32_t row = 0; row < rows; row++) {
        in_block[row] = 2 * in_block[row] + Right(words[at[row] + in_block[row]], ranks, row);
      }
    }
    for (uint32_t row = 0; row < rows; row++) at[row] += in_block[row] - (1U << levels);
    words += size_t{1} << level << levels;
    level += levels;
  }
}

void WalkLinks(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
               uint32_t rows, uint32_t* at) {
  const LinkedNode* const links = forest.links.data() + tree.nodes;
  const uint32_t* const exits = forest.words.data() + tree.exits;
  for (uint32_t row = 0; row < rows; row++) at[row] = exits[at[row]];
  for (uint32_t moved = 1; moved != 0;) {
    moved = 0;
    for (uint32_t row = 0; row < rows; row++) {
      const LinkedNode& node = links[at[row]];
      const uint32_t next = node.left + Right(node.word, ranks, row);
      moved |= next ^ at[row];
      at[row] = next;
    }
  }
}

const float* LeavesOf(const CompiledForest& forest, const CompiledTree& tree, const float*) {
  return forest.float_leaves.data() + tree.leaves;
}
const double* LeavesOf(const CompiledForest& forest, const CompiledTree& tree, const double*) {
  return forest.double_leaves.data() + tree.leaves;
}

template <typename Sum>
void AddTreesAs(const Kernel& kernel, const CompiledForest& forest, const CompiledTree* trees,
                size_t count, const uint16_t* ranks, uint32_t rows, Sum* sums) {
  for (size_t i = 0; i < count; i++) {
    const CompiledTree& tree = trees[i];
    const TopNode* const top = forest.top_nodes.data() + tree.top;
    const Sum* const leaves = LeavesOf(forest, tree, sums);
    Sum* const to = sums + size_t{tree.column} * kBlockRows;
    if (tree.shape == TreeShape::kTop) {
      if constexpr (sizeof(Sum) == sizeof(float)) {
        if (kernel.add_exits) {
          kernel.add_exits(top, tree.top_levels, leaves, ranks, rows, to);
          continue;
        }
      }
      uint16_t exits[kBlockRows];
      kernel.find_exits(top, tree.top_levels, ranks, rows, exits);
      for (uint32_t row = 0; row < rows; row++) to[row] += leaves[exits[row]];
      continue;
    }
    uint32_t at[kBlockRows];
    FindLeaves(kernel, forest, tree, ranks, rows, at);
    for (uint32_t row = 0; row < rows; row++) to[row] += leaves[at[row]];
  }
}

}  // namespace

void AddTrees(const Kernel& kernel, const CompiledForest& forest, const CompiledTree* trees,
              size_t count, const uint16_t* ranks, uint32_t rows, float* sums) {
  AddTreesAs(kernel, forest, trees, count, ranks, rows, sums);
}

void AddTrees(const Kernel& kernel, const CompiledForest& forest, const CompiledTree* trees,
              size_t count, const uint16_t* ranks, uint32_t rows, double* sums) {
  AddTreesAs(kernel, forest, trees, count, ranks, rows, sums);
}

void FindLeaves(const Kernel& kernel, const CompiledForest& forest, const CompiledTree& tree,
                const uint16_t* ranks, uint32_t rows, uint32_t* leaves) {
  uint16_t exits[kBlockRows];
  kernel.find_exits(forest.top_nodes.data() + tree.top, tree.top_levels, ranks, rows, exits);
  for (uint32_t row = 0; row < rows; row++) leaves[row] = exits[row];
  if (tree.shape == TreeShape::kBlocks) {
    WalkBlocks(forest, tree, ranks, rows, leaves);
  } else if (tree.shape == TreeShape::kLinked) {
    WalkLinks(forest, tree, ranks, rows, leaves);
  }
}

const std::vector<const Kernel*>& Kernels() {
  static const auto* const kernels = [] {
    auto* const found = new std::vector<const Kernel*>();
    for (const Kernel* kernel : {Avx512Kernel(), Avx2Kernel(), GenericKernel()}) {
      if (kernel) found->push_back(kernel);
    }
    return found;
  }();
  return *kernels;
}

uint32_t FindPlain(const CompiledForest& forest, const CompiledTree& tree, const float* row) {
  const PlainNode* const nodes = forest.plain.data() + tree.nodes;
  uint32_t at = 0;
  while (nodes[at].left != 0) {
    const PlainNode& node = nodes[at];
    at = node.left + (GoesLeft(forest, node, row[node.feature]) ? 0 : 1);
  }
  return at;
}

namespace {

// 1 if the row goes right at a node of the top. Without a branch, which would often be predicted
// wrongly.
uint32_t RightAtTop(TopNode node, const uint16_t* ranks) {
  const auto rank = static_cast<int16_t>(ranks[node.column]);
  return static_cast<uint32_t>(static_cast<int16_t>(node.rank) <= rank);
}

uint32_t RightAt(uint32_t word, const uint16_t* ranks) {
  const auto rank = static_cast<int16_t>(ranks[word & 0xffff]);
  return static_cast<uint32_t>(rank > static_cast<int32_t>(word) >> 16);
}

// Walks complete trees with equal numbers of levels.
template <uint32_t kCount>
void WalkComplete(const CompiledForest& forest, const CompiledTree* trees, const uint16_t* ranks,
                  uint32_t* leaves) {
  const TopNode* top[kCount];
  uint32_t at[kCount];
  for (uint32_t i = 0; i < kCount; i++) {
    top[i] = forest.top_nodes.data() + trees[i].top;
    at[i] = 1;
  }
  for (uint32_t level = 0; level < trees->top_levels; level++) {
    for (uint32_t i = 0; i < kCount; i++) at[i] = 2 * at[i] + RightAtTop(top[i][at[i]], ranks);
  }
  for (uint32_t i = 0; i < kCount; i++) leaves[i] = at[i] - (1U << trees->top_levels);
  const uint32_t* words[kCount];
  for (uint32_t i = 0; i < kCount; i++) words[i] = forest.words.data() + trees[i].nodes;
  for (uint32_t level = kTopLevels; level < trees->levels;) {
    const uint32_t levels = std::min(trees->levels - level, kBlockLevels);
    const uint32_t* block[kCount];
    for (uint32_t i = 0; i < kCount; i++) {
      block[i] = words[i] + (size_t{leaves[i]} << levels);
      at[i] = 1;
    }
    for (uint32_t step = 0; step < levels; step++) {
      for (uint32_t i = 0; i < kCount; i++) at[i] = 2 * at[i] + RightAt(block[i][at[i]], ranks);
    }
    for (uint32_t i = 0; i < kCount; i++) {
      leaves[i] = (leaves[i] << levels) + at[i] - (1U << levels);
      words[i] += size_t{1} << level << levels;
    }
    level += levels;
  }
}

template <uint32_t kCount>
void WalkLinked(const CompiledForest& forest, const CompiledTree* trees, const uint16_t* ranks,
                uint32_t* leaves) {
  const TopNode* top[kCount];
  const LinkedNode* links[kCount];
  uint32_t at[kCount];
  for (uint32_t i = 0; i < kCount; i++) {
    top[i] = forest.top_nodes.data() + trees[i].top;
    links[i] = forest.links.data() + trees[i].nodes;
    at[i] = 1;
  }
  for (uint32_t level = 0; level < kTopLevels; level++) {
    for (uint32_t i = 0; i < kCount; i++) at[i] = 2 * at[i] + RightAtTop(top[i][at[i]], ranks);
  }
  for (uint32_t i = 0; i < kCount; i++) {
    at[i] = forest.words[trees[i].exits + at[i] - (1U << kTopLevels)];
  }
  for (uint32_t moved = 1; moved != 0;) {
    moved = 0;
    for (uint32_t i = 0; i < kCount; i++) {
      const LinkedNode node = links[i][at[i]];
      const uint32_t next = node.left + RightAt(node.word, ranks);
      moved |= next ^ at[i];
      at[i] = next;
    }
  }
  for (uint32_t i = 0; i < kCount; i++) leaves[i] = at[i];
}

}  // namespace

void FindAlike(const CompiledForest& forest, const CompiledTree* trees, const uint16_t* ranks,
               uint32_t* leaves) {
  if (trees->shape == TreeShape::kLinked) return WalkLinked<kAlike>(forest, trees, ranks, leaves);
  WalkComplete<kAlike>(forest, trees, ranks, leaves);
}

uint32_t FindOne(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks) {
  uint32_t leaf = 0;
  if (tree.shape == TreeShape::kLinked) {
    WalkLinked<1>(forest, &tree, ranks, &leaf);
  } else {
    WalkComplete<1>(forest, &tree, ranks, &leaf);
  }
  return leaf;
}

}  // namespace tritonts::fil
