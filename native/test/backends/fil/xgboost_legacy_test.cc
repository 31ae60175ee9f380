// Reading XGBoost's binary format of before 3.0, good files and hostile ones.
#include <limits>

#include "backends/fil/read_forest.h"
#include "check.h"
#include "naive_forest.h"
#include "tree_files.h"

namespace tritonts::test {

namespace {

using fil::Forest;
using fil::Format;
using fil::ReadForest;

// The places of what the tests change.
constexpr size_t kNumFeature = 4;
constexpr size_t kNumClass = 8;
constexpr size_t kExtraAttributes = 12;
constexpr size_t kMajor = 20;
constexpr size_t kNumTarget = 28;
constexpr size_t kBooster = 136 + 8 + 16;
constexpr size_t kNumTrees = kBooster + 8 + 6;
constexpr size_t kTree = kNumTrees + 160;
constexpr size_t kNodes = kTree + 148;
constexpr size_t kTreeSize = 148 + 5 * (20 + 16);
constexpr size_t kTreeInfo = kTree + 2 * kTreeSize;

template <typename T>
std::string With(size_t at, T value) {
  std::string bytes = TreesAsLegacy();
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

constexpr size_t Node(size_t node, size_t field) {
  return kNodes + node * 20 + field * 4;
}

std::string LegacyRefused(const std::string& bytes) {
  StatusOr<Forest> read = ReadForest(Format::kXgboostLegacy, bytes);
  if (read.ok()) CHECK_EQ(FaultOf(read.value()), "");
  return read.status().message();
}

struct HostileLegacy {
  std::string bytes;
  const char* says;  // a part of the message
};

}  // namespace

TEST(xgboost_legacy_files_are_read) {
  for (const std::string& bytes : {TreesAsLegacy(), "binf" + TreesAsLegacy()}) {
    StatusOr<Forest> read = ReadForest(Format::kXgboostLegacy, bytes);
    CHECK_EQ(read.status().message(), "");
    if (!read.ok()) return;
    const Forest& forest = read.value();
    CHECK_EQ(FaultOf(forest), "");
    CHECK_EQ(forest.features, 2u);
    CHECK_EQ(forest.trees.at(1).nodes.at(2).cover, 6.0);
    CHECK_EQ(MarginsOf(forest, {0.4f, 0}), std::vector{3.5});
    CHECK_EQ(MarginsOf(forest, {std::numeric_limits<float>::quiet_NaN(), 0}), std::vector{3.5});
    CHECK_EQ(MarginsOf(forest, {0.5f, 2}), std::vector{-3.5});
    CHECK_EQ(MarginsOf(forest, {0.5f, 3}), std::vector{8.5});
  }
}

TEST(xgboost_legacy_files_that_are_malformed_are_refused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostileLegacy hostile[] = {
      {With(kNumFeature, uint32_t{1}),
       "tree 0, node 2: its feature is 1, but the model has 1 features"},
      {With(kNumClass, int32_t{-1}), "num_class is -1: expected 0 or more"},
      {With(kNumClass, int32_t{2000000000}),
       "num_class is 2000000000: expected at most one for each"},
      {With(kExtraAttributes, int32_t{7}), "contain_extra_attrs is 7: expected 0 or 1"},
      {With(kExtraAttributes, int32_t{0}), "expected the end of the file at byte"},
      {With(kNumTarget, uint32_t{2}), "multi-target models are not supported: num_target is 2"},
      {With(136, ~uint64_t{0}),
       "expected 18446744073709551615 values of 1 bytes for the name of the objective, but only"},
      {With(136 + 8, 'x'), "the objective 'xeg:squarederror' is not supported"},
      {With(kBooster + 8, 'x'), "the booster 'xbtree' is not supported: expected gbtree or dart"},
      {With(kNumTrees, int32_t{-1}), "num_trees is -1: expected 0 or more"},
      {With(kNumTrees, int32_t{2000000000}), "num_trees is 2000000000, but only"},
      {With(kNumTrees, int32_t{1}), "values of 1 bytes for the name of an attribute, but only"},
      {With(kTree + 4, int32_t{0}), "tree 0: num_nodes is 0: expected 1 or more"},
      {With(kTree + 4, int32_t{2000000000}),
       "tree 0: expected 2000000000 values of 20 bytes for nodes, but only"},
      {With(kTree + 20, int32_t{3}), "tree 0: size_leaf_vector is 3"},
      {With(Node(2, 1), int32_t{0}), "tree 0, node 2: its left child is node 0, the root"},
      {With(Node(2, 1), int32_t{5}),
       "tree 0, node 2: expected its left child to be from 0 to 4, but it is 5"},
      {With(Node(2, 2), int32_t{-1}),
       "tree 0, node 2: expected its right child to be from 0 to 4, but it is -1"},
      {With(Node(2, 2), int32_t{3}),
       "tree 0, node 2: its right child is node 3, which has another parent already"},
      {With(Node(2, 1), int32_t{-1}), "tree 0, node 3: no node has it as a child"},
      {With(Node(2, 3), uint32_t{2}),
       "tree 0, node 2: its feature is 2, but the model has 2 features"},
      {With(Node(2, 3), ~uint32_t{0}), "tree 0, node 2: it is in the tree, but marked as removed"},
      {With(Node(0, 4), nan), "tree 0, node 0: expected a threshold, but it is NaN"},
      {With(kTreeInfo + 4, int32_t{1}), "tree_info[1] is 1: expected a column from 0 to 0"},
      {With(kTreeInfo + 8, ~uint64_t{0}),
       "values of 1 bytes for the value of an attribute, but only"},
      {TreesAsLegacy() + "x", "expected the end of the file at byte"},
      {"bs64" + TreesAsLegacy(), "the file begins with 'bs64'"},
      {TreesAsJson(), "this is JSON: the model_type of the file is xgboost_json"},
      {AsUbj(TreesAsJson(), true), "this is UBJSON: the model_type of the file is xgboost_ubj"},
  };
  for (const HostileLegacy& one : hostile) {
    const std::string refused = LegacyRefused(one.bytes);
    if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
  }
  // Versions before 1.0 wrote the base score as a margin, which says nothing here.
  CHECK_EQ(LegacyRefused(With(kMajor, uint32_t{0})), "");
  const std::string bytes = TreesAsLegacy();
  for (size_t size = 0; size < bytes.size(); size++)
    CHECK(!LegacyRefused(bytes.substr(0, size)).empty());
}

}  // namespace tritonts::test
