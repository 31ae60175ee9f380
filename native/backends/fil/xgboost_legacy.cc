// Reads the binary format that XGBoost wrote before 3.0: structs of C++, one after the other.
#include <cmath>
#include <utility>
#include <vector>

#include "byte_reader.h"
#include "readers.h"
#include "refusal.h"
#include "tree_order.h"
#include "xgboost_model.h"

namespace tritonts::fil {

namespace {

// The sizes of the structs of parameters, with the room that they reserve.
constexpr size_t kModelBytes = 136;
constexpr size_t kBoosterBytes = 160;
constexpr size_t kTreeBytes = 148;
// Bits of a node's feature.
constexpr uint32_t kDefaultLeft = uint32_t{1} << 31;
constexpr uint32_t kRemovedNode = 0xffffffff;

struct LegacyNode {
  int32_t parent;
  int32_t left;  // -1: a leaf
  int32_t right;
  uint32_t feature;  // with a bit for the way of missing values
  float value;       // the threshold, or the leaf's value
};

struct LegacyCounts {
  float loss_change;
  float cover;
  float weight;
  int32_t leaves;
};

class LegacyReader {
 public:
  explicit LegacyReader(std::string_view bytes) : bytes_(bytes), in_(bytes) {}

  Forest Read() {
    CheckFront();
    ReadModel();
    ReadTrees();
    if (model_.booster == "dart" && !model_.trees.empty()) {
      const auto weights = in_.Array<float>("weight_drop");
      for (size_t i = 0; i < weights.size(); i++) model_.weights.push_back(weights[i]);
    }
    ReadRest();
    return FinishXgboost(std::move(model_), bytes_.size());
  }

 private:
  // Other formats of XGBoost have had this file name, too.
  void CheckFront() {
    if (bytes_.substr(0, 4) == "binf") {
      in_.Skip("the mark 'binf'", 4);
    } else if (bytes_.substr(0, 4) == "bs64") {
      RefuseUnsupported(
          "the file begins with 'bs64': models of XGBoost as text in base 64 are not supported");
    } else if (bytes_.substr(0, 2) == "{\"" || bytes_.substr(0, 2) == "{\n") {
      Refuse(
          "expected XGBoost's binary format of before 3.0, but this is JSON: the model_type of the "
          "file is xgboost_json");
    } else if (bytes_.substr(0, 1) == "{" && bytes_.size() > 2 && bytes_[2] == '\0') {
      Refuse(
          "expected XGBoost's binary format of before 3.0, but this is UBJSON: the model_type of "
          "the "
          "file is xgboost_ubj");
    }
  }

  void ReadModel() {
    const size_t begin = in_.at();
    model_.base_scores.push_back(in_.Value<float>("base_score"));
    model_.features = in_.Value<uint32_t>("num_feature");
    const auto classes = in_.Value<int32_t>("num_class");
    if (classes < 0) Refuse("num_class is " + std::to_string(classes) + ": expected 0 or more");
    model_.classes = static_cast<uint64_t>(classes);
    has_attributes_ = Flag("contain_extra_attrs");
    has_metrics_ = Flag("contain_eval_metrics");
    const auto major = in_.Value<uint32_t>("the major version");
    in_.Value<uint32_t>("the minor version");
    // Versions before 1.0 wrote no version, and the base score as a margin.
    model_.base_is_margin = major == 0;
    model_.targets = in_.Value<uint32_t>("num_target");
    in_.Skip("the parameters of the model", kModelBytes - (in_.at() - begin));
    model_.objective = in_.Text("the name of the objective");
    model_.booster = in_.Text("the name of the booster");
    CheckBooster(model_.booster);
  }

  bool Flag(const char* field) {
    const auto value = in_.Value<int32_t>(field);
    if (value != 0 && value != 1) {
      Refuse(std::string(field) + " is " + std::to_string(value) +
             ": expected 0 or 1 (is this XGBoost's binary format of before 3.0?)");
    }
    return value == 1;
  }

  void ReadTrees() {
    const size_t begin = in_.at();
    const auto count = in_.Value<int32_t>("num_trees");
    if (count < 0) Refuse("num_trees is " + std::to_string(count) + ": expected 0 or more");
    in_.Skip("num_roots, num_feature", 12);
    if (const auto buffer = in_.Value<int64_t>("num_pbuffer"); buffer != 0) {
      RefuseUnsupported("num_pbuffer is " + std::to_string(buffer) +
                        ": files of XGBoost before 0.4 are not supported");
    }
    in_.Skip("the parameters of the booster", kBoosterBytes - (in_.at() - begin));
    const auto total = static_cast<uint64_t>(count);
    if (total > in_.left() / (kTreeBytes + sizeof(LegacyNode) + sizeof(LegacyCounts))) {
      Refuse("num_trees is " + std::to_string(count) + ", but only " + std::to_string(in_.left()) +
             " bytes follow");
    }
    model_.trees.reserve(total);
    for (int32_t i = 0; i < count; i++) {
      in_.SetPlace(TreeName() + ": ");
      model_.trees.push_back(ReadTree());
    }
    in_.SetPlace("");
    const auto columns = in_.Values<int32_t>("tree_info", total);
    for (size_t i = 0; i < columns.size(); i++) model_.tree_columns.push_back(columns[i]);
  }

  std::string TreeName() const { return "tree " + std::to_string(model_.trees.size()); }

  Tree ReadTree() {
    const size_t begin = in_.at();
    in_.Skip("num_roots", 4);
    const auto count = in_.Value<int32_t>("num_nodes");
    in_.Skip("num_deleted, max_depth, num_feature", 12);
    const auto leaf_size = in_.Value<int32_t>("size_leaf_vector");
    in_.Skip("the parameters of the tree", kTreeBytes - (in_.at() - begin));
    if (count <= 0) {
      Refuse(TreeName() + ": num_nodes is " + std::to_string(count) + ": expected 1 or more");
    }
    if (leaf_size != 0 && leaf_size != 1) {
      RefuseUnsupported(TreeName() + ": size_leaf_vector is " + std::to_string(leaf_size) +
                        ": leaves with several values are not supported in this format");
    }
    const auto nodes = in_.Values<LegacyNode>("nodes", static_cast<uint64_t>(count));
    const auto counts = in_.Values<LegacyCounts>("statistics", static_cast<uint64_t>(count));
    children_.left.resize(nodes.size());
    children_.right.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
      const LegacyNode node = nodes[i];
      children_.left[i] = node.left;
      children_.right[i] = node.right;
    }
    children_.may_be_apart = [&nodes](uint32_t node) {
      return nodes[node].feature == kRemovedNode;
    };
    const std::vector<uint32_t> order = BreadthFirst(TreeName(), children_);
    Tree tree;
    tree.nodes.resize(order.size());
    uint32_t next = 1;
    for (size_t at = 0; at < order.size(); at++) {
      const LegacyNode from = nodes[order[at]];
      Node& node = tree.nodes[at];
      node.cover = counts[order[at]].cover;
      if (from.left == kNoChild) {
        node.value = from.value;
        continue;
      }
      const auto place = [&] { return TreeName() + ", node " + std::to_string(order[at]); };
      if (from.feature == kRemovedNode)
        Refuse(place() + ": it is in the tree, but marked as removed");
      if (std::isnan(from.value)) Refuse(place() + ": expected a threshold, but it is NaN");
      node.test = Node::Test::kLess;
      node.feature = from.feature & ~kDefaultLeft;
      node.missing_left = (from.feature & kDefaultLeft) != 0;
      node.threshold = from.value;
      node.left = next;
      node.right = next + 1;
      next += 2;
      if (model_.largest_feature_place.empty() || node.feature > model_.largest_feature) {
        model_.largest_feature = node.feature;
        model_.largest_feature_place = place();
      }
    }
    return tree;
  }

  // Attributes and metrics do not matter here, but show whether the file is whole.
  void ReadRest() {
    if (has_attributes_) {
      const auto count = in_.Value<uint64_t>("the number of attributes");
      for (uint64_t i = 0; i < count; i++) {
        in_.Text("the name of an attribute");
        in_.Text("the value of an attribute");
      }
    }
    if (has_metrics_) {
      const auto count = in_.Value<uint64_t>("the number of metrics");
      for (uint64_t i = 0; i < count; i++) in_.Text("the name of a metric");
    }
    if (in_.left() > 0) {
      Refuse("expected the end of the file at byte " + std::to_string(in_.at()) + ", but " +
             std::to_string(in_.left()) + " bytes follow");
    }
  }

  std::string_view bytes_;
  ByteReader in_;
  XgboostModel model_;
  bool has_attributes_ = false;
  bool has_metrics_ = false;
  Children children_;  // of the tree that is being read; keeps its memory for the next one
};

}  // namespace

Forest ReadXgboostLegacy(std::string_view bytes) {
  return LegacyReader(bytes).Read();
}

}  // namespace tritonts::fil
