// Makes a tree of the columns that XGBoost's JSON and UBJSON have of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "categories.h"
#include "forest.h"
#include "tree_order.h"
#include "xgboost_model.h"

namespace tritonts::fil {

// The members of a tree, node by node.
struct XgboostTreeColumns {
  std::vector<int32_t> left, right, feature;
  std::vector<float> condition, weight, cover, leaf_weights;
  std::vector<uint8_t> default_left, is_category;
  std::vector<int32_t> categories, category_nodes;
  std::vector<int64_t> category_begins, category_sizes;
  int64_t nodes = 0;
  int64_t leaf_size = 0;  // the values of a leaf; 0 and 1 mean one
};

// Makes the trees of a model, one after the other. Keeps its memory for the next tree. Not
// thread-safe.
class XgboostTreeMaker {
 public:
  // Notes in `model`, which must outlive it, what must be checked when all parts are read.
  XgboostTreeMaker(size_t file_size, XgboostModel* model) : sets_(file_size), model_(*model) {}

  // The caller fills these before each call of Make.
  XgboostTreeColumns columns;

  // The model's next tree, which the caller appends. Throws a Refusal.
  Tree Make();
  // The name of that tree, for messages.
  std::string name() const { return "tree " + std::to_string(model_.trees.size()); }

 private:
  std::string NodeName(size_t node) const { return name() + ", node " + std::to_string(node); }
  // `child` is the place of the left child. The right one follows.
  void MakeSplit(uint32_t from, uint32_t child, Tree* tree, Node* node);
  // Notes for each node with categories where they are.
  void FindCategories();
  void AddCategories(uint32_t from, Tree* tree, Node* node);
  // Leaves with several values have them in leaf_weights, packed. Versions before 3.1 have them in
  // base_weights, among those of all nodes.
  void ReserveVectors(Tree* tree);
  void AddVector(uint32_t from, Tree* tree, Node* node);

  CategorySets sets_;
  XgboostModel& model_;
  Children children_;
  std::vector<int32_t> set_of_node_;  // by node: the position in category_nodes, or -1
};

}  // namespace tritonts::fil
