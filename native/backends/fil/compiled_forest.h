// A forest in the form that the kernels walk.
//
// Numbers become ranks. For each feature, a part of the forest lists the thresholds of its nodes,
// sorted. The rank of a value is the number of thresholds that are not greater. So `value <
// threshold` is `rank <= position of the threshold`, and nodes compare integers of 16 bits. A
// feature has a column of ranks for each treatment of missing values that its nodes have. There,
// a missing value already has the rank that sends it the right way. So nodes know nothing of
// missing values.
//
// The six top levels of a tree are complete: no child pointers, and leaves above them are repeated
// below. Kernels test all of their nodes for many rows at once. That is faster than to fetch one
// node for each row, because a register has the ranks of up to 32 rows. Trees differ in what
// follows below (TreeShape).
//
// Immutable after Compile, so any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "engine/base/status.h"
#include "forest.h"

namespace tritonts::fil {

// Rows are walked in blocks of this many.
constexpr uint32_t kBlockRows = 64;
constexpr uint32_t kTopLevels = 6;
// Subtrees of so many levels fill a cache line of 16 words.
constexpr uint32_t kBlockLevels = 4;
// The largest rank, and so the most thresholds of a feature in one part.
constexpr uint32_t kMostRank = 65534;
// The most columns of ranks in one part.
constexpr uint32_t kMostRankColumns = 65536;

// A node is one word: the column of ranks in the low half. The high half is the greatest rank that
// goes left, minus 32768, so that signed comparisons order ranks.
constexpr uint32_t kRankBias = 32768;

// A vector that begins at a cache line.
template <typename T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <typename U>
  explicit LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t(64)); }
  bool operator==(const LineAllocator&) const { return true; }
};
template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

enum class TreeShape : uint8_t {
  kTop,     // nothing below the top: its exits are the leaves
  kBlocks,  // deeper complete trees: subtrees of up to four levels lie in one cache line each
  kLinked,  // any tree: nodes with the position of their left child; the right one follows
  kPlain,   // nodes that need the row itself, such as those of categories
};

// A node of the top, ready for comparisons of many rows. The rank goes left if it is less than
// `rank`, which is biased and in both halves of the word.
struct TopNode {
  uint32_t rank = 0;
  uint32_t column = 0;
};

struct LinkedNode {
  uint32_t word = 0;
  // Leaves: their own position. No rank is greater than that of a leaf's word, so a walk that has
  // ended stays.
  uint32_t left = 0;
};

// A node of a plain tree. Children follow each other.
struct PlainNode {
  float threshold = 0;
  uint32_t feature = 0;
  uint32_t left = 0;  // leaves: 0
  uint32_t first_word = 0;
  uint32_t words = 0;
  bool is_category = false;
  bool missing_left = false;
  bool zero_is_missing = false;
};

enum class LeafKind : uint8_t { kValue, kVector, kLinear };

// A leaf whose value depends on the row.
struct CompiledLinearLeaf {
  double constant = 0;
  double value = 0;  // if a feature is NaN
  size_t first_term = 0;
  uint32_t terms = 0;
};

// Trees that are walked together for one row.
constexpr uint32_t kAlike = 8;

// Where the parts of a tree begin in the arrays of the forest.
struct CompiledTree {
  TreeShape shape = TreeShape::kTop;
  LeafKind leaf_kind = LeafKind::kValue;
  uint8_t top_levels = 0;  // at most kTopLevels
  // Whether this tree and the next kAlike - 1 ones have the same shape, none is plain, and complete
  // ones have as many levels.
  bool alike = false;
  uint32_t levels = 0;  // of inner nodes; kLinked: the most steps below the top
  uint32_t column = 0;  // of the margins
  size_t top = 0;       // top_nodes: 1 << top_levels of them; the first one is unused
  // kBlocks: words, the blocks below the top. kLinked: links. kPlain: plain.
  size_t nodes = 0;
  size_t exits = 0;  // kLinked: words, the positions of the nodes below the top
  // The first value, in float_leaves or double_leaves, by leaf; kLinked and kPlain: by node. Leaves
  // of other kinds: in leaf_places, whose positions count from `first_place` in leaf_vectors or
  // linear_leaves.
  size_t leaves = 0;
  size_t first_place = 0;
};

// How values of a feature become ranks.
struct RankedFeature {
  static constexpr uint32_t kNone = ~0u;
  uint32_t feature = 0;
  uint32_t count = 0;  // thresholds
  size_t first = 0;    // in thresholds
  // The column for each treatment of missing values; kNone: no node needs it. Bit 0: they go left.
  // Bit 1: zero is missing, too.
  uint32_t columns[4] = {kNone, kNone, kNone, kNone};
};

// Consecutive trees that share ranks.
struct Part {
  size_t first_tree = 0;
  size_t trees = 0;
  uint32_t rank_columns = 0;
  std::vector<RankedFeature> features;
  std::vector<float> thresholds;
};

struct CompiledForest {
  uint32_t features = 0;
  uint32_t columns = 1;
  bool float_sums = true;
  bool truncates_negatives = false;
  bool averages = false;
  Transform transform = Transform::kIdentity;
  double sigmoid_alpha = 1;
  float ratio_c = 1;
  std::vector<double> base;      // by column
  std::vector<double> trees_of;  // by column: the number of trees

  std::vector<Part> parts;
  uint32_t rank_columns = 1;  // the most of all parts
  std::vector<CompiledTree> trees;
  std::vector<TopNode> top_nodes;
  LineVector<uint32_t> words;
  std::vector<LinkedNode> links;
  std::vector<PlainNode> plain;
  std::vector<uint32_t> category_words;
  LineVector<float> float_leaves;     // with float sums
  std::vector<double> double_leaves;  // otherwise
  std::vector<uint32_t> leaf_places;
  std::vector<double> leaf_vectors;  // `columns` values a leaf
  std::vector<CompiledLinearLeaf> linear_leaves;
  std::vector<LinearTerm> linear_terms;
  double steps = 0;  // about the nodes that a row visits; for estimates of time

  // XGBoost's sums begin with the base. Others get it in the end.
  bool begins_with_base() const { return float_sums && !averages; }
  size_t bytes() const;
};

// UNSUPPORTED: the forest is too large for the positions here. Throws std::bad_alloc.
StatusOr<CompiledForest> Compile(const Forest& forest);

}  // namespace tritonts::fil
