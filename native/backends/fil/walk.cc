#include "walk.h"

#include <algorithm>
#include <cmath>

namespace tritonts::fil {

namespace {

bool GoesLeft(const CompiledForest& forest, const PlainNode& node, float value) {
  if (std::isnan(value) || (node.zero_is_missing && std::fabs(value) <= kMostZero)) {
    return node.missing_left;
  }
  if (!node.is_category) return value < node.threshold;
  // Values of (-1, 0) become 0 only here; -0.0 is 0 anyhow.
  if (value < 0 && !(forest.truncates_negatives && value > -1)) return false;
  // Greater ones do not fit the integer.
  if (value >= 4294967296.0F) return false;
  const auto category = static_cast<uint32_t>(value);
  if (category / 32 >= node.words) return false;
  return forest.category_words[node.first_word + category / 32] >> (category % 32) & 1;
}

}  // namespace

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

uint32_t FindOne(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks) {
  const auto right_of = [&](uint32_t word) {
    const auto rank = static_cast<int16_t>(ranks[word & 0xffff]);
    return rank > static_cast<int32_t>(word) >> 16 ? 1U : 0U;
  };
  const TopNode* const top = forest.top_nodes.data() + tree.top;
  uint32_t at = 1;
  for (uint32_t level = 0; level < tree.top_levels; level++) {
    const auto rank = static_cast<int16_t>(ranks[top[at].column]);
    at = 2 * at + (static_cast<int16_t>(top[at].rank) > rank ? 0 : 1);
  }
  switch (tree.shape) {
    case TreeShape::kLevels: {
      const uint32_t* const words = forest.words.data() + tree.nodes;
      for (uint32_t level = kTopLevels; level < tree.levels; level++) {
        at = 2 * at + right_of(words[at]);
      }
      return at - (1U << tree.levels);
    }
    case TreeShape::kBlocks: {
      const uint32_t* words = forest.words.data() + tree.nodes;
      uint32_t block = at - (1U << kTopLevels);
      for (uint32_t level = kTopLevels; level < tree.levels;) {
        const uint32_t levels = std::min(tree.levels - level, kTopLevels);
        const uint32_t* const own = words + (size_t{block} << levels);
        at = 1;
        for (uint32_t i = 0; i < levels; i++) at = 2 * at + right_of(own[at]);
        block = (block << levels) + at - (1U << levels);
        words += size_t{1} << level << levels;
        level += levels;
      }
      return block;
    }
    case TreeShape::kLinked: {
      const LinkedNode* const links = forest.links.data() + tree.nodes;
      at = forest.words[tree.exits + at - (1U << kTopLevels)];
      while (links[at].left != at) at = links[at].left + right_of(links[at].word);
      return at;
    }
    default:
      return at - (1U << tree.top_levels);
  }
}

}  // namespace tritonts::fil
