// Reads the model that XGBoost writes as JSON or UBJSON. Members may come in any order, and most
// come before the names of the objective and the booster. So trees are made as they are read, and
// checked against the rest at the end.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "categories.h"
#include "read_number.h"
#include "readers.h"
#include "refusal.h"
#include "tree_order.h"
#include "xgboost_model.h"

namespace tritonts::fil {

namespace {

// XGBoost marks removed nodes with this feature.
constexpr int32_t kRemovedFeature = 0x7fffffff;

// Which of an object's members were there.
class Seen {
 public:
  // Notes a member, which must not have been there yet.
  void Note(const Document& document, uint32_t member) {
    if ((seen_ >> member & 1) != 0) Refuse(document.Place() + ": it is there twice");
    seen_ |= uint32_t{1} << member;
  }
  bool Has(uint32_t member) const { return (seen_ >> member & 1) != 0; }
  // Throws unless these members were there.
  void Require(const std::string& object,
               std::initializer_list<std::pair<uint32_t, const char*>> all) const {
    for (const auto& [member, name] : all) {
      if (!Has(member)) Refuse(object + ": expected a member '" + name + "', but there is none");
    }
  }

 private:
  uint32_t seen_ = 0;
};

// The members of a tree, node by node.
struct TreeColumns {
  std::vector<int32_t> left, right, feature;
  std::vector<float> condition, weight, cover, leaf_weights;
  std::vector<uint8_t> default_left, is_category;
  std::vector<int32_t> categories, category_nodes;
  std::vector<int64_t> category_begins, category_sizes;
  int64_t nodes = 0;
  int64_t leaf_size = 0;  // the values of a leaf; 0 and 1 mean one
};

class DocumentReader {
 public:
  DocumentReader(Document* document, size_t file_size)
      : in_(*document), file_size_(file_size), sets_(file_size) {}

  Forest Read() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "learner") {
        seen.Note(in_, 0);
        ReadLearner();
      } else {
        in_.Skip();
      }
    }
    in_.End();
    seen.Require("the document", {{0, "learner"}});
    return FinishXgboost(std::move(model_), file_size_);
  }

 private:
  void ReadLearner() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "learner_model_param") {
        seen.Note(in_, 0);
        ReadParameters();
      } else if (name == "objective") {
        seen.Note(in_, 1);
        ReadObjective();
      } else if (name == "gradient_booster") {
        seen.Note(in_, 2);
        ReadBooster();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner",
                 {{0, "learner_model_param"}, {1, "objective"}, {2, "gradient_booster"}});
  }

  void ReadParameters() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "base_score") {
        seen.Note(in_, 0);
        ReadBaseScore();
      } else if (name == "num_class") {
        seen.Note(in_, 1);
        model_.classes = ReadCount();
      } else if (name == "num_feature") {
        seen.Note(in_, 2);
        model_.features = ReadCount();
      } else if (name == "num_target") {
        seen.Note(in_, 3);
        model_.targets = ReadCount();
      } else {
        in_.Skip();
      }
    }
    // Files before 1.6 have no num_target.
    seen.Require("learner.learner_model_param",
                 {{0, "base_score"}, {1, "num_class"}, {2, "num_feature"}});
  }

  // A number, or since 3.1 an array of numbers; both as text.
  void ReadBaseScore() {
    const std::string text = in_.Text();
    std::string_view rest = text;
    const bool is_array = rest.size() >= 2 && rest.front() == '[' && rest.back() == ']';
    if (is_array) rest = rest.substr(1, rest.size() - 2);
    while (true) {
      const size_t comma = is_array ? rest.find(',') : std::string_view::npos;
      std::string_view number = rest.substr(0, comma);
      while (!number.empty() && number.front() == ' ') number.remove_prefix(1);
      while (!number.empty() && number.back() == ' ') number.remove_suffix(1);
      float score = 0;
      if (!ReadWhole(number, &score)) {
        Refuse(in_.Place() + ": expected a number or an array of numbers, but " + Shown(text) +
               " came");
      }
      model_.base_scores.push_back(score);
      if (comma == std::string_view::npos) return;
      rest = rest.substr(comma + 1);
    }
  }

  // A whole number that is not negative, as text.
  uint64_t ReadCount() {
    const std::string text = in_.Text();
    uint64_t count = 0;
    if (!ReadWhole(text, &count)) {
      Refuse(in_.Place() + ": expected a whole number in quotes, but " + Shown(text) + " came");
    }
    return count;
  }

  void ReadObjective() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "name") {
        seen.Note(in_, 0);
        model_.objective = in_.Text();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.objective", {{0, "name"}});
  }

  void ReadBooster() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "name") {
        seen.Note(in_, 0);
        model_.booster = in_.Text();
        CheckBooster(model_.booster);
      } else if (name == "model") {
        seen.Note(in_, 1);
        ReadModel();
      } else if (name == "gbtree") {
        // The trees of dart.
        seen.Note(in_, 2);
        ReadInnerBooster();
      } else if (name == "weight_drop") {
        seen.Note(in_, 3);
        in_.Read(&model_.weights);
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster", {{0, "name"}});
    if (model_.booster == "dart") {
      seen.Require("learner.gradient_booster", {{2, "gbtree"}, {3, "weight_drop"}});
    } else {
      seen.Require("learner.gradient_booster", {{1, "model"}});
    }
    if (!has_trees_) {
      Refuse("learner.gradient_booster: expected the trees of the model, but there are none");
    }
  }

  void ReadInnerBooster() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "model") {
        seen.Note(in_, 0);
        ReadModel();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster.gbtree", {{0, "model"}});
  }

  // What gblinear has in its place lacks these members. Its name may come later.
  void ReadModel() {
    in_.BeginObject();
    Seen seen;
    bool is_other = false;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "trees") {
        seen.Note(in_, 0);
        if (has_trees_) Refuse(in_.Place() + ": the document has trees already");
        has_trees_ = true;
        ReadTrees();
      } else if (name == "tree_info") {
        seen.Note(in_, 1);
        in_.Read(&model_.tree_columns);
      } else if (name == "gbtree_model_param") {
        seen.Note(in_, 2);
        ReadTreeCount();
      } else {
        is_other = is_other || name == "weights";
        in_.Skip();
      }
    }
    if (is_other && !has_trees_) return;
    seen.Require("learner.gradient_booster.model",
                 {{0, "trees"}, {1, "tree_info"}, {2, "gbtree_model_param"}});
    if (tree_count_ != model_.trees.size()) {
      Refuse("learner.gradient_booster.model: num_trees is " + std::to_string(tree_count_) +
             ", but there are " + std::to_string(model_.trees.size()) + " trees");
    }
  }

  void ReadTreeCount() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "num_trees") {
        seen.Note(in_, 0);
        tree_count_ = ReadCount();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster.model.gbtree_model_param", {{0, "num_trees"}});
  }

  void ReadTrees() {
    in_.BeginArray();
    while (in_.NextElement()) {
      ReadTree();
      model_.trees.push_back(MakeTree());
    }
  }

  std::string TreeName() const { return "tree " + std::to_string(model_.trees.size()); }

  // Fills columns_.
  void ReadTree() {
    enum : uint32_t {
      kParam,
      kLeft,
      kRight,
      kFeature,
      kCondition,
      kDefault,
      kType,
      kWeight,
      kCover,
      kCategories,
      kCategoryNodes,
      kCategoryBegins,
      kCategorySizes,
      kLeafWeights,
    };
    TreeColumns& c = columns_;
    // Not all of these members need be there.
    c.is_category.clear();
    c.weight.clear();
    c.cover.clear();
    c.categories.clear();
    c.category_nodes.clear();
    c.category_begins.clear();
    c.category_sizes.clear();
    c.leaf_weights.clear();
    in_.BeginObject();
    Seen seen;
    const auto read = [&](uint32_t member, auto* numbers) {
      seen.Note(in_, member);
      in_.Read(numbers);
    };
    for (std::string name; in_.NextMember(&name);) {
      if (name == "left_children") {
        read(kLeft, &c.left);
      } else if (name == "right_children") {
        read(kRight, &c.right);
      } else if (name == "split_indices") {
        read(kFeature, &c.feature);
      } else if (name == "split_conditions") {
        read(kCondition, &c.condition);
      } else if (name == "default_left") {
        read(kDefault, &c.default_left);
      } else if (name == "split_type") {
        read(kType, &c.is_category);
      } else if (name == "base_weights") {
        read(kWeight, &c.weight);
      } else if (name == "sum_hessian") {
        read(kCover, &c.cover);
      } else if (name == "categories") {
        read(kCategories, &c.categories);
      } else if (name == "categories_nodes") {
        read(kCategoryNodes, &c.category_nodes);
      } else if (name == "categories_segments") {
        read(kCategoryBegins, &c.category_begins);
      } else if (name == "categories_sizes") {
        read(kCategorySizes, &c.category_sizes);
      } else if (name == "leaf_weights") {
        read(kLeafWeights, &c.leaf_weights);
      } else if (name == "tree_param") {
        seen.Note(in_, kParam);
        ReadTreeParameters();
      } else {
        in_.Skip();
      }
    }
    const std::string tree = TreeName();
    seen.Require(tree, {{kParam, "tree_param"},
                        {kLeft, "left_children"},
                        {kRight, "right_children"},
                        {kFeature, "split_indices"},
                        {kCondition, "split_conditions"},
                        {kDefault, "default_left"}});
    const auto check = [&](const char* name, size_t size) {
      if (size != static_cast<uint64_t>(c.nodes)) {
        Refuse(tree + ": " + name + " has " + std::to_string(size) + " numbers, but num_nodes is " +
               std::to_string(c.nodes));
      }
    };
    check("left_children", c.left.size());
    check("right_children", c.right.size());
    check("split_indices", c.feature.size());
    check("split_conditions", c.condition.size());
    check("default_left", c.default_left.size());
    if (!c.is_category.empty()) check("split_type", c.is_category.size());
    if (!c.cover.empty()) check("sum_hessian", c.cover.size());
  }

  void ReadTreeParameters() {
    columns_.leaf_size = 0;
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "num_nodes") {
        seen.Note(in_, 0);
        columns_.nodes = ReadSize();
      } else if (name == "size_leaf_vector") {
        seen.Note(in_, 1);
        columns_.leaf_size = ReadSize();
      } else {
        in_.Skip();
      }
    }
    seen.Require(TreeName() + ", tree_param", {{0, "num_nodes"}});
  }

  int64_t ReadSize() {
    const uint64_t size = ReadCount();
    if (size > 0x7fffffff) {
      Refuse(in_.Place() + ": expected at most 2147483647, but " + std::to_string(size) + " came");
    }
    return static_cast<int64_t>(size);
  }

  std::string NodeName(size_t node) const { return TreeName() + ", node " + std::to_string(node); }

  // Makes a tree of columns_.
  Tree MakeTree() {
    TreeColumns& c = columns_;
    children_.left.swap(c.left);
    children_.right.swap(c.right);
    children_.may_be_apart = [&c](uint32_t node) { return c.feature[node] == kRemovedFeature; };
    const std::vector<uint32_t> order = BreadthFirst(TreeName(), children_);
    Tree tree;
    tree.nodes.resize(order.size());
    FindCategories();
    const bool has_vectors = c.leaf_size > 1;
    if (has_vectors) ReserveVectors(&tree);
    uint32_t next = 1;  // the place of the next child
    for (size_t at = 0; at < order.size(); at++) {
      const uint32_t from = order[at];
      Node& node = tree.nodes[at];
      if (!c.cover.empty()) node.cover = c.cover[from];
      if (children_.left[from] == kNoChild) {
        node.value = c.condition[from];
        if (has_vectors) AddVector(from, &tree, &node);
        continue;
      }
      MakeSplit(from, next, &tree, &node);
      next += 2;
    }
    // The vectors go back, with their memory, for the next tree.
    children_.left.swap(c.left);
    children_.right.swap(c.right);
    return tree;
  }

  // `child` is the place of the left child. The right one follows.
  void MakeSplit(uint32_t from, uint32_t child, Tree* tree, Node* node) {
    TreeColumns& c = columns_;
    const int32_t feature = c.feature[from];
    if (feature < 0 || feature == kRemovedFeature) {
      Refuse(NodeName(from) + ": expected a feature, but split_indices has " +
             std::to_string(feature));
    }
    node->feature = static_cast<uint32_t>(feature);
    if (model_.largest_feature_place.empty() || node->feature > model_.largest_feature) {
      model_.largest_feature = node->feature;
      model_.largest_feature_place = NodeName(from);
    }
    if (c.default_left[from] > 1) {
      Refuse(NodeName(from) + ": expected default_left to be 0 or 1, but it is " +
             std::to_string(c.default_left[from]));
    }
    const bool default_left = c.default_left[from] == 1;
    if (c.is_category.empty() || c.is_category[from] == 0) {
      if (std::isnan(c.condition[from])) {
        Refuse(NodeName(from) + ": expected a threshold, but split_conditions has NaN");
      }
      node->test = Node::Test::kLess;
      node->threshold = c.condition[from];
      node->missing_left = default_left;
      node->left = child;
      node->right = child + 1;
      return;
    }
    if (c.is_category[from] != 1) {
      Refuse(NodeName(from) + ": expected split_type to be 0 or 1, but it is " +
             std::to_string(c.is_category[from]));
    }
    // What is in the set goes right in XGBoost, and left here.
    node->test = Node::Test::kCategory;
    node->missing_left = !default_left;
    node->left = child + 1;
    node->right = child;
    AddCategories(from, tree, node);
  }

  // Notes for each node with categories where they are.
  void FindCategories() {
    TreeColumns& c = columns_;
    set_of_node_.clear();
    sets_.BeginTree(c.categories.size());
    if (c.category_begins.size() != c.category_nodes.size() ||
        c.category_sizes.size() != c.category_nodes.size()) {
      Refuse(TreeName() + ": categories_nodes has " + std::to_string(c.category_nodes.size()) +
             " numbers, but categories_segments has " + std::to_string(c.category_begins.size()) +
             ", and categories_sizes " + std::to_string(c.category_sizes.size()));
    }
    if (c.category_nodes.empty()) return;
    set_of_node_.resize(static_cast<size_t>(c.nodes), -1);
    for (size_t i = 0; i < c.category_nodes.size(); i++) {
      const int32_t node = c.category_nodes[i];
      const std::string place =
          TreeName() + ": categories_nodes[" + std::to_string(i) + "] is " + std::to_string(node);
      if (node < 0 || node >= c.nodes) {
        Refuse(place + ": expected a node from 0 to " + std::to_string(c.nodes - 1));
      }
      int32_t& set = set_of_node_[static_cast<size_t>(node)];
      if (set != -1) Refuse(place + ", which is there twice");
      set = static_cast<int32_t>(i);
    }
  }

  void AddCategories(uint32_t from, Tree* tree, Node* node) {
    TreeColumns& c = columns_;
    const int32_t set = set_of_node_.empty() ? -1 : set_of_node_[from];
    if (set == -1) Refuse(NodeName(from) + ": it tests categories, but is not in categories_nodes");
    const int64_t begin = c.category_begins[static_cast<size_t>(set)];
    const int64_t size = c.category_sizes[static_cast<size_t>(set)];
    const auto all = static_cast<int64_t>(c.categories.size());
    if (begin < 0 || size < 0 || begin > all || size > all - begin) {
      Refuse(NodeName(from) + ": its categories begin at " + std::to_string(begin) + " and are " +
             std::to_string(size) + ", but the tree has " + std::to_string(all));
    }
    sets_.Add(NodeName(from), c.categories, static_cast<size_t>(begin), static_cast<size_t>(size),
              tree, node);
  }

  // Leaves with several values have them in leaf_weights, packed. Versions before 3.1 have them in
  // base_weights, among those of all nodes.
  void ReserveVectors(Tree* tree) {
    const TreeColumns& c = columns_;
    const auto size = static_cast<uint64_t>(c.leaf_size);
    if (model_.leaf_size == 0) model_.leaf_size = size;
    if (size != model_.leaf_size) {
      Refuse(TreeName() + ": size_leaf_vector is " + std::to_string(size) +
             ", but an earlier tree has " + std::to_string(model_.leaf_size));
    }
    const uint64_t leaves = tree->nodes.size() / 2 + 1;
    // Several leaves must not share values, or a small file could need any memory.
    if (!c.leaf_weights.empty() && c.leaf_weights.size() / size < leaves) {
      Refuse(TreeName() + ": expected " + std::to_string(size) + " leaf_weights for each of " +
             std::to_string(leaves) + " leaves, but there are " +
             std::to_string(c.leaf_weights.size()));
    }
    if (c.leaf_weights.empty() && c.weight.size() != static_cast<uint64_t>(c.nodes) * size) {
      Refuse(TreeName() + ": expected " + std::to_string(size) + " base_weights for each of " +
             std::to_string(c.nodes) + " nodes, but there are " + std::to_string(c.weight.size()));
    }
    tree->leaf_vectors.reserve(leaves * size);
  }

  void AddVector(uint32_t from, Tree* tree, Node* node) {
    const TreeColumns& c = columns_;
    const auto size = static_cast<size_t>(c.leaf_size);
    const float* values = c.weight.data() + from * size;
    if (!c.leaf_weights.empty()) {
      const int32_t leaf = children_.right[from];
      if (leaf < 0 || static_cast<size_t>(leaf) >= c.leaf_weights.size() / size) {
        Refuse(NodeName(from) + ": expected the number of a leaf in right_children, from 0 to " +
               std::to_string(c.leaf_weights.size() / size) + " (excluded), but it has " +
               std::to_string(leaf));
      }
      values = c.leaf_weights.data() + static_cast<size_t>(leaf) * size;
    }
    const size_t first = tree->leaf_vectors.size();
    if (first > std::numeric_limits<uint32_t>::max()) {
      Refuse(TreeName() + ": it has too many values in its leaves");
    }
    node->vector = static_cast<uint32_t>(first);
    tree->leaf_vectors.insert(tree->leaf_vectors.end(), values, values + size);
  }

  Document& in_;
  size_t file_size_;
  CategorySets sets_;
  XgboostModel model_;
  bool has_trees_ = false;
  uint64_t tree_count_ = 0;
  // Of the tree that is being read. They keep their memory for the next one.
  TreeColumns columns_;
  Children children_;
  std::vector<int32_t> set_of_node_;  // by node: the position in category_nodes, or -1
};

}  // namespace

Forest ReadXgboostDocument(Document* document, size_t file_size) {
  return DocumentReader(document, file_size).Read();
}

}  // namespace tritonts::fil
