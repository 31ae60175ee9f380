// Reads a checkpoint of Treelite 4: the fields of its model, one after the other, without padding.
// Or one of Treelite 3.9, which has structs of C++ for some of them, but means the same.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "byte_reader.h"
#include "categories.h"
#include "readers.h"
#include "refusal.h"
#include "threshold.h"
#include "tree_order.h"

namespace tritonts::fil {

namespace {

// The types of thresholds and leaves.
constexpr uint8_t kFloat32 = 2;
constexpr uint8_t kFloat64 = 3;
enum class NodeType : int8_t { kLeaf = 0, kNumber = 1, kCategory = 2 };

struct Postprocessor {
  std::string_view name;
  Transform transform;
  bool takes_alpha = false;
  bool takes_ratio = false;
};

constexpr Postprocessor kPostprocessors[] = {
    {"identity", Transform::kIdentity},
    {"identity_multiclass", Transform::kIdentity},
    {"sigmoid", Transform::kSigmoid, true},
    {"multiclass_ova", Transform::kSigmoid, true},
    {"softmax", Transform::kSoftmax},
    {"exponential", Transform::kExp},
    {"exponential_standard_ratio", Transform::kExpRatio, false, true},
    {"hinge", Transform::kHinge},
    {"max_index", Transform::kMaxIndex},
    {"signed_square", Transform::kSignedSquare},
    {"logarithm_one_plus_exp", Transform::kLog1pExp},
};

template <typename Place>
Comparison ComparisonOf(const Place& place, int8_t code) {
  switch (code) {
    case 2:
      return Comparison::kLess;
    case 3:
      return Comparison::kLessOrEqual;
    case 4:
      return Comparison::kGreater;
    case 5:
      return Comparison::kGreaterOrEqual;
    case 1:
      RefuseUnsupported(place() + ": its comparison is '==', which is not supported");
    default:
      Refuse(place() + ": expected a comparison from 2 to 5, but it is " + std::to_string(code));
  }
}

class TreeliteReader {
 public:
  explicit TreeliteReader(std::string_view bytes)
      : size_(bytes.size()), in_(bytes), sets_(bytes.size()) {}

  Forest Read() {
    const uint64_t count = ReadHead();
    constexpr size_t kLeastTreeBytes = 80;  // the counts of the arrays alone take more
    if (count > in_.left() / kLeastTreeBytes) {
      Refuse("the number of trees is " + std::to_string(count) + ", but only " +
             std::to_string(in_.left()) + " bytes follow");
    }
    if (is_older_) {
      ReadOlderModel();
    } else {
      ReadModel(count);
    }
    forest_.float_sums = type_ == kFloat32;
    forest_.trees.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; i++) {
      in_.SetPlace(TreeName() + ": ");
      forest_.trees.push_back(type_ == kFloat32 ? ReadTree<float>() : ReadTree<double>());
    }
    if (in_.left() > 0) {
      Refuse("expected the end of the file at byte " + std::to_string(in_.at()) + ", but " +
             std::to_string(in_.left()) + " bytes follow");
    }
    return std::move(forest_);
  }

 private:
  // Returns the number of trees.
  uint64_t ReadHead() {
    const auto major = in_.Value<int32_t>("the major version");
    const auto minor = in_.Value<int32_t>("the minor version");
    const auto patch = in_.Value<int32_t>("the patch version");
    const std::string version =
        std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
    is_older_ = major == 3 && minor == 9;
    if (major != 4 && !is_older_) {
      if (major < 0 || major > 99 || minor < 0 || minor > 999) {
        Refuse("expected a checkpoint of Treelite, which begins with its version, but it is " +
               version);
      }
      RefuseUnsupported("checkpoints of Treelite " + version +
                        " are not supported: expected version 3.9 or 4.x");
    }
    type_ = in_.Value<uint8_t>("the type of thresholds");
    const auto leaf_type = in_.Value<uint8_t>("the type of leaves");
    if ((type_ != kFloat32 && type_ != kFloat64) || leaf_type != type_) {
      Refuse(
          "expected thresholds and leaves of type 2 (float32) or 3 (float64), both the same, but "
          "they are of type " +
          std::to_string(type_) + " and " + std::to_string(leaf_type));
    }
    return in_.Value<uint64_t>("the number of trees");
  }

  void ReadModel(uint64_t count) {
    ReadFeatures();
    in_.Value<uint8_t>("task_type");
    forest_.averages = Flag([] { return std::string("average_tree_output"); },
                            in_.Value<uint8_t>("average_tree_output"));
    const auto targets = in_.Value<int32_t>("num_target");
    if (targets > 1) {
      RefuseUnsupported("multi-target models are not supported: num_target is " +
                        std::to_string(targets));
    }
    if (targets < 1) Refuse("num_target is " + std::to_string(targets) + ": expected 1");
    const auto classes = in_.Array<int32_t>("num_class");
    if (classes.size() != 1 || classes[0] < 1 || static_cast<size_t>(classes[0]) > size_) {
      Refuse("num_class: expected one number, from 1 to the size of the file, but there are " +
             std::to_string(classes.size()) +
             (classes.empty() ? "" : ", and the first is " + std::to_string(classes[0])));
    }
    forest_.columns = static_cast<uint32_t>(classes[0]);
    const auto shape = in_.Array<int32_t>("leaf_vector_shape");
    if (shape.size() != 2 || shape[0] != 1 || (shape[1] != 1 && shape[1] != classes[0])) {
      Refuse("leaf_vector_shape: expected [1, 1] or [1, " + std::to_string(classes[0]) +
             "], but there are " + std::to_string(shape.size()) + " numbers" +
             (shape.size() < 2 ? ""
                               : ", and the first are " + std::to_string(shape[0]) + " and " +
                                     std::to_string(shape[1])));
    }
    leaf_size_ = static_cast<uint32_t>(shape[1]);
    const auto tree_targets = in_.Array<int32_t>("target_id");
    class_of_tree_ = in_.Array<int32_t>("class_id");
    for (const auto& [name, size] : {std::pair{"target_id", tree_targets.size()},
                                     std::pair{"class_id", class_of_tree_.size()}}) {
      if (size == count) continue;
      Refuse(std::string(name) + " has " + std::to_string(size) + " numbers, but there are " +
             std::to_string(count) + " trees");
    }
    for (size_t i = 0; i < tree_targets.size(); i++) {
      if (tree_targets[i] == 0 || tree_targets[i] == -1) continue;
      Refuse("tree " + std::to_string(i) + ": its target_id is " + std::to_string(tree_targets[i]) +
             ": expected 0, the only target");
    }
    const std::string_view name = in_.Text("postprocessor");
    const auto alpha = in_.Value<float>("sigmoid_alpha");
    const auto ratio = in_.Value<float>("ratio_c");
    SetPostprocessor(name, alpha, ratio);
    const auto base = in_.Array<double>("base_scores");
    if (base.size() != forest_.columns) {
      Refuse("base_scores has " + std::to_string(base.size()) +
             " numbers: expected one for each of " + std::to_string(forest_.columns) + " columns");
    }
    for (size_t i = 0; i < base.size(); i++) {
      if (!std::isfinite(base[i])) {
        Refuse("base_scores[" + std::to_string(i) + "] is " + std::to_string(base[i]) +
               ": expected a finite number");
      }
      forest_.base.push_back(base[i]);
    }
    in_.Text("attributes");
    NoExtensions("the model");
  }

  void ReadFeatures() {
    const auto features = in_.Value<int32_t>("num_feature");
    if (features < 0) Refuse("num_feature is " + std::to_string(features) + ": expected 0 or more");
    forest_.features = static_cast<uint32_t>(features);
  }

  // The model of 3.9. Its classes have a tree each in turn, or a value in each leaf.
  void ReadOlderModel() {
    enum : uint8_t { kOneColumn = 0, kTreeForClass = 1, kVectorLeaves = 2 };
    constexpr size_t kNameBytes = 256;
    ReadFeatures();
    const auto task = in_.Value<uint8_t>("task_type");
    forest_.averages = Flag([] { return std::string("average_tree_output"); },
                            in_.Value<uint8_t>("average_tree_output"));
    in_.Skip("output_type, grove_per_class", 4);
    const auto classes = in_.Value<uint32_t>("num_class");
    const auto leaf_size = in_.Value<uint32_t>("leaf_vector_size");
    if (task > kVectorLeaves) {
      RefuseUnsupported("task_type is " + std::to_string(task) +
                        ": models whose leaves are classes are not supported");
    }
    if (classes < 1 || classes > size_ || (task == kOneColumn && classes != 1)) {
      Refuse("num_class is " + std::to_string(classes) + ": expected " +
             (task == kOneColumn ? "1" : "1 to the size of the file") + " with the task_type " +
             std::to_string(task));
    }
    if (leaf_size != (task == kVectorLeaves ? classes : 1)) {
      Refuse("leaf_vector_size is " + std::to_string(leaf_size) + ": expected " +
             std::to_string(task == kVectorLeaves ? classes : 1) + " with the task_type " +
             std::to_string(task));
    }
    forest_.columns = classes;
    leaf_size_ = leaf_size;
    const auto name = in_.Values<char>("pred_transform", kNameBytes);
    std::string text;
    for (size_t i = 0; i < kNameBytes && name[i] != '\0'; i++) text += name[i];
    const auto alpha = in_.Value<float>("sigmoid_alpha");
    const auto ratio = in_.Value<float>("ratio_c");
    SetPostprocessor(text, alpha, ratio);
    const double base = in_.Value<float>("global_bias");
    if (!std::isfinite(base)) {
      Refuse("global_bias is " + std::to_string(base) + ": expected a finite number");
    }
    forest_.base.assign(classes, base);
    NoExtensions("the model");
  }

  void SetPostprocessor(std::string_view name, float alpha, float ratio) {
    std::string known;
    for (const Postprocessor& one : kPostprocessors) {
      known += (known.empty() ? "" : ", ") + std::string(one.name);
      if (one.name != name) continue;
      forest_.transform = one.transform;
      if (one.takes_alpha) forest_.sigmoid_alpha = Positive("sigmoid_alpha", alpha);
      if (one.takes_ratio) forest_.ratio_c = Positive("ratio_c", ratio);
      return;
    }
    RefuseUnsupported("the postprocessor " + Shown(name) + " is not supported: expected one of " +
                      known);
  }

  static float Positive(const char* field, float value) {
    if (value > 0 && std::isfinite(value)) return value;
    Refuse(std::string(field) + " is " + std::to_string(value) + ": expected a positive number");
  }

  // `field` makes the text only where it is needed.
  template <typename Field>
  static bool Flag(const Field& field, uint8_t value) {
    if (value <= 1) return value == 1;
    Refuse(field() + " is " + std::to_string(value) + ": expected 0 or 1");
  }

  // Later versions may add fields to the end of each part. None has done so yet.
  void NoExtensions(const std::string& part) {
    const auto count = in_.Value<int32_t>("the number of further fields");
    if (count == 0) return;
    RefuseUnsupported(part + " has " + std::to_string(count) +
                      " further fields, which are not supported: expected none");
  }

  std::string TreeName() const { return "tree " + std::to_string(forest_.trees.size()); }

  // The fields of the nodes of one tree, as they lie in the file.
  template <typename T>
  struct NodeFields {
    size_t count = 0;
    PackedArray<int8_t> type;  // 3.9: of inner nodes
    PackedArray<int32_t> left, right, feature;
    PackedArray<uint8_t> default_left;
    PackedArray<T> value, threshold;
    PackedArray<int8_t> comparison;
    PackedArray<uint8_t> set_is_right;
    PackedArray<T> vectors;
    PackedArray<uint64_t> vector_begin, vector_end;
    PackedArray<uint32_t> categories;
    PackedArray<uint64_t> set_begin, set_end;
    PackedArray<uint64_t> data_count;
    PackedArray<uint8_t> has_data_count;
    PackedArray<double> weight;
    PackedArray<uint8_t> has_weight;
    bool packs_feature = false;  // 3.9: its highest bit is default_left

    bool IsLeaf(uint32_t node) const {
      return packs_feature ? left[node] == kNoChild
                           : type[node] == static_cast<int8_t>(NodeType::kLeaf);
    }
    int32_t Feature(uint32_t node) const {
      return packs_feature ? feature[node] & 0x7fffffff : feature[node];
    }
    uint8_t DefaultLeft(uint32_t node) const {
      return packs_feature ? feature[node] < 0 : default_left[node];
    }
  };

  // An array with a value for each node. Some may also have none at all.
  template <typename T>
  PackedArray<T> ForNodes(const char* field, size_t count, bool may_lack = false) {
    const auto values = in_.Array<T>(field);
    if (values.size() == count || (may_lack && values.empty())) return values;
    Refuse(TreeName() + ": " + field + " has " + std::to_string(values.size()) +
           " values, but num_nodes is " + std::to_string(count));
  }

  template <typename T>
  NodeFields<T> ReadFields() {
    NodeFields<T> f;
    const auto count = in_.Value<int32_t>("num_nodes");
    if (count < 1) {
      Refuse(TreeName() + ": num_nodes is " + std::to_string(count) + ": expected 1 or more");
    }
    f.count = static_cast<size_t>(count);
    in_.Value<uint8_t>("has_categorical_split");
    f.type = ForNodes<int8_t>("node_type", f.count);
    f.left = ForNodes<int32_t>("cleft", f.count);
    f.right = ForNodes<int32_t>("cright", f.count);
    f.feature = ForNodes<int32_t>("split_index", f.count);
    f.default_left = ForNodes<uint8_t>("default_left", f.count);
    f.value = ForNodes<T>("leaf_value", f.count);
    f.threshold = ForNodes<T>("threshold", f.count);
    f.comparison = ForNodes<int8_t>("cmp", f.count);
    f.set_is_right = ForNodes<uint8_t>("category_list_right_child", f.count);
    f.vectors = in_.Array<T>("leaf_vector");
    f.vector_begin = ForNodes<uint64_t>("leaf_vector_begin", f.count);
    f.vector_end = ForNodes<uint64_t>("leaf_vector_end", f.count);
    f.categories = in_.Array<uint32_t>("category_list");
    f.set_begin = ForNodes<uint64_t>("category_list_begin", f.count);
    f.set_end = ForNodes<uint64_t>("category_list_end", f.count);
    f.data_count = ForNodes<uint64_t>("data_count", f.count, true);
    f.has_data_count = ForNodes<uint8_t>("data_count_present", f.count, true);
    f.weight = ForNodes<double>("sum_hess", f.count, true);
    f.has_weight = ForNodes<uint8_t>("sum_hess_present", f.count, true);
    ForNodes<double>("gain", f.count, true);
    ForNodes<uint8_t>("gain_present", f.count, true);
    NoExtensions(TreeName());
    NoExtensions("the nodes of " + TreeName());
    return f;
  }

  template <typename T>
  NodeFields<T> ReadOlderFields() {
    // The struct of a node: children and feature, then the threshold or value, which is aligned.
    constexpr size_t kValue = sizeof(T) == 4 ? 12 : 16;
    constexpr size_t kCount = kValue + sizeof(T);
    constexpr size_t kWeight = kCount + 8;
    constexpr size_t kType = kWeight + 16;
    constexpr size_t kSize = kType + 8;
    NodeFields<T> f;
    f.packs_feature = true;
    const auto count = in_.Value<int32_t>("num_nodes");
    in_.Value<uint8_t>("has_categorical_split");
    f.count = static_cast<size_t>(in_.Value<uint64_t>("nodes"));
    if (count < 1 || f.count != static_cast<size_t>(count)) {
      Refuse(TreeName() + ": num_nodes is " + std::to_string(count) + ", and there are " +
             std::to_string(f.count) + " nodes: expected 1 or more, as many");
    }
    const char* const nodes = in_.Structs("nodes", f.count, kSize);
    const auto field = [&]<typename V>(size_t at, PackedArray<V>* values) {
      *values = PackedArray<V>(nodes + at, f.count, kSize);
    };
    field(0, &f.left);
    field(4, &f.right);
    field(8, &f.feature);
    field(kValue, &f.value);
    field(kValue, &f.threshold);
    field(kCount, &f.data_count);
    field(kWeight, &f.weight);
    field(kType, &f.type);
    field(kType + 1, &f.comparison);
    field(kType + 2, &f.has_data_count);
    field(kType + 3, &f.has_weight);
    field(kType + 5, &f.set_is_right);
    f.vectors = in_.Array<T>("leaf_vector");
    f.vector_begin = ForNodes<uint64_t>("leaf_vector_begin", f.count);
    f.vector_end = ForNodes<uint64_t>("leaf_vector_end", f.count);
    f.categories = in_.Array<uint32_t>("matching_categories");
    const auto begins = ForNodes<uint64_t>("matching_categories_offset", f.count + 1);
    f.set_begin = begins.From(0, f.count);
    f.set_end = begins.From(1, f.count);
    NoExtensions(TreeName());
    NoExtensions("the nodes of " + TreeName());
    return f;
  }

  // The class that a tree is for; -1: all of them.
  int32_t ClassOf(size_t tree) const {
    if (!is_older_) return class_of_tree_[tree];
    return leaf_size_ > 1 ? -1 : static_cast<int32_t>(tree % forest_.columns);
  }

  template <typename T>
  Tree ReadTree() {
    const NodeFields<T> f = is_older_ ? ReadOlderFields<T>() : ReadFields<T>();
    const std::string name = TreeName();
    const auto place = [&name](uint32_t node) { return name + ", node " + std::to_string(node); };
    children_.left.resize(f.count);
    children_.right.resize(f.count);
    for (uint32_t i = 0; i < f.count; i++) {
      const bool is_leaf = f.IsLeaf(i);
      children_.left[i] = is_leaf ? kNoChild : f.left[i];
      children_.right[i] = is_leaf ? kNoChild : f.right[i];
      if (is_leaf) continue;
      if (f.type[i] != static_cast<int8_t>(NodeType::kNumber) &&
          f.type[i] != static_cast<int8_t>(NodeType::kCategory)) {
        Refuse(place(i) + ": expected its node_type to be 1 or 2 (0 for a leaf), but it is " +
               std::to_string(f.type[i]));
      }
      if (f.left[i] == kNoChild) Refuse(place(i) + ": expected a left child, but it has none");
    }
    const std::vector<uint32_t> order = BreadthFirst(name, children_);
    const int32_t column = ClassOf(forest_.trees.size());
    const bool has_vectors = column == -1 && leaf_size_ > 1;
    if (column < (leaf_size_ == forest_.columns ? -1 : 0) ||
        (column >= 0 && static_cast<uint32_t>(column) >= forest_.columns) ||
        (leaf_size_ > 1 && column >= 0)) {
      Refuse(name + ": its class_id is " + std::to_string(column) + ": expected " +
             (leaf_size_ > 1 ? "-1, because its leaves have a value for each class"
                             : "a class from 0 to " + std::to_string(forest_.columns - 1)));
    }
    Tree tree;
    tree.column = column < 0 ? 0 : static_cast<uint32_t>(column);
    tree.nodes.resize(order.size());
    if (has_vectors) ReserveVectors(name, f, &tree);
    sets_.BeginTree(f.categories.size());
    uint32_t next = 1;
    for (size_t at = 0; at < order.size(); at++) {
      const uint32_t from = order[at];
      Node& node = tree.nodes[at];
      if (!f.has_weight.empty() && !f.weight.empty() && f.has_weight[from] == 1) {
        node.cover = f.weight[from];
      } else if (!f.has_data_count.empty() && !f.data_count.empty() &&
                 f.has_data_count[from] == 1) {
        node.cover = static_cast<double>(f.data_count[from]);
      }
      if (children_.left[from] == kNoChild) {
        MakeLeaf([&] { return place(from); }, f, from, has_vectors, &tree, &node);
        continue;
      }
      const int32_t feature = f.Feature(from);
      if (feature < 0 || static_cast<uint32_t>(feature) >= forest_.features) {
        Refuse(place(from) + ": expected a feature from 0 to " +
               std::to_string(int64_t{forest_.features} - 1) + ", but its split_index is " +
               std::to_string(feature));
      }
      node.feature = static_cast<uint32_t>(feature);
      const bool default_left =
          Flag([&] { return place(from) + ": its default_left"; }, f.DefaultLeft(from));
      if (f.type[from] == static_cast<int8_t>(NodeType::kCategory)) {
        const bool is_right = Flag([&] { return place(from) + ": its category_list_right_child"; },
                                   f.set_is_right[from]);
        node.test = Node::Test::kCategory;
        node.left = is_right ? next + 1 : next;
        node.right = is_right ? next : next + 1;
        node.missing_left = default_left != is_right;
        AddCategories(place(from), f, from, &tree, &node);
      } else {
        const auto threshold = static_cast<double>(f.threshold[from]);
        if (std::isnan(threshold)) Refuse(place(from) + ": expected a threshold, but it is NaN");
        SetComparison(ComparisonOf([&] { return place(from); }, f.comparison[from]), threshold,
                      next, next + 1, default_left, &node);
      }
      next += 2;
    }
    return tree;
  }

  template <typename T>
  void ReserveVectors(const std::string& name, const NodeFields<T>& f, Tree* tree) {
    const uint64_t leaves = tree->nodes.size() / 2 + 1;
    // Several leaves must not share values, or a small file could need any memory.
    if (f.vectors.size() / leaf_size_ < leaves) {
      Refuse(name + ": expected " + std::to_string(leaf_size_) +
             " values in leaf_vector for each of " + std::to_string(leaves) +
             " leaves, but there are " + std::to_string(f.vectors.size()));
    }
    tree->leaf_vectors.reserve(static_cast<size_t>(leaves * leaf_size_));
  }

  template <typename Place, typename T>
  void MakeLeaf(const Place& place, const NodeFields<T>& f, uint32_t from, bool has_vectors,
                Tree* tree, Node* node) {
    const uint64_t begin = f.vector_begin[from];
    const uint64_t end = f.vector_end[from];
    if (begin > end || end > f.vectors.size()) {
      Refuse(place() + ": its leaf vector goes from " + std::to_string(begin) + " to " +
             std::to_string(end) + ", but leaf_vector has " + std::to_string(f.vectors.size()) +
             " values");
    }
    if (!has_vectors) {
      // A vector of one value is a value.
      node->value = static_cast<double>(end - begin == 1 ? f.vectors[begin] : f.value[from]);
      return;
    }
    if (end - begin != leaf_size_) {
      Refuse(place() + ": its leaf vector has " + std::to_string(end - begin) +
             " values: expected " + std::to_string(leaf_size_));
    }
    const size_t first = tree->leaf_vectors.size();
    if (first > std::numeric_limits<uint32_t>::max())
      Refuse(place() + ": its tree has too many values");
    node->vector = static_cast<uint32_t>(first);
    for (uint64_t i = begin; i < end; i++) tree->leaf_vectors.push_back(f.vectors[i]);
  }

  template <typename T>
  void AddCategories(const std::string& place, const NodeFields<T>& f, uint32_t from, Tree* tree,
                     Node* node) {
    const uint64_t begin = f.set_begin[from];
    const uint64_t end = f.set_end[from];
    if (begin > end || end > f.categories.size()) {
      Refuse(place + ": its categories go from " + std::to_string(begin) + " to " +
             std::to_string(end) + ", but category_list has " +
             std::to_string(f.categories.size()) + " values");
    }
    sets_.Add(place, f.categories, static_cast<size_t>(begin), static_cast<size_t>(end - begin),
              tree, node);
  }

  size_t size_;
  ByteReader in_;
  CategorySets sets_;
  Forest forest_;
  bool is_older_ = false;  // of 3.9
  uint8_t type_ = 0;
  uint32_t leaf_size_ = 1;
  PackedArray<int32_t> class_of_tree_;
  Children children_;  // of the tree that is being read; keeps its memory for the next one
};

}  // namespace

Forest ReadTreelite(std::string_view bytes) {
  return TreeliteReader(bytes).Read();
}

}  // namespace tritonts::fil
