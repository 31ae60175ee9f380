// Reading XGBoost's JSON and UBJSON, good files and hostile ones.
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

// What the model of TreesAsJson answers.
void CheckAnswers(Forest forest) {
  CHECK_EQ(FaultOf(forest), "");
  CHECK_EQ(forest.features, 2u);
  CHECK_EQ(forest.columns, 1u);
  CHECK_EQ(forest.trees.size(), 2u);
  if (forest.trees.size() != 2) return;
  CHECK_EQ(forest.trees[0].nodes.size(), 5u);
  CHECK_EQ(forest.trees[0].nodes[0].cover, 10.0);
  CHECK(std::isnan(forest.trees[1].nodes[0].cover));
  const double others = 0.25 + 0.5;
  CHECK_EQ(MarginsOf(forest, {0.4f, 0}), std::vector{1.5 + others});
  CHECK_EQ(MarginsOf(forest, {kNaN, 0}), std::vector{1.5 + others});
  for (const float in : {1.0f, 33.0f, 33.5f}) {
    CHECK_EQ(MarginsOf(forest, {0.5f, in}), std::vector{4 + others});
  }
  for (const float out : {0.0f, 2.0f, -1.0f, -0.5f, 34.0f, 64.0f, 1e9f, kNaN}) {
    CHECK_EQ(MarginsOf(forest, {0.5f, out}), std::vector{-2 + others});
  }
}

// The message of a file that is refused as malformed; empty if it is read.
std::string XgboostRefused(Format format, const std::string& bytes) {
  StatusOr<Forest> read = ReadForest(format, bytes);
  if (read.ok()) {
    CHECK_EQ(FaultOf(read.value()), "");
    return "";
  }
  return read.status().message();
}

Forest GoodXgboost(const std::string& json) {
  StatusOr<Forest> read = ReadForest(Format::kXgboostJson, json);
  CHECK_EQ(read.status().message(), "");
  return read.ok() ? read.take() : Forest();
}

// The first tree alone, with leaves of three values.
std::string WithVectors() {
  return R"({"learner":{"gradient_booster":{"model":{"gbtree_model_param":{"num_trees":"1"},)"
         R"("tree_info":[0],"trees":[{"default_left":[1,0,0],"leaf_weights":[1.0,2.0,3.0,4.0,5.0,6.0],)"
         R"("left_children":[1,-1,-1],"right_children":[2,1,0],"split_conditions":[0.5,0.0,0.0],)"
         R"("split_indices":[0,0,0],"tree_param":{"num_nodes":"3","size_leaf_vector":"3"}}]},)"
         R"("name":"gbtree"},"learner_model_param":{"base_score":"5E-1","num_class":"3",)"
         R"("num_feature":"1","num_target":"1"},"objective":{"name":"multi:softprob"}}})";
}

struct HostileXgboost {
  const char* from;
  const char* to;
  const char* says;  // a part of the message
};

// Changes of TreesAsJson that make it malformed in any of its forms.
const HostileXgboost kHostileXgboost[] = {
    {R"("left_children":[1,-1,3)", R"("left_children":[0,-1,3)",
     "tree 0, node 0: its left child is node 0, the root"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,-1,1)",
     "tree 0, node 2: its left child is node 1, which has another parent already"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,-1,5)",
     "tree 0, node 2: expected its left child to be from 0 to 4, but it is 5"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,-1,-7)",
     "tree 0, node 2: expected its left child to be from 0 to 4, but it is -7"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,-1,-1)",
     "tree 0, node 3: no node has it as a child"},
    {R"("right_children":[2,-1,4)", R"("right_children":[2,-1,2)",
     "tree 0, node 2: its right child is node 2, which has another parent already"},
    {R"("right_children":[2,-1,4)", R"("right_children":[2,-1,-1)",
     "tree 0, node 2: expected its right child to be from 0 to 4, but it is -1"},
    {R"("right_children":[2,-1,4,)", R"("right_children":[2,-1,4,0,)",
     "tree 0: right_children has 6 numbers, but num_nodes is 5"},
    {R"("num_nodes":"5")", R"("num_nodes":"6")",
     "tree 0: left_children has 5 numbers, but num_nodes is 6"},
    {R"("num_nodes":"5")", R"("num_nodes":"99999999999")",
     "expected at most 2147483647, but 99999999999 came"},
    {R"("num_nodes":"5")", R"("num_nodes":"-5")",
     "num_nodes: expected a whole number in quotes, but '-5' came"},
    {R"("num_nodes":"5")", R"("num_nodes":5)", "num_nodes: expected a string"},
    {R"("num_nodes":"5")", R"("num_knots":"5")",
     "tree 0, tree_param: expected a member 'num_nodes', but there is none"},
    {R"("split_indices":[0,0,1)", R"("split_indices":[0,0,2)",
     "tree 0, node 2: its feature is 2, but the model has 2 features"},
    {R"("split_indices":[0,0,1)", R"("split_indices":[0,0,-1)",
     "tree 0, node 2: expected a feature, but split_indices has -1"},
    {R"("split_conditions":[0.5)", R"("split_conditions":[NaN)",
     "tree 0, node 0: expected a threshold, but split_conditions has NaN"},
    {R"("split_type":[0,0,1)", R"("split_type":[0,0,2)",
     "tree 0, node 2: expected split_type to be 0 or 1, but it is 2"},
    {R"("split_type":[0,0,1)", R"("split_type":[1,0,1)",
     "tree 0, node 0: it tests categories, but is not in categories_nodes"},
    {R"("split_type":[0,0,1,)", R"("split_type":[0,1,)",
     "tree 0: split_type has 4 numbers, but num_nodes is 5"},
    {R"("default_left":[1)", R"("default_left":[3)",
     "tree 0, node 0: expected default_left to be 0 or 1, but it is 3"},
    {R"("categories":[1,33])", R"("categories":[1,-33])",
     "tree 0, node 2: expected categories from 0 to 16777215, but there is -33"},
    {R"("categories":[1,33])", R"("categories":[1,16777216])",
     "tree 0, node 2: expected categories from 0 to 16777215, but there is 16777216"},
    {R"("categories_nodes":[2])", R"("categories_nodes":[5])",
     "tree 0: categories_nodes[0] is 5: expected a node from 0 to 4"},
    {R"("categories_nodes":[2])", R"("categories_nodes":[2,2])",
     "categories_nodes has 2 numbers, but categories_segments has 1, and categories_sizes 1"},
    {R"("categories_segments":[0])", R"("categories_segments":[1])",
     "tree 0, node 2: its categories begin at 1 and are 2, but the tree has 2"},
    {R"("categories_segments":[0])", R"("categories_segments":[-1])",
     "tree 0, node 2: its categories begin at -1"},
    {R"("categories_sizes":[2])", R"("categories_sizes":[2147483647])",
     "tree 0, node 2: its categories begin at 0 and are 2147483647"},
    {R"("sum_hessian":[10.0,)", R"("sum_hessian":[)",
     "tree 0: sum_hessian has 4 numbers, but num_nodes is 5"},
    {R"("tree_info":[0,0])", R"("tree_info":[0])",
     "tree_info has 1 numbers: expected one for each of 2 trees"},
    {R"("tree_info":[0,0])", R"("tree_info":[0,1])",
     "tree_info[1] is 1: expected a column from 0 to 0"},
    {R"("num_trees":"2")", R"("num_trees":"3")", "num_trees is 3, but there are 2 trees"},
    {R"("num_class":"0")", R"("num_class":"1000000000")",
     "num_class is 1000000000: expected at most one for each of the"},
    {R"("num_class":"0")", R"("num_class":"three")",
     "num_class: expected a whole number in quotes, but 'three' came"},
    {R"("num_feature":"2","num_target")", R"("num_feature":"9999999999","num_target")",
     "num_feature is 9999999999: expected at most 2147483647"},
    {R"("base_score":"[5E-1]")", R"("base_score":"[5E-1,1,2]")",
     "base_score has 3 numbers: expected one"},
    {R"("base_score":"[5E-1]")", R"("base_score":"[5E-1,]")",
     "base_score: expected a number or an array of numbers"},
    {R"("base_score":"[5E-1]")", R"("base_score":"NaN")",
     "base_score is nan: expected a finite number"},
    {R"("base_score":"[5E-1]",)", "",
     "learner.learner_model_param: expected a member 'base_score', but there is none"},
    {R"("objective":{"name")", R"("objective":{"game")",
     "learner.objective: expected a member 'name', but there is none"},
    {R"("tree_info":[0,0])", R"("tree_info":[0,0],"tree_info":[0,0])",
     "tree_info: it is there twice"},
    {R"("left_children":[1)", R"("left_children":[1,-1],"left_children":[1)",
     "learner.gradient_booster.model.trees[0].left_children: it is there twice"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,0.5,3)", "left_children"},
    {R"("left_children":[1,-1,3)", R"("left_children":[1,"x",3)", "left_children[1]: expected a"},
    {R"("left_children":[1,-1,3,-1,-1])", R"("left_children":{})",
     "left_children: expected an array"},
    {R"("right_children":[2,-1,4,-1,-1],)", "",
     "tree 0: expected a member 'right_children', but there is none"},
    {R"("learner":{"attr)", R"("teacher":{"attr)",
     "the document, which should be XGBoost's model: expected a member 'learner', but there is "
     "none"},
};

const HostileXgboost kUnsupported[] = {
    {R"("name":"gbtree")", R"("name":"gblinear")",
     "the booster 'gblinear' is not supported: expected gbtree or dart"},
    {R"("name":"reg:squarederror")", R"("name":"reg:mine")",
     "the objective 'reg:mine' is not supported: expected one of reg:squarederror"},
    {R"("num_target":"1")", R"("num_target":"2")",
     "multi-target models are not supported: num_target is 2"},
};

}  // namespace

TEST(xgboost_documents_are_read_in_all_their_forms) {
  const std::string json = TreesAsJson();
  CheckAnswers(GoodXgboost(json));
  for (const bool typed : {false, true}) {
    StatusOr<Forest> read = ReadForest(Format::kXgboostUbj, AsUbj(json, typed));
    CHECK_EQ(read.status().message(), "");
    if (read.ok()) CheckAnswers(read.take());
  }
  // Spaces, and the truth values of older versions.
  std::string spaced;
  bool is_string = false;
  for (const char one : Replaced(json, "[1,0,1,0,0]", "[true,false,true,false,false]")) {
    spaced += one;
    if (one == '"') is_string = !is_string;
    if (!is_string && std::string_view("{[,:").find(one) != std::string_view::npos) spaced += " \n";
  }
  CheckAnswers(GoodXgboost(spaced + "\n"));
  // A number as older versions write it, without num_target.
  CheckAnswers(GoodXgboost(Replaced(Replaced(json, "[5E-1]", "5E-1"), R"(,"num_target":"1")", "")));
}

TEST(xgboost_base_scores_become_margins) {
  const auto base = [](const char* objective, const char* score) {
    return GoodXgboost(
               Replaced(Replaced(TreesAsJson(), "reg:squarederror", objective), "[5E-1]", score))
        .base.at(0);
  };
  CHECK_EQ(base("reg:absoluteerror", "[2]"), 2.0);
  CHECK_EQ(base("binary:logistic", "[0.5]"), 0.0);
  CHECK(std::abs(base("reg:logistic", "0.75") - std::log(3.0)) < 1e-6);
  CHECK(std::abs(base("count:poisson", "3") - std::log(3.0)) < 1e-6);
  CHECK_EQ(base("binary:logitraw", "0.25"), 0.25);
  for (const auto& [objective, score] :
       {std::pair{"binary:logistic", "1.5"}, {"binary:logistic", "0"}, {"reg:gamma", "-1"}}) {
    const std::string refused = XgboostRefused(
        Format::kXgboostJson,
        Replaced(Replaced(TreesAsJson(), "reg:squarederror", objective), "[5E-1]", score));
    CHECK(refused.find("base_score is ") == 0);
  }
}

TEST(xgboost_dart_weights_are_in_the_leaves) {
  std::string json = Replaced(TreesAsJson(), R"({"model":)", R"({"gbtree":{"model":)");
  json = Replaced(json, R"("name":"gbtree"})",
                  R"("name":"gbtree"},"name":"dart","weight_drop":[0.5,2.0]})");
  CHECK_EQ(MarginsOf(GoodXgboost(json), {0.4f, 0}), std::vector{0.75 + 0.5 + 0.5});
  json = Replaced(json, R"([0.5,2.0])", R"([0.5])");
  CHECK_EQ(XgboostRefused(Format::kXgboostJson, json),
           "weight_drop has 1 numbers: expected one for each of 2 trees");
}

TEST(xgboost_removed_nodes_may_be_in_no_place) {
  // Node 2 is a leaf, and its former children are marked.
  std::string json = Replaced(TreesAsJson(), "[1,-1,3,-1,-1]", "[1,-1,-1,-1,-1]");
  json = Replaced(json, R"("split_type":[0,0,1)", R"("split_type":[0,0,0)");
  json = Replaced(json, R"("split_indices":[0,0,1,0,0])",
                  R"("split_indices":[0,0,0,2147483647,2147483647])");
  const Forest forest = GoodXgboost(json);
  CHECK_EQ(forest.trees.at(0).nodes.size(), 3u);
  // Not if they are in the tree.
  json = Replaced(TreesAsJson(), R"("split_indices":[0)", R"("split_indices":[2147483647)");
  CHECK_EQ(XgboostRefused(Format::kXgboostJson, json),
           "tree 0, node 0: expected a feature, but split_indices has 2147483647");
}

TEST(xgboost_leaves_may_have_a_value_for_each_class) {
  const std::string json = WithVectors();
  const Forest forest = GoodXgboost(json);
  CHECK_EQ(FaultOf(forest), "");
  CHECK(forest.transform == Transform::kSoftmax);
  CHECK_EQ(MarginsOf(forest, {0}), (std::vector{4.5, 5.5, 6.5}));
  CHECK_EQ(MarginsOf(forest, {1}), (std::vector{1.5, 2.5, 3.5}));
  // Before 3.1: by node.
  const std::string older =
      Replaced(Replaced(json, R"("leaf_weights":[1.0,2.0,3.0,4.0,5.0,6.0])",
                        R"("base_weights":[0,0,0,4.0,5.0,6.0,1.0,2.0,3.0])"),
               R"("right_children":[2,1,0])", R"("right_children":[2,-1,-1])");
  CHECK_EQ(MarginsOf(GoodXgboost(older), {0}), (std::vector{4.5, 5.5, 6.5}));
  const HostileXgboost hostile[] = {
      {R"("right_children":[2,1,0])", R"("right_children":[2,2,0])",
       "tree 0, node 1: expected the number of a leaf"},
      {R"([1.0,2.0,3.0,4.0,5.0,6.0])", R"([1.0,2.0,3.0,4.0,5.0])",
       "tree 0: expected 3 leaf_weights for each of 2 leaves, but there are 5"},
      {R"("size_leaf_vector":"3")", R"("size_leaf_vector":"2")",
       "size_leaf_vector is 2, but the model has 3 columns"},
      {R"("size_leaf_vector":"3")", R"("size_leaf_vector":"2000000000")",
       "tree 0: expected 2000000000 leaf_weights"},
      {R"("leaf_weights")", R"("base_weights")",
       "tree 0: expected 3 base_weights for each of 3 nodes, but there are 6"},
  };
  for (const HostileXgboost& one : hostile) {
    const std::string refused =
        XgboostRefused(Format::kXgboostJson, Replaced(json, one.from, one.to));
    if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
  }
}

TEST(xgboost_documents_that_are_malformed_are_refused) {
  const std::string json = TreesAsJson();
  for (const HostileXgboost& one : kHostileXgboost) {
    const std::string changed = Replaced(json, one.from, one.to);
    for (const std::string& refused : {XgboostRefused(Format::kXgboostJson, changed),
                                       XgboostRefused(Format::kXgboostUbj, AsUbj(changed, false)),
                                       XgboostRefused(Format::kXgboostUbj, AsUbj(changed, true))}) {
      if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
    }
  }
  for (const HostileXgboost& one : kUnsupported) {
    const auto read = ReadForest(Format::kXgboostJson, Replaced(json, one.from, one.to));
    CHECK(read.status().code() == Code::kUnsupported);
    CHECK(read.status().message().find(one.says) == 0);
  }
}

TEST(xgboost_documents_that_end_early_or_late_are_refused) {
  const std::string json = TreesAsJson();
  for (size_t size = 0; size < json.size(); size++) {
    CHECK(!XgboostRefused(Format::kXgboostJson, json.substr(0, size)).empty());
  }
  for (const bool typed : {false, true}) {
    const std::string ubj = AsUbj(json, typed);
    for (size_t size = 0; size < ubj.size(); size++) {
      CHECK(!XgboostRefused(Format::kXgboostUbj, ubj.substr(0, size)).empty());
    }
    CHECK(XgboostRefused(Format::kXgboostUbj, ubj + "}")
              .find("expected the end of the UBJSON document") == 0);
  }
  CHECK(XgboostRefused(Format::kXgboostJson, json + "}")
            .find("expected the end of the JSON document") == 0);
}

TEST(documents_of_any_depth_are_refused) {
  const std::string deep(100000, '[');
  const std::string ubj = std::string("{L") + std::string(7, '\0') + "\1a" + deep;
  const std::string names = "{\"a\":" + std::string(70, '[') + std::string(70, ']') + "}";
  for (const std::string& refused :
       {XgboostRefused(Format::kXgboostJson, "{\"a\":" + deep),
        XgboostRefused(Format::kXgboostJson, names), XgboostRefused(Format::kXgboostUbj, ubj)}) {
    CHECK(refused.find("expected at most 64 objects and arrays inside each other") !=
          std::string::npos);
  }
}

TEST(json_that_is_malformed_is_refused_where_it_is_skipped) {
  for (const char* text :
       {"", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{\"a\":[1,]}",
        "{\"a\":[1 2]}", "{\"a\" 1}", "{a:1}", "{\"a\":tru}", "{\"a\":\"\\", "{\"a\":\"\\\"}",
        "{\"\\u12\":1}", "{\"a\":[{]}", "{\"a\":x}", "{\"a\":1}}"}) {
    CHECK(!XgboostRefused(Format::kXgboostJson, text).empty());
  }
  const std::string skipped =
      R"({"x":[1,"]",{"y":[null,true,false,-1.5e-7,"\\\"\u0041"]},[]],"z":{},)";
  CheckAnswers(GoodXgboost(skipped + TreesAsJson().substr(1)));
}

TEST(ubjson_counts_are_checked_before_memory_is_made) {
  const std::string front = std::string("{L") + std::string(7, '\0') + "\1a";
  const std::string most = std::string("L\x7f") + std::string(7, '\xff');
  const std::string negative = std::string("L") + std::string(8, '\xff');
  for (const auto& [value, says] : {
           std::pair{"[$d#" + most, "the count of an array is 9223372036854775807, but only 0"},
           {"[$d#l" + std::string("\0\0\0\2xxxx", 8),
            "the array has 2 elements of 4 bytes, but only 4"},
           {"[#" + negative, "the count of an array is -1"},
           {"[$T#" + most, "expected the type of an array, but byte"},
           {"[$dL", "expected the count of an array ('#'), but byte"},
           {"S" + most, "the length of a string is 9223372036854775807, but only 0"},
           {"{$d#" + most, "expected an object without a count"},
           {std::string("H"), "expected a value, but byte"},
       }) {
    const std::string refused = XgboostRefused(Format::kXgboostUbj, front + value);
    if (refused.find(says) == std::string::npos) CHECK_EQ(refused, says);
  }
}

TEST(xgboost_category_sets_have_bounded_memory) {
  // Each of many sets has the largest category alone, which needs 2 MiB.
  constexpr int kSplits = 200;
  const auto list = [](auto&& element) {
    std::string text;
    for (int i = 0; i < 2 * kSplits + 1; i++) text += (i > 0 ? "," : "") + element(i);
    return "[" + text + "]";
  };
  const auto of_splits = [](auto&& element) {
    std::string text;
    for (int i = 0; i < kSplits; i++) text += (i > 0 ? "," : "") + element(i);
    return "[" + text + "]";
  };
  // A chain: node 2k is inner, with a leaf at 2k + 1.
  const auto inner = [](int i) { return i % 2 == 0 && i < 2 * kSplits; };
  const auto number = [](int64_t value) { return std::to_string(value); };
  std::string tree =
      R"({"left_children":)" + list([&](int i) { return number(inner(i) ? i + 1 : -1); }) +
      R"(,"right_children":)" + list([&](int i) { return number(inner(i) ? i + 2 : -1); }) +
      R"(,"split_indices":)" + list([&](int) { return number(0); }) + R"(,"split_conditions":)" +
      list([&](int) { return number(0); }) + R"(,"default_left":)" +
      list([&](int) { return number(0); }) + R"(,"split_type":)" +
      list([&](int i) { return number(inner(i) ? 1 : 0); }) + R"(,"categories":)" +
      of_splits([&](int) { return number(16777215); }) + R"(,"categories_nodes":)" +
      of_splits([&](int i) { return number(2 * i); }) + R"(,"categories_segments":)" +
      of_splits([&](int i) { return number(i); }) + R"(,"categories_sizes":)" +
      of_splits([&](int) { return number(1); }) + R"(,"tree_param":{"num_nodes":")" +
      number(2 * kSplits + 1) + R"("}},)";
  const std::string json = Replaced(TreesAsJson(), R"("trees":[)", R"("trees":[)" + tree);
  CHECK(XgboostRefused(Format::kXgboostJson, json)
            .find("would need more memory than a file of this size") != std::string::npos);
  // Sets must not share what the tree lists.
  const std::string shared = Replaced(
      Replaced(Replaced(TreesAsJson(), "\"categories_nodes\":[2]", "\"categories_nodes\":[0,2]"),
               "\"categories_segments\":[0]", "\"categories_segments\":[0,0]"),
      "\"categories_sizes\":[2]", "\"categories_sizes\":[2,2]");
  CHECK(XgboostRefused(Format::kXgboostJson,
                       Replaced(shared, R"("split_type":[0,0,1)", R"("split_type":[1,0,1)"))
            .find("the sets of categories up to this one have more than the tree lists") !=
        std::string::npos);
}

}  // namespace tritonts::test
