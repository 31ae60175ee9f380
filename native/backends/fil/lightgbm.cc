// Reads LightGBM's text: a header, a block of lines for each tree, and what was trained with.
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "read_number.h"
#include "readers.h"
#include "refusal.h"
#include "text_fields.h"
#include "threshold.h"
#include "tree_order.h"

namespace tritonts::fil {

namespace {

// Bits of decision_type.
constexpr int32_t kCategoryBit = 1;
constexpr int32_t kDefaultLeftBit = 2;
constexpr int32_t kMissingShift = 2;
enum class MissingType : int32_t { kNone = 0, kZero = 1, kNaN = 2 };

enum class HeadField : size_t {
  kTreesAnIteration,
  kMaxFeature,
  kObjective,
  kAverage,
  kTreeSizes,
  kCount
};
enum class TreeField : size_t {
  kLeaves,
  kCategorySets,
  kFeature,
  kThreshold,
  kDecision,
  kLeft,
  kRight,
  kLeafValue,
  kLeafCount,
  kInnerCount,
  kCategoryBegins,
  kCategoryWords,
  kIsLinear,
  kLeafConstant,
  kTermCounts,
  kTermFeatures,
  kTermCoefficients,
  kCount
};

struct LightgbmObjective {
  std::string_view name;
  Transform transform;
  bool takes_sigmoid = false;  // the line may name the factor of the margin
  bool takes_sqrt = false;     // the line may say that it was trained on roots
};

constexpr LightgbmObjective kLightgbmObjectives[] = {
    {"regression", Transform::kIdentity, false, true},
    {"regression_l1", Transform::kIdentity, false, true},
    {"huber", Transform::kIdentity, false, true},
    {"fair", Transform::kIdentity, false, true},
    {"quantile", Transform::kIdentity, false, true},
    {"mape", Transform::kIdentity, false, true},
    {"poisson", Transform::kExp},
    {"gamma", Transform::kExp},
    {"tweedie", Transform::kExp},
    {"binary", Transform::kSigmoid, true},
    {"multiclass", Transform::kSoftmax},
    {"multiclassova", Transform::kSigmoid, true},
    {"cross_entropy", Transform::kSigmoid},
    {"cross_entropy_lambda", Transform::kLog1pExp},
    {"lambdarank", Transform::kIdentity},
    {"rank_xendcg", Transform::kIdentity},
    {"custom", Transform::kIdentity},
    {"none", Transform::kIdentity},
};

class LightgbmReader {
 public:
  explicit LightgbmReader(std::string_view text) : text_(text), lines_(text) {}

  Forest Read() {
    ReadHead();
    ReadTrees();
    return std::move(forest_);
  }

 private:
  void ReadHead() {
    std::string_view line;
    if (!lines_.Next(&line) || line != "tree") {
      Refuse("line 1: expected 'tree', as LightGBM writes it, but it is " + Shown(line));
    }
    // The header ends at an empty line, or with the first tree.
    while (true) {
      if (!lines_.Next(&line)) Refuse("the file ends in its header, " + LineName(lines_.number()));
      if (line.substr(0, 5) == "Tree=" || line == "end of trees") break;
      head_.Add(line, lines_.number());
    }
    line_ = line;
    const int32_t columns = head_.Count("the header", HeadField::kTreesAnIteration, 1);
    if (static_cast<size_t>(columns) > text_.size()) {
      Refuse("the header: num_tree_per_iteration is " + std::to_string(columns) +
             ": expected at most one for each of the " + std::to_string(text_.size()) +
             " bytes of the file");
    }
    const int32_t largest = head_.Count("the header", HeadField::kMaxFeature, 0);
    forest_.features = static_cast<uint32_t>(largest) + 1;
    forest_.columns = static_cast<uint32_t>(columns);
    forest_.base.assign(forest_.columns, 0.0);
    forest_.float_sums = false;
    forest_.truncates_negatives = true;
    forest_.averages = head_.Has(HeadField::kAverage);
    ReadObjective();
  }

  void ReadObjective() {
    // Without this line the model was trained with a function of its user's.
    if (!head_.Has(HeadField::kObjective)) return;
    std::string_view rest = head_.Text(HeadField::kObjective);
    const std::string_view name = TakeWord(&rest);
    const LightgbmObjective* found = nullptr;
    std::string known;
    for (const LightgbmObjective& objective : kLightgbmObjectives) {
      if (objective.name == name) found = &objective;
      known += (known.empty() ? "" : ", ") + std::string(objective.name);
    }
    if (found == nullptr) {
      RefuseUnsupported("the objective " + Shown(name) + " is not supported: expected one of " +
                        known);
    }
    forest_.transform = found->transform;
    for (std::string_view word = TakeWord(&rest); !word.empty(); word = TakeWord(&rest)) {
      constexpr std::string_view kSigmoid = "sigmoid:";
      if (found->takes_sqrt && word == "sqrt") {
        forest_.transform = Transform::kSignedSquare;
      } else if (found->takes_sigmoid && word.substr(0, kSigmoid.size()) == kSigmoid) {
        double alpha = 0;
        if (!ReadWhole(word.substr(kSigmoid.size()), &alpha) || !(alpha > 0) || std::isinf(alpha)) {
          Refuse("the header: expected a positive number in the objective's " + Shown(word));
        }
        forest_.sigmoid_alpha = alpha;
      }
    }
  }

  void ReadTrees() {
    while (line_ != "end of trees") {
      uint64_t number = 0;
      if (line_.substr(0, 5) != "Tree=" || !ReadWhole(line_.substr(5), &number) ||
          number != forest_.trees.size()) {
        Refuse(LineName(lines_.number()) +
               ": expected 'Tree=" + std::to_string(forest_.trees.size()) +
               "' or 'end of trees', but it is " + Shown(line_));
      }
      ReadBlock();
      forest_.trees.push_back(MakeTree());
    }
    CheckCount();
  }

  // Reads the lines of a tree, and the one that begins what follows.
  void ReadBlock() {
    block_.Clear();
    while (true) {
      if (!lines_.Next(&line_)) {
        Refuse("the file ends in " + TreeName() + ", " + LineName(lines_.number()) +
               ": expected another tree or 'end of trees'");
      }
      if (line_.substr(0, 5) == "Tree=" || line_ == "end of trees") return;
      block_.Add(line_, lines_.number());
    }
  }

  // The header has a size for each tree.
  void CheckCount() {
    const size_t count = forest_.trees.size();
    if (head_.Has(HeadField::kTreeSizes)) {
      std::string_view rest = head_.Text(HeadField::kTreeSizes);
      size_t expected = 0;
      while (!TakeWord(&rest).empty()) expected++;
      if (expected != count) {
        Refuse("tree_sizes has " + std::to_string(expected) + " numbers, but there are " +
               std::to_string(count) + " trees");
      }
    }
    if (count % forest_.columns != 0) {
      Refuse("expected a multiple of " + std::to_string(forest_.columns) +
             " (num_tree_per_iteration) trees, but there are " + std::to_string(count));
    }
  }

  std::string TreeName() const { return "tree " + std::to_string(forest_.trees.size()); }

  // Makes a tree of block_. In it, inner nodes and leaves have numbers of their own. Here, the
  // leaves follow the inner nodes.
  Tree MakeTree() {
    const std::string place = TreeName();
    const int32_t leaves = block_.Count(place, TreeField::kLeaves, 1);
    const auto leaf_count = static_cast<size_t>(leaves);
    const size_t inner_count = leaf_count - 1;
    block_.Numbers(place, TreeField::kLeafValue, leaf_count, &values_);
    Tree tree;
    tree.column = static_cast<uint32_t>(forest_.trees.size() % forest_.columns);
    ReadLinear(place, leaf_count, &tree);
    ReadInner(place, inner_count, &tree);
    ReadCovers(place, inner_count, leaf_count);
    MakeChildren(place, inner_count, leaf_count);
    const std::vector<uint32_t> order = BreadthFirst(place, children_);
    tree.nodes.resize(order.size());
    uint32_t next = 1;
    for (size_t at = 0; at < order.size(); at++) {
      const uint32_t from = order[at];
      Node& node = tree.nodes[at];
      if (from >= inner_count) {
        const size_t leaf = from - inner_count;
        node.value = values_[leaf];
        if (!tree.linear_leaves.empty()) node.vector = static_cast<uint32_t>(leaf);
        if (!leaf_covers_.empty()) node.cover = leaf_covers_[leaf];
        continue;
      }
      MakeSplit(place, from, next, &node);
      if (!inner_covers_.empty()) node.cover = inner_covers_[from];
      next += 2;
    }
    return tree;
  }

  void ReadInner(const std::string& place, size_t count, Tree* tree) {
    set_begins_.clear();
    left_.clear();
    right_.clear();
    if (count == 0) return;
    block_.Numbers(place, TreeField::kFeature, count, &features_);
    block_.Numbers(place, TreeField::kThreshold, count, &thresholds_);
    block_.Numbers(place, TreeField::kDecision, count, &decisions_);
    block_.Numbers(place, TreeField::kLeft, count, &left_);
    block_.Numbers(place, TreeField::kRight, count, &right_);
    const int32_t sets = block_.Count(place, TreeField::kCategorySets, 0, 0);
    if (sets == 0) return;
    block_.Numbers(place, TreeField::kCategoryBegins, static_cast<size_t>(sets) + 1, &set_begins_);
    for (size_t i = 0; i < set_begins_.size(); i++) {
      const int32_t least = i == 0 ? 0 : set_begins_[i - 1];
      if (set_begins_[i] >= least && (i > 0 || set_begins_[0] == 0)) continue;
      Refuse(place + ": expected cat_boundaries to rise from 0, but cat_boundaries[" +
             std::to_string(i) + "] is " + std::to_string(set_begins_[i]));
    }
    block_.Numbers(place, TreeField::kCategoryWords, static_cast<size_t>(set_begins_.back()),
                   &tree->category_words);
  }

  void ReadCovers(const std::string& place, size_t inner_count, size_t leaf_count) {
    inner_covers_.clear();
    leaf_covers_.clear();
    if (inner_count == 0 || !block_.Has(TreeField::kLeafCount) ||
        !block_.Has(TreeField::kInnerCount))
      return;
    block_.Numbers(place, TreeField::kLeafCount, leaf_count, &leaf_covers_);
    block_.Numbers(place, TreeField::kInnerCount, inner_count, &inner_covers_);
  }

  void ReadLinear(const std::string& place, size_t leaf_count, Tree* tree) {
    const int32_t is_linear = block_.Count(place, TreeField::kIsLinear, 0, 0);
    if (is_linear > 1) {
      Refuse(place + ": expected is_linear to be 0 or 1, but it is " + std::to_string(is_linear));
    }
    if (is_linear == 0) return;
    std::vector<double> constants;
    std::vector<int32_t> counts;
    block_.Numbers(place, TreeField::kLeafConstant, leaf_count, &constants);
    block_.Numbers(place, TreeField::kTermCounts, leaf_count, &counts);
    tree->linear_leaves.resize(leaf_count);
    uint64_t all = 0;
    for (size_t i = 0; i < leaf_count; i++) {
      if (counts[i] < 0) {
        Refuse(place + ": num_features[" + std::to_string(i) + "] is " + std::to_string(counts[i]) +
               ": expected 0 or more");
      }
      tree->linear_leaves[i] = {constants[i], static_cast<uint32_t>(all),
                                static_cast<uint32_t>(counts[i])};
      all += static_cast<uint64_t>(counts[i]);
      if (all > text_.size()) {
        Refuse(place + ": num_features[" + std::to_string(i) + "] is " + std::to_string(counts[i]) +
               ", which is more than the file has numbers");
      }
    }
    std::vector<int32_t> features;
    std::vector<double> coefficients;
    const auto count = static_cast<size_t>(all);
    if (count > 0) {
      block_.Numbers(place, TreeField::kTermFeatures, count, &features);
      block_.Numbers(place, TreeField::kTermCoefficients, count, &coefficients);
    }
    tree->linear_terms.resize(count);
    for (size_t i = 0; i < count; i++) {
      CheckFeature(place + ", leaf_features[" + std::to_string(i) + "]", features[i]);
      tree->linear_terms[i] = {static_cast<uint32_t>(features[i]), coefficients[i]};
    }
  }

  void MakeChildren(const std::string& place, size_t inner_count, size_t leaf_count) {
    const size_t count = inner_count + leaf_count;
    if (count > 0x7fffffff) Refuse(place + ": it has too many nodes");
    children_.name = [inner_count](uint32_t node) {
      return node < inner_count ? "node " + std::to_string(node)
                                : "leaf " + std::to_string(node - inner_count);
    };
    const auto to_one = [&](const char* field, size_t node, int32_t child) {
      // Not -child - 1, which may overflow.
      const int64_t at = child >= 0 ? int64_t{child} : int64_t{~child};
      const size_t limit = child >= 0 ? inner_count : leaf_count;
      if (static_cast<uint64_t>(at) >= limit) {
        Refuse(place + ": " + field + "[" + std::to_string(node) + "] is " + std::to_string(child) +
               ": expected a node from 0 to " + std::to_string(inner_count - 1) +
               ", or a leaf from -1 to -" + std::to_string(leaf_count));
      }
      return static_cast<int32_t>(child >= 0 ? at : at + static_cast<int64_t>(inner_count));
    };
    children_.left.assign(count, kNoChild);
    children_.right.assign(count, kNoChild);
    for (size_t i = 0; i < inner_count; i++) {
      children_.left[i] = to_one("left_child", i, left_[i]);
      children_.right[i] = to_one("right_child", i, right_[i]);
    }
  }

  void CheckFeature(const std::string& place, int32_t feature) const {
    if (feature >= 0 && static_cast<uint32_t>(feature) < forest_.features) return;
    Refuse(place + ": expected a feature from 0 to " + std::to_string(forest_.features - 1) +
           " (max_feature_idx), but it is " + std::to_string(feature));
  }

  // `child` is the place of the left child. The right one follows.
  void MakeSplit(const std::string& tree_name, uint32_t from, uint32_t child, Node* node) {
    const auto place = [&] { return tree_name + ", node " + std::to_string(from); };
    const int32_t feature = features_[from];
    if (feature < 0 || static_cast<uint32_t>(feature) >= forest_.features) {
      CheckFeature(place() + ", split_feature", feature);
    }
    node->feature = static_cast<uint32_t>(feature);
    const double threshold = thresholds_[from];
    if (std::isnan(threshold)) Refuse(place() + ": expected a threshold, but it is NaN");
    const int32_t decision = decisions_[from];
    const int32_t missing = decision >> kMissingShift;
    if (decision < 0 || missing > static_cast<int32_t>(MissingType::kNaN)) {
      Refuse(place() + ": expected decision_type to be from 0 to 11, but it is " +
             std::to_string(decision));
    }
    if ((decision & kCategoryBit) != 0) {
      const auto sets = static_cast<double>(set_begins_.empty() ? 0 : set_begins_.size() - 1);
      if (!(threshold >= 0 && threshold < sets && threshold == std::floor(threshold))) {
        Refuse(place() + ": expected its threshold to be one of " +
               std::to_string(static_cast<size_t>(sets)) +
               " sets of categories, as a whole number from 0, but it is " +
               std::to_string(threshold));
      }
      const auto set = static_cast<size_t>(threshold);
      node->test = Node::Test::kCategory;
      node->first_word = static_cast<uint32_t>(set_begins_[set]);
      node->words = static_cast<uint32_t>(set_begins_[set + 1] - set_begins_[set]);
      node->left = child;
      node->right = child + 1;
      node->missing_left = false;
      return;
    }
    // Unless NaN has a way of its own, it counts as 0.
    const bool default_left = (decision & kDefaultLeftBit) != 0;
    const bool is_none = missing == static_cast<int32_t>(MissingType::kNone);
    SetComparison(Comparison::kLessOrEqual, threshold, child, child + 1,
                  is_none ? 0 <= threshold : default_left, node);
    node->zero_is_missing = missing == static_cast<int32_t>(MissingType::kZero);
  }

  std::string_view text_;
  Lines lines_;
  std::string_view line_;  // the last one
  Forest forest_;
  LineFields<HeadField, static_cast<size_t>(HeadField::kCount)> head_{
      {"num_tree_per_iteration", "max_feature_idx", "objective", "average_output", "tree_sizes"}};
  LineFields<TreeField, static_cast<size_t>(TreeField::kCount)> block_{
      {"num_leaves", "num_cat", "split_feature", "threshold", "decision_type", "left_child",
       "right_child", "leaf_value", "leaf_count", "internal_count", "cat_boundaries",
       "cat_threshold", "is_linear", "leaf_const", "num_features", "leaf_features", "leaf_coeff"}};
  // Of the tree that is being read. They keep their memory for the next one.
  Children children_;
  std::vector<int32_t> features_, decisions_, left_, right_, set_begins_;
  std::vector<double> thresholds_, values_, inner_covers_, leaf_covers_;
};

}  // namespace

Forest ReadLightgbm(std::string_view text) {
  return LightgbmReader(text).Read();
}

}  // namespace tritonts::fil
