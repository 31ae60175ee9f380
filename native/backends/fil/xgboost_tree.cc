#include "xgboost_tree.h"

#include <cmath>
#include <limits>

#include "refusal.h"

namespace tritonts::fil {

namespace {

// XGBoost marks removed nodes with this feature.
constexpr int32_t kRemovedFeature = 0x7fffffff;

}  // namespace

Tree XgboostTreeMaker::Make() {
  XgboostTreeColumns& c = columns;
  children_.left.swap(c.left);
  children_.right.swap(c.right);
  children_.may_be_apart = [&c](uint32_t node) { return c.feature[node] == kRemovedFeature; };
  const std::vector<uint32_t> order = BreadthFirst(name(), children_);
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

void XgboostTreeMaker::MakeSplit(uint32_t from, uint32_t child, Tree* tree, Node* node) {
  XgboostTreeColumns& c = columns;
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

void XgboostTreeMaker::FindCategories() {
  XgboostTreeColumns& c = columns;
  set_of_node_.clear();
  sets_.BeginTree(c.categories.size());
  if (c.category_begins.size() != c.category_nodes.size() ||
      c.category_sizes.size() != c.category_nodes.size()) {
    Refuse(name() + ": categories_nodes has " + std::to_string(c.category_nodes.size()) +
           " numbers, but categories_segments has " + std::to_string(c.category_begins.size()) +
           ", and categories_sizes " + std::to_string(c.category_sizes.size()));
  }
  if (c.category_nodes.empty()) return;
  set_of_node_.resize(static_cast<size_t>(c.nodes), -1);
  for (size_t i = 0; i < c.category_nodes.size(); i++) {
    const int32_t node = c.category_nodes[i];
    const auto place = [&] {
      return name() + ": categories_nodes[" + std::to_string(i) + "] is " + std::to_string(node);
    };
    if (node < 0 || node >= c.nodes) {
      Refuse(place() + ": expected a node from 0 to " + std::to_string(c.nodes - 1));
    }
    int32_t& set = set_of_node_[static_cast<size_t>(node)];
    if (set != -1) Refuse(place() + ", which is there twice");
    set = static_cast<int32_t>(i);
  }
}

void XgboostTreeMaker::AddCategories(uint32_t from, Tree* tree, Node* node) {
  XgboostTreeColumns& c = columns;
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

void XgboostTreeMaker::ReserveVectors(Tree* tree) {
  const XgboostTreeColumns& c = columns;
  const auto size = static_cast<uint64_t>(c.leaf_size);
  if (model_.leaf_size == 0) model_.leaf_size = size;
  if (size != model_.leaf_size) {
    Refuse(name() + ": size_leaf_vector is " + std::to_string(size) + ", but an earlier tree has " +
           std::to_string(model_.leaf_size));
  }
  const uint64_t leaves = tree->nodes.size() / 2 + 1;
  // Several leaves must not share values, or a small file could need any memory.
  if (!c.leaf_weights.empty() && c.leaf_weights.size() / size < leaves) {
    Refuse(name() + ": expected " + std::to_string(size) + " leaf_weights for each of " +
           std::to_string(leaves) + " leaves, but there are " +
           std::to_string(c.leaf_weights.size()));
  }
  if (c.leaf_weights.empty() && c.weight.size() != static_cast<uint64_t>(c.nodes) * size) {
    Refuse(name() + ": expected " + std::to_string(size) + " base_weights for each of " +
           std::to_string(c.nodes) + " nodes, but there are " + std::to_string(c.weight.size()));
  }
  tree->leaf_vectors.reserve(leaves * size);
}

void XgboostTreeMaker::AddVector(uint32_t from, Tree* tree, Node* node) {
  const XgboostTreeColumns& c = columns;
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
    Refuse(name() + ": it has too many values in its leaves");
  }
  node->vector = static_cast<uint32_t>(first);
  tree->leaf_vectors.insert(tree->leaf_vectors.end(), values, values + size);
}

}  // namespace tritonts::fil
