// What the formats of XGBoost have in common: what its parameters and objectives mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forest.h"

namespace tritonts::fil {

// The part of a model around its trees.
struct XgboostModel {
  std::string booster;    // gbtree or dart
  std::string objective;  // such as binary:logistic
  uint64_t features = 0;
  uint64_t classes = 0;  // 0 unless there are several
  uint64_t targets = 1;
  // For all columns, or one for each.
  std::vector<float> base_scores;
  bool base_is_margin = false;  // files of versions before 1.0
  std::vector<float> weights;   // dart: of each tree
  std::vector<int32_t> tree_columns;
  // The largest feature of all nodes, and where it is.
  uint32_t largest_feature = 0;
  std::string largest_feature_place;  // empty: there is no inner node
  uint64_t leaf_size = 0;             // of trees whose leaves are vectors; 0: there are none
  std::vector<Tree> trees;
};

// Throws a Refusal unless the booster runs here. Readers call it as soon as they know the name.
void CheckBooster(const std::string& name);

// The number of margins of a row. Throws a Refusal if it is out of all proportion to the file.
uint32_t ColumnsOf(const XgboostModel& model, size_t file_size);

// Checks the parts against each other, and makes the forest of them.
Forest FinishXgboost(XgboostModel model, size_t file_size);

}  // namespace tritonts::fil
