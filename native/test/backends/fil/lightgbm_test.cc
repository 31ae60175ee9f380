// Reading LightGBM's text, good files and hostile ones.
#include <cmath>
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
using fil::Transform;

Forest GoodLightgbm(const std::string& text) {
  StatusOr<Forest> read = ReadForest(Format::kLightgbm, text);
  CHECK_EQ(read.status().message(), "");
  if (read.ok()) CHECK_EQ(FaultOf(read.value()), "");
  return read.ok() ? read.take() : Forest{.trees = {}, .base = {0}};
}

std::string LightgbmRefused(const std::string& text) {
  const auto read = ReadForest(Format::kLightgbm, text);
  CHECK(read.ok() || read.status().code() == Code::kInvalidArg);
  return read.status().message();
}

// The text with another decision_type and threshold for the first node.
Forest WithNode(const char* decision, const char* threshold) {
  std::string text =
      Replaced(TreesAsLightgbm(), "decision_type=10", "decision_type=" + std::string(decision));
  return GoodLightgbm(Replaced(text, "threshold=0.5", "threshold=" + std::string(threshold)));
}

// Whether this value goes left at the first node.
bool Left(const Forest& forest, float value) {
  return MarginsOf(forest, {value, 0}) == std::vector{1.75};
}

struct Hostile {
  const char* from;
  const char* to;
  const char* says;  // a part of the message
};

const Hostile kHostile[] = {
    {"tree\n", "trees\n", "line 1: expected 'tree', as LightGBM writes it, but it is 'trees'"},
    {"num_tree_per_iteration=1\n", "",
     "the header: expected a line 'num_tree_per_iteration=...', but there is none"},
    {"num_tree_per_iteration=1", "num_tree_per_iteration=0",
     "the header: expected num_tree_per_iteration to be a whole number from 1, but it is '0'"},
    {"num_tree_per_iteration=1", "num_tree_per_iteration=2000000000",
     "num_tree_per_iteration is 2000000000: expected at most one for each of the"},
    {"num_tree_per_iteration=1", "num_tree_per_iteration=3",
     "expected a multiple of 3 (num_tree_per_iteration) trees, but there are 2"},
    {"max_feature_idx=1", "max_feature_idx=0",
     "tree 0, node 1, split_feature: expected a feature from 0 to 0 (max_feature_idx), but it is "
     "1"},
    {"max_feature_idx=1", "max_feature_idx=x",
     "expected max_feature_idx to be a whole number from 0, but it is 'x'"},
    {"max_feature_idx=1", "max_feature_idx=1\nmax_feature_idx=1",
     "line 7: max_feature_idx is there twice"},
    {"tree_sizes=300 100", "tree_sizes=300", "tree_sizes has 1 numbers, but there are 2 trees"},
    {"Tree=0", "Tree=1", "line 12: expected 'Tree=0' or 'end of trees', but it is 'Tree=1'"},
    {"num_leaves=3\n", "", "tree 0: expected a line 'num_leaves=...', but there is none"},
    {"num_leaves=3", "num_leaves=0",
     "tree 0: expected num_leaves to be a whole number from 1, but it is '0'"},
    {"num_leaves=3", "num_leaves=2147483647",
     "tree 0: expected 2147483647 numbers of leaf_value, but 3 came"},
    {"num_leaves=3", "num_leaves=4", "tree 0: expected 4 numbers of leaf_value, but 3 came"},
    {"split_feature=0 1", "split_feature=0 2",
     "tree 0, node 1, split_feature: expected a feature from 0 to 1 (max_feature_idx), but it is "
     "2"},
    {"split_feature=0 1", "split_feature=0 -1",
     "tree 0, node 1, split_feature: expected a feature from 0 to 1 (max_feature_idx), but it is "
     "-1"},
    {"split_feature=0 1", "split_feature=0 1 1",
     "tree 0: expected 2 numbers of split_feature, but 3 came"},
    {"split_feature=0 1", "split_feature=0 x",
     "tree 0: split_feature[1] is 'x': expected a whole number of 32 bits"},
    {"split_feature=0 1", "split_feature=0 1\nsplit_feature=0 1",
     "line 16: split_feature is there twice"},
    {"threshold=0.5", "threshold=nan", "tree 0, node 0: expected a threshold, but it is NaN"},
    {"threshold=0.5", "threshold=half", "tree 0: threshold[0] is 'half': expected a number"},
    {"threshold=0.5 0", "threshold=0.5 1",
     "tree 0, node 1: expected its threshold to be one of 1 sets of categories, as a whole number "
     "from 0, but it is 1"},
    {"threshold=0.5 0", "threshold=0.5 0.5",
     "tree 0, node 1: expected its threshold to be one of 1 sets"},
    {"threshold=0.5 0", "threshold=0.5 1e300",
     "tree 0, node 1: expected its threshold to be one of 1 sets"},
    {"decision_type=10", "decision_type=12",
     "tree 0, node 0: expected decision_type to be from 0 to 11, but it is 12"},
    {"decision_type=10", "decision_type=-1",
     "tree 0, node 0: expected decision_type to be from 0 to 11, but it is -1"},
    {"left_child=-1 -2", "left_child=-1 -4",
     "tree 0: left_child[1] is -4: expected a node from 0 to 1, or a leaf from -1 to -3"},
    {"left_child=-1 -2", "left_child=-1 -2147483648",
     "tree 0: left_child[1] is -2147483648: expected a node"},
    {"left_child=-1 -2", "left_child=-1 2",
     "tree 0: left_child[1] is 2: expected a node from 0 to 1"},
    {"left_child=-1 -2", "left_child=-1 0", "tree 0, node 1: its left child is node 0, the root"},
    {"left_child=-1 -2", "left_child=-1 -1",
     "tree 0, node 1: its left child is leaf 0, which has another parent already"},
    {"right_child=1 -3", "right_child=-2 -3", "tree 0, node 1: no node has it as a child"},
    {"leaf_count=4 5 1", "leaf_count=4 5", "tree 0: expected 3 numbers of leaf_count, but 2 came"},
    {"num_cat=1", "num_cat=-1",
     "tree 0: expected num_cat to be a whole number from 0, but it is '-1'"},
    {"num_cat=1", "num_cat=0", "tree 0, node 1: expected its threshold to be one of 0 sets"},
    {"num_cat=1", "num_cat=2000000000",
     "tree 0: expected 2000000001 numbers of cat_boundaries, but 2 came"},
    {"cat_boundaries=0 2", "cat_boundaries=1 2",
     "tree 0: expected cat_boundaries to rise from 0, but cat_boundaries[0] is 1"},
    {"cat_boundaries=0 2", "cat_boundaries=0 -2",
     "tree 0: expected cat_boundaries to rise from 0, but cat_boundaries[1] is -2"},
    {"cat_boundaries=0 2", "cat_boundaries=0 3",
     "tree 0: expected 3 numbers of cat_threshold, but 2 came"},
    {"cat_threshold=2 2", "cat_threshold=2 -2",
     "tree 0: cat_threshold[1] is '-2': expected a whole number of 32 bits"},
    {"is_linear=0", "is_linear=2", "tree 0: expected is_linear to be 0 or 1, but it is 2"},
    {"is_linear=0", "is_linear=1", "tree 0: expected a line 'leaf_const=...', but there is none"},
    {"end of trees", "end of bushes", "the file ends in tree 1"},
};

const Hostile kHostileLinear[] = {
    {"num_features=2 0", "num_features=2 -1", "tree 0: num_features[1] is -1: expected 0 or more"},
    {"num_features=2 0", "num_features=2147483647 2147483647",
     "tree 0: num_features[0] is 2147483647, which is more than the file has numbers"},
    {"num_features=2 0", "num_features=2 1",
     "tree 0: expected 3 numbers of leaf_features, but 2 came"},
    {"leaf_features=0 1", "leaf_features=0 2",
     "tree 0, leaf_features[1]: expected a feature from 0 to 1 (max_feature_idx), but it is 2"},
    {"leaf_coeff=2 3", "leaf_coeff=2", "tree 0: expected 2 numbers of leaf_coeff, but 1 came"},
};

}  // namespace

TEST(lightgbm_texts_are_read) {
  const Forest forest = GoodLightgbm(TreesAsLightgbm());
  CHECK_EQ(forest.features, 2u);
  CHECK(!forest.float_sums);
  CHECK_EQ(forest.trees.size(), 2u);
  CHECK_EQ(forest.trees.at(0).nodes.at(0).cover, 10.0);
  CHECK_EQ(MarginsOf(forest, {0.5f, 0}), std::vector{1.75});
  CHECK_EQ(MarginsOf(forest, {kNaN, 0}), std::vector{1.75});
  for (const float in : {1.0f, 1.5f, 33.0f, 33.9f}) {
    CHECK_EQ(MarginsOf(forest, {0.6f, in}), std::vector{4.25});
  }
  for (const float out : {0.0f, -0.5f, -1.0f, 34.0f, 64.0f, 1e9f, kNaN}) {
    CHECK_EQ(MarginsOf(forest, {0.6f, out}), std::vector{-1.75});
  }
  // Category 0 is also that of values just below 0.
  CHECK_EQ(
      MarginsOf(GoodLightgbm(Replaced(TreesAsLightgbm(), "cat_threshold=2", "cat_threshold=1")),
                {1, -0.5f}),
      std::vector{4.25});
  // Lines may end as on Windows.
  std::string windows;
  for (const char one : TreesAsLightgbm()) windows += one == '\n' ? "\r\n" : std::string(1, one);
  CHECK_EQ(MarginsOf(GoodLightgbm(windows), {0.5f, 0}), std::vector{1.75});
}

TEST(lightgbm_missing_values_go_their_way) {
  // Without missing values, NaN is 0.
  CHECK(Left(WithNode("0", "0.5"), kNaN));
  CHECK(Left(WithNode("0", "0"), kNaN));
  CHECK(!Left(WithNode("2", "-0.5"), kNaN));
  // Zero is missing.
  for (const float missing : {0.0f, -0.0f, 1e-36f, -1e-35f, 1e-35f, kNaN}) {
    CHECK(Left(WithNode("6", "-0.5"), missing));
    CHECK(!Left(WithNode("4", "0.5"), missing));
  }
  CHECK(!Left(WithNode("6", "-0.5"), 1e-34f));
  CHECK(Left(WithNode("4", "0.5"), -1e-34f));
  // NaN is missing.
  CHECK(Left(WithNode("10", "-0.5"), kNaN));
  CHECK(!Left(WithNode("8", "0.5"), kNaN));
  CHECK(!Left(WithNode("10", "-0.5"), 0));
  // Double thresholds, and infinite ones.
  CHECK(Left(WithNode("8", "0.1"), std::nextafter(0.1f, 0.0f)));
  CHECK(!Left(WithNode("8", "0.1"), 0.1f));  // which is more than the double
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(Left(WithNode("8", "inf"), kInfinity));
  CHECK(!Left(WithNode("8", "inf"), kNaN));
  CHECK(!Left(WithNode("8", "1e300"), kInfinity));
  CHECK(Left(WithNode("8", "-inf"), -kInfinity));
  CHECK(!Left(WithNode("8", "-inf"), -3e38f));
}

TEST(lightgbm_linear_leaves_are_read) {
  const Forest forest = GoodLightgbm(TreesAsLinear());
  CHECK_EQ(MarginsOf(forest, {0.25f, 2}), std::vector{7.5});
  CHECK_EQ(MarginsOf(forest, {1, kNaN}), std::vector{10.0});
  CHECK_EQ(MarginsOf(forest, {0.25f, kNaN}), std::vector{7.0});
  for (const Hostile& one : kHostileLinear) {
    const std::string refused = LightgbmRefused(Replaced(TreesAsLinear(), one.from, one.to));
    if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
  }
}

TEST(lightgbm_objectives_are_known) {
  const auto forest = [](const char* objective) {
    return GoodLightgbm(Replaced(TreesAsLightgbm(), "objective=regression", objective));
  };
  CHECK(forest("objective=regression sqrt").transform == Transform::kSignedSquare);
  CHECK(forest("objective=binary sigmoid:0.5").transform == Transform::kSigmoid);
  CHECK_EQ(forest("objective=binary sigmoid:0.5").sigmoid_alpha, 0.5);
  CHECK(forest("objective=tweedie tweedie_variance_power:1.5").transform == Transform::kExp);
  CHECK(forest("objective=cross_entropy_lambda").transform == Transform::kLog1pExp);
  CHECK(forest("average_output").averages);
  CHECK(forest("average_output").transform == Transform::kIdentity);
  const auto other =
      ReadForest(Format::kLightgbm, Replaced(TreesAsLightgbm(), "=regression", "=guess"));
  CHECK(other.status().code() == Code::kUnsupported);
  CHECK(other.status().message().find("the objective 'guess' is not supported") == 0);
  CHECK_EQ(LightgbmRefused(Replaced(TreesAsLightgbm(), "=regression", "=binary sigmoid:-1")),
           "the header: expected a positive number in the objective's 'sigmoid:-1'");
}

TEST(lightgbm_texts_that_are_malformed_are_refused) {
  for (const Hostile& one : kHostile) {
    const std::string refused = LightgbmRefused(Replaced(TreesAsLightgbm(), one.from, one.to));
    if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
  }
  const std::string text = TreesAsLightgbm();
  const size_t end = text.find("end of trees") + 12;
  for (size_t size = 0; size < end; size++) CHECK(!LightgbmRefused(text.substr(0, size)).empty());
  CHECK_EQ(LightgbmRefused(text.substr(0, end)), "");
}

}  // namespace tritonts::test
