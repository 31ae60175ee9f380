// A tree model, as the readers of its file formats produce it. All formats are normalised to one
// kind of comparison, so that the evaluator need not know them. Immutable after reading, so any
// thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tritonts::fil {

// A node of a tree. Its tree's node 0 is the root. A child's position is greater than its parent's,
// so no path has a circle.
struct Node {
  enum class Test : uint8_t {
    kLeaf,
    kLess,      // left if the feature's value < threshold
    kCategory,  // left if the feature's value is a category of the set
  };
  Test test = Test::kLeaf;
  bool missing_left = false;  // the way of NaN
  // Values of at most 1e-35, of either sign, go the way of NaN (LightGBM, zero_as_missing).
  bool zero_is_missing = false;
  uint32_t left = 0;     // inner nodes
  uint32_t right = 0;    // inner nodes
  uint32_t feature = 0;  // inner nodes; less than Forest::features
  // kLess. Rows are float. So `value <= x` with a double x is `value < threshold`, with the
  // smallest float above x; readers convert.
  float threshold = 0;
  // kCategory: the set is a range of 32-bit words in Tree::category_words; bit k is category k.
  uint32_t first_word = 0;
  uint32_t words = 0;
  // Leaves: the value; or, if the tree has leaf vectors, the position of its first value in
  // Tree::leaf_vectors. With linear leaves, `value` is for rows in which a feature of the leaf is
  // NaN, and `vector` the position in Tree::linear_leaves.
  double value = 0;
  uint32_t vector = 0;
  // The number or the weight of the training rows that came here, for SHAP values; NaN: unknown.
  double cover = std::numeric_limits<double>::quiet_NaN();
};

// A leaf whose value is a linear function (LightGBM): the constant, and for each of its terms, in
// this order, the coefficient times the feature's value; all in double. Leaves may have no terms.
struct LinearLeaf {
  double constant = 0;
  uint32_t first_term = 0;  // a position in Tree::linear_terms
  uint32_t terms = 0;
};

struct LinearTerm {
  uint32_t feature = 0;  // less than Forest::features
  double coefficient = 0;
};

struct Tree {
  std::vector<Node> nodes;  // at least one
  std::vector<uint32_t> category_words;
  // Leaves with a value for each column: Forest::columns values a leaf.
  std::vector<double> leaf_vectors;  // empty: the tree's leaves have one value, for `column`
  // Not empty: every leaf is linear. Never together with leaf_vectors.
  std::vector<LinearLeaf> linear_leaves;
  std::vector<LinearTerm> linear_terms;
  uint32_t column = 0;  // less than Forest::columns
};

// What happens to the sums of the leaves, called margins.
enum class Transform : uint8_t {
  kIdentity,
  kSigmoid,       // 1 / (1 + exp(-sigmoid_alpha * margin)), each column
  kSoftmax,       // over the columns
  kMaxIndex,      // multi:softmax: the index of the largest column, as one value
  kExp,           // exp(margin)
  kExpRatio,      // exp2(-margin / ratio_c) (treelite: exponential_standard_ratio)
  kHinge,         // margin > 0 ? 1 : 0
  kSignedSquare,  // sign(margin) * margin * margin
  kLog1pExp,      // log(1 + exp(margin))
};

struct Forest {
  uint32_t features = 0;  // the width of a row
  uint32_t columns = 1;   // margins of a row: classes, or 1
  std::vector<Tree> trees;
  // Whether sums are float, as in XGBoost. Otherwise they are double.
  bool float_sums = true;
  // Whether a category's value in (-1, 0) counts as 0 (LightGBM). Otherwise it is in no set. NaN
  // goes the node's way of NaN; other negative values, and values above the set, are in no set.
  bool truncates_negatives = false;
  bool averages = false;  // margins are divided by the number of trees of a column (random forests)
  std::vector<double> base;  // added to the margins, by column, after averaging
  Transform transform = Transform::kIdentity;
  double sigmoid_alpha = 1;  // LightGBM has a double
  float ratio_c = 1;
};

}  // namespace tritonts::fil
