// The kernel for any processor: SSE2 and NEON compare eight ranks at once by the compiler's vector
// types. The levels below the top are walked row by row, all rows of a block in step, because these
// processors cannot gather.
#include <algorithm>
#include <cstring>

#include "walk.h"

namespace tritonts::fil {

namespace {

constexpr uint32_t kLanes = 8;

#if defined(__GNUC__)
// Lanes of comparisons are 0 or -1.
using Lanes __attribute__((vector_size(16))) = int16_t;

Lanes Load(const uint16_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
Lanes Less(Lanes a, Lanes b) {
  return a < b;
}
Lanes Select(Lanes mask, Lanes yes, Lanes no) {
  return (mask & yes) | (~mask & no);
}
#else
struct Lanes {
  int16_t at[kLanes] = {};
};
template <typename Make>
Lanes Each(Make make) {
  Lanes lanes;
  for (uint32_t i = 0; i < kLanes; i++) lanes.at[i] = static_cast<int16_t>(make(i));
  return lanes;
}
Lanes operator-(Lanes lanes, int16_t value) {
  return Each([&](uint32_t i) { return lanes.at[i] - value; });
}
Lanes operator+(Lanes lanes, int16_t value) {
  return Each([&](uint32_t i) { return lanes.at[i] + value; });
}
Lanes operator+(Lanes a, Lanes b) {
  return Each([&](uint32_t i) { return a.at[i] + b.at[i]; });
}
Lanes Load(const uint16_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
Lanes Less(Lanes a, Lanes b) {
  return Each([&](uint32_t i) { return a.at[i] < b.at[i] ? -1 : 0; });
}
Lanes Select(Lanes mask, Lanes yes, Lanes no) {
  return Each([&](uint32_t i) { return mask.at[i] ? yes.at[i] : no.at[i]; });
}
#endif

// The lanes that go left at a node of the top.
Lanes Left(const TopNode* node, const uint16_t* ranks) {
  const auto rank = static_cast<int16_t>(node->rank);
  return Less(Load(ranks + size_t{node->column} * kBlockRows), Lanes{} + rank);
}

// Tests all nodes of the top for eight rows. Returns the rows' exits.
template <uint32_t kLevels>
Lanes Exits(const TopNode* top, const uint16_t* ranks) {
  Lanes exits = Lanes{} + static_cast<int16_t>((1 << kLevels) - 1);
  if constexpr (kLevels > 0) {
    const Lanes first = Left(top + 1, ranks);
    Lanes path = first;  // minus the exits that lie to the right
    if constexpr (kLevels > 1) {
      const Lanes second = Select(first, Left(top + 2, ranks), Left(top + 3, ranks));
      path = path + path + second;
      if constexpr (kLevels > 2) {
        const Lanes third =
            Select(second, Select(first, Left(top + 4, ranks), Left(top + 6, ranks)),
                   Select(first, Left(top + 5, ranks), Left(top + 7, ranks)));
        path = path + path + third;
        if constexpr (kLevels > 3) {
          Lanes fourth[4];
          for (uint32_t i = 0; i < 4; i++) {
            fourth[i] = Select(first, Left(top + 8 + i, ranks), Left(top + 12 + i, ranks));
          }
          path = path + path +
                 Select(third, Select(second, fourth[0], fourth[2]),
                        Select(second, fourth[1], fourth[3]));
        }
      }
    }
    exits = exits + path;
  }
  return exits;
}

template <uint32_t kLevels>
void FindExits(const TopNode* top, const uint16_t* ranks, uint32_t rows, uint32_t* exits) {
  for (uint32_t row = 0; row < rows; row += kLanes) {
    const Lanes found = Exits<kLevels>(top, ranks + row);
    uint16_t each[kLanes];
    std::memcpy(each, &found, sizeof(each));
    for (uint32_t i = 0; i < kLanes; i++) exits[row + i] = each[i];
  }
}

// 1 if the row goes right.
uint32_t Right(uint32_t word, const uint16_t* ranks, uint32_t row) {
  const auto rank = static_cast<int16_t>(ranks[(word & 0xffff) * kBlockRows + row]);
  return rank > static_cast<int32_t>(word) >> 16 ? 1 : 0;
}

void FindLevels(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
                uint32_t rows, uint32_t* leaves) {
  const uint32_t* const words = forest.words.data() + tree.nodes;
  for (uint32_t row = 0; row < rows; row++) leaves[row] += 1U << kTopLevels;
  for (uint32_t level = kTopLevels; level < tree.levels; level++) {
    for (uint32_t row = 0; row < rows; row++) {
      leaves[row] = 2 * leaves[row] + Right(words[leaves[row]], ranks, row);
    }
  }
  for (uint32_t row = 0; row < rows; row++) leaves[row] -= 1U << tree.levels;
}

void FindBlocks(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
                uint32_t rows, uint32_t* leaves) {
  const uint32_t* words = forest.words.data() + tree.nodes;
  for (uint32_t level = kTopLevels; level < tree.levels;) {
    const uint32_t levels = std::min(tree.levels - level, kTopLevels);
    uint32_t at[kBlockRows];
    for (uint32_t row = 0; row < rows; row++) at[row] = 1;
    for (uint32_t i = 0; i < levels; i++) {
      for (uint32_t row = 0; row < rows; row++) {
        const uint32_t word = words[(leaves[row] << levels) + at[row]];
        at[row] = 2 * at[row] + Right(word, ranks, row);
      }
    }
    for (uint32_t row = 0; row < rows; row++) {
      leaves[row] = (leaves[row] << levels) + at[row] - (1U << levels);
    }
    words += size_t{1} << level << levels;
    level += levels;
  }
}

void FindLinked(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
                uint32_t rows, uint32_t* leaves) {
  const LinkedNode* const links = forest.links.data() + tree.nodes;
  for (uint32_t row = 0; row < rows; row++) leaves[row] = forest.words[tree.exits + leaves[row]];
  for (uint32_t moved = 1; moved != 0;) {
    moved = 0;
    for (uint32_t row = 0; row < rows; row++) {
      const LinkedNode& node = links[leaves[row]];
      const uint32_t next = node.left + Right(node.word, ranks, row);
      moved |= next ^ leaves[row];
      leaves[row] = next;
    }
  }
}

void Find(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
          uint32_t rows, uint32_t* leaves) {
  const TopNode* const top = forest.top_nodes.data() + tree.top;
  switch (tree.top_levels) {
    case 0:
      FindExits<0>(top, ranks, rows, leaves);
      break;
    case 1:
      FindExits<1>(top, ranks, rows, leaves);
      break;
    case 2:
      FindExits<2>(top, ranks, rows, leaves);
      break;
    case 3:
      FindExits<3>(top, ranks, rows, leaves);
      break;
    default:
      FindExits<4>(top, ranks, rows, leaves);
      break;
  }
  switch (tree.shape) {
    case TreeShape::kLevels:
      return FindLevels(forest, tree, ranks, rows, leaves);
    case TreeShape::kBlocks:
      return FindBlocks(forest, tree, ranks, rows, leaves);
    case TreeShape::kLinked:
      return FindLinked(forest, tree, ranks, rows, leaves);
    default:
      return;
  }
}

template <typename Sum>
void Add(const CompiledForest& forest, const Sum* values, const CompiledTree* trees, size_t count,
         const uint16_t* ranks, uint32_t rows, Sum* sums) {
  uint32_t leaves[kBlockRows];
  for (size_t i = 0; i < count; i++) {
    const CompiledTree& tree = trees[i];
    Find(forest, tree, ranks, rows, leaves);
    const Sum* const own = values + tree.leaves;
    Sum* const to = sums + size_t{tree.column} * kBlockRows;
    for (uint32_t row = 0; row < rows; row++) to[row] += own[leaves[row]];
  }
}

void AddFloat(const CompiledForest& forest, const CompiledTree* trees, size_t count,
              const uint16_t* ranks, uint32_t rows, float* sums) {
  Add(forest, forest.float_leaves.data(), trees, count, ranks, rows, sums);
}

void AddDouble(const CompiledForest& forest, const CompiledTree* trees, size_t count,
               const uint16_t* ranks, uint32_t rows, double* sums) {
  Add(forest, forest.double_leaves.data(), trees, count, ranks, rows, sums);
}

}  // namespace

const Kernel* GenericKernel() {
  static constexpr Kernel kKernel{"generic", AddFloat, AddDouble, Find, RankBlock};
  return &kKernel;
}

}  // namespace tritonts::fil
