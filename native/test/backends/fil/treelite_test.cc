// Reading Treelite's checkpoints, good files and hostile ones.
#include <cstring>
#include <functional>
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

using Change = std::function<void(TreeliteFile*)>;

TreeliteFile Changed(const Change& change) {
  TreeliteFile file;
  change(&file);
  return file;
}

Forest GoodTreelite(const TreeliteFile& file) {
  StatusOr<Forest> read = ReadForest(Format::kTreelite, file.Bytes());
  CHECK_EQ(read.status().message(), "");
  if (read.ok()) CHECK_EQ(FaultOf(read.value()), "");
  return read.ok() ? read.take() : Forest{.trees = {}, .base = {0}};
}

std::string TreeliteRefused(const std::string& bytes) {
  StatusOr<Forest> read = ReadForest(Format::kTreelite, bytes);
  if (read.ok()) CHECK_EQ(FaultOf(read.value()), "");
  return read.status().message();
}

// Three classes in each leaf.
void AddVectors(TreeliteFile* file) {
  file->classes = {3};
  file->leaf_shape = {1, 3};
  file->class_of_tree = {-1};
  file->base = {0, 0, 0.5};
  file->vectors = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  file->vector_begin = {0, 0, 3, 3, 6};
  file->vector_end = {0, 3, 3, 6, 9};
}

struct HostileTreelite {
  Change change;
  const char* says;  // a part of the message
};

}  // namespace

TEST(treelite_checkpoints_are_read) {
  const Forest forest = GoodTreelite({});
  CHECK(forest.float_sums);
  CHECK_EQ(forest.trees.at(0).nodes.at(2).cover, 6.0);
  CHECK_EQ(MarginsOf(forest, {0.4f, 0}), std::vector{2.0});
  CHECK_EQ(MarginsOf(forest, {kNaN, 0}), std::vector{2.0});
  for (const float in : {1.0f, 33.5f}) CHECK_EQ(MarginsOf(forest, {0.5f, in}), std::vector{4.5});
  for (const float out : {0.0f, -0.5f, 34.0f, 1e9f, kNaN}) {
    CHECK_EQ(MarginsOf(forest, {0.5f, out}), std::vector{-1.5});
  }
  // The set is of those that go left.
  const Forest left = GoodTreelite(Changed([](auto* file) { file->set_is_right[2] = 0; }));
  CHECK_EQ(MarginsOf(left, {0.5f, 1}), std::vector{-1.5});
  CHECK_EQ(MarginsOf(left, {0.5f, 0}), std::vector{4.5});
  CHECK_EQ(MarginsOf(left, {0.5f, kNaN}), std::vector{-1.5});
}

TEST(treelite_checkpoints_of_3_9_are_read) {
  for (const bool is_double : {false, true}) {
    const std::string bytes = TreesAsOlderTreelite(is_double);
    StatusOr<Forest> read = ReadForest(Format::kTreelite, bytes);
    CHECK_EQ(read.status().message(), "");
    if (!read.ok()) continue;
    const Forest& forest = read.value();
    CHECK_EQ(FaultOf(forest), "");
    CHECK_EQ(forest.float_sums, !is_double);
    CHECK_EQ(forest.trees.at(0).nodes.at(2).cover, 6.0);
    CHECK_EQ(MarginsOf(forest, {0.4f, 0}), std::vector{2.0});
    CHECK_EQ(MarginsOf(forest, {kNaN, 0}), std::vector{2.0});
    CHECK_EQ(MarginsOf(forest, {0.5f, 33}), std::vector{4.5});
    CHECK_EQ(MarginsOf(forest, {0.5f, kNaN}), std::vector{-1.5});
    for (size_t size = 0; size < bytes.size(); size++) {
      CHECK(!TreeliteRefused(bytes.substr(0, size)).empty());
    }
    CHECK(TreeliteRefused(bytes + "x").find("expected the end of the file at byte") == 0);
  }
  // The places of what follows: the task, the number of classes, the values of a leaf, the nodes.
  constexpr size_t kTask = 26, kClasses = 32, kLeafSize = 36, kNodes = 317, kFirst = 325;
  const auto with = [](size_t at, auto value) {
    std::string bytes = TreesAsOlderTreelite(false);
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return TreeliteRefused(bytes);
  };
  const std::pair<std::string, const char*> hostile[] = {
      {with(kTask, uint8_t{3}),
       "task_type is 3: models whose leaves are classes are not supported"},
      {with(kClasses, uint32_t{2}), "num_class is 2: expected 1 with the task_type 0"},
      {with(kLeafSize, uint32_t{2}), "leaf_vector_size is 2: expected 1 with the task_type 0"},
      {with(kNodes, ~uint64_t{0}), "tree 0: num_nodes is 5, and there are 18446744073709551615"},
      {with(kFirst, int32_t{0}), "tree 0, node 0: its left child is node 0, the root"},
      {with(kFirst + 8, uint32_t{2}), "tree 0, node 0: expected a feature from 0 to 1"},
      {with(kFirst + 12, kNaN), "tree 0, node 0: expected a threshold, but it is NaN"},
      {with(kFirst + 40, uint8_t{0}),
       "tree 0, node 0: expected its node_type to be 1 or 2 (0 for a leaf), but it is 0"},
      {with(kFirst + 41, uint8_t{9}), "tree 0, node 0: expected a comparison from 2 to 5"},
  };
  for (const auto& [refused, says] : hostile) {
    if (refused.find(says) != 0) CHECK_EQ(refused, says);
  }
}

TEST(treelite_comparisons_are_kept) {
  for (int8_t comparison = 2; comparison <= 5; comparison++) {
    const Forest forest =
        GoodTreelite(Changed([&](auto* file) { file->comparison[0] = comparison; }));
    const auto left = [&](float value) {
      return MarginsOf(forest, {value, 0}) == std::vector{2.0};
    };
    CHECK_EQ(left(0.25f), comparison < 4);
    CHECK_EQ(left(0.5f), comparison == 3 || comparison == 5);
    CHECK_EQ(left(0.75f), comparison > 3);
    CHECK(left(kNaN));
  }
}

TEST(treelite_leaves_may_have_a_value_for_each_class) {
  const Forest forest = GoodTreelite(Changed([](auto* file) {
    AddVectors(file);
    file->averages = 1;
    file->postprocessor = "identity_multiclass";
  }));
  CHECK(forest.averages);
  CHECK_EQ(MarginsOf(forest, {0.4f, 0}), (std::vector{1.0, 2.0, 3.5}));
  CHECK_EQ(MarginsOf(forest, {1, 1}), (std::vector{7.0, 8.0, 9.5}));
}

TEST(treelite_postprocessors_are_known) {
  const Forest sigmoid = GoodTreelite(Changed([](auto* file) {
    file->postprocessor = "sigmoid";
    file->sigmoid_alpha = 0.5f;
  }));
  CHECK(sigmoid.transform == Transform::kSigmoid);
  CHECK_EQ(sigmoid.sigmoid_alpha, 0.5);
  const Forest ratio = GoodTreelite(Changed([](auto* file) {
    file->postprocessor = "exponential_standard_ratio";
    file->ratio_c = 4;
  }));
  CHECK(ratio.transform == Transform::kExpRatio);
  CHECK_EQ(ratio.ratio_c, 4.0f);
}

TEST(treelite_checkpoints_that_are_malformed_are_refused) {
  const HostileTreelite hostile[] = {
      {[](auto* f) { f->major = 3, f->minor = 4, f->patch = 0; },
       "checkpoints of Treelite 3.4.0 are not supported: expected version 3.9 or 4.x"},
      {[](auto* f) { f->major = 0x7265; },
       "expected a checkpoint of Treelite, which begins with its version"},
      {[](auto* f) { f->threshold_type = 1; }, "they are of type 1 and 2"},
      {[](auto* f) { f->leaf_type = 3; }, "they are of type 2 and 3"},
      {[](auto* f) { f->trees = ~uint64_t{0}; },
       "the number of trees is 18446744073709551615, but only"},
      {[](auto* f) { f->trees = 2; }, "target_id has 1 numbers, but there are 2 trees"},
      {[](auto* f) { f->trees = 2, f->target_of_tree = {0, 0}, f->class_of_tree = {0, 0}; },
       "tree 1: expected 1 values of 4 bytes for num_nodes, but only 0 bytes are left"},
      {[](auto* f) { f->features = -1; }, "num_feature is -1: expected 0 or more"},
      {[](auto* f) { f->features = 1; },
       "tree 0, node 2: expected a feature from 0 to 0, but its split_index is 1"},
      {[](auto* f) { f->features = 0; },
       "tree 0, node 0: expected a feature from 0 to -1, but its split_index is 0"},
      {[](auto* f) { f->averages = 2; }, "average_tree_output is 2: expected 0 or 1"},
      {[](auto* f) { f->targets = 2; }, "multi-target models are not supported: num_target is 2"},
      {[](auto* f) { f->targets = 0; }, "num_target is 0: expected 1"},
      {[](auto* f) { f->classes = {1, 1}; }, "num_class: expected one number"},
      {[](auto* f) { f->classes = {2000000000}; },
       "num_class: expected one number, from 1 to the size of the file, but there are 1, and the "
       "first is 2000000000"},
      {[](auto* f) { f->leaf_shape = {1, 7}; },
       "leaf_vector_shape: expected [1, 1] or [1, 1], but there are 2 numbers, and the first are 1 "
       "and 7"},
      {[](auto* f) { f->leaf_shape = {}; },
       "leaf_vector_shape: expected [1, 1] or [1, 1], but there are 0 numbers"},
      {[](auto* f) { f->target_of_tree = {1}; },
       "tree 0: its target_id is 1: expected 0, the only target"},
      {[](auto* f) { f->class_of_tree = {1}; },
       "tree 0: its class_id is 1: expected a class from 0 to 0"},
      {[](auto* f) { f->class_of_tree = {-2}; }, "tree 0: its class_id is -2"},
      {[](auto* f) { f->base = {}; },
       "base_scores has 0 numbers: expected one for each of 1 columns"},
      {[](auto* f) { f->base = {kNaN}; }, "base_scores[0] is nan: expected a finite number"},
      {[](auto* f) { f->postprocessor = "magic"; },
       "the postprocessor 'magic' is not supported: expected one of identity"},
      {[](auto* f) { f->postprocessor = "sigmoid", f->sigmoid_alpha = 0; },
       "sigmoid_alpha is 0.000000: expected a positive number"},
      {[](auto* f) { f->extensions = 1; },
       "the model has 1 further fields, which are not supported: expected none"},
      {[](auto* f) { f->nodes = 0; }, "tree 0: num_nodes is 0: expected 1 or more"},
      {[](auto* f) { f->nodes = 2000000000; },
       "tree 0: node_type has 5 values, but num_nodes is 2000000000"},
      {[](auto* f) { f->type[1] = 3; },
       "tree 0, node 1: expected its node_type to be 1 or 2 (0 for a leaf), but it is 3"},
      {[](auto* f) { f->type[1] = 1; }, "tree 0, node 1: expected a left child, but it has none"},
      {[](auto* f) { f->left[2] = 0; }, "tree 0, node 2: its left child is node 0, the root"},
      {[](auto* f) { f->left[2] = 5; },
       "tree 0, node 2: expected its left child to be from 0 to 4, but it is 5"},
      {[](auto* f) { f->right[2] = 3; },
       "tree 0, node 2: its right child is node 3, which has another parent already"},
      {[](auto* f) { f->type[2] = 0; }, "tree 0, node 3: no node has it as a child"},
      {[](auto* f) { f->feature[0] = -1; },
       "tree 0, node 0: expected a feature from 0 to 1, but its split_index is -1"},
      {[](auto* f) { f->feature.pop_back(); },
       "tree 0: split_index has 4 values, but num_nodes is 5"},
      {[](auto* f) { f->default_left[0] = 2; },
       "tree 0, node 0: its default_left is 2: expected 0 or 1"},
      {[](auto* f) { f->threshold[0] = kNaN; },
       "tree 0, node 0: expected a threshold, but it is NaN"},
      {[](auto* f) { f->comparison[0] = 1; },
       "tree 0, node 0: its comparison is '==', which is not supported"},
      {[](auto* f) { f->comparison[0] = 0; },
       "tree 0, node 0: expected a comparison from 2 to 5, but it is 0"},
      {[](auto* f) { f->set_is_right[2] = 2; },
       "tree 0, node 2: its category_list_right_child is 2: expected 0 or 1"},
      {[](auto* f) { f->categories = {1, 16777216}; },
       "tree 0, node 2: expected categories from 0 to 16777215, but there is 16777216"},
      {[](auto* f) { f->set_end[2] = 3; },
       "tree 0, node 2: its categories go from 0 to 3, but category_list has 2 values"},
      {[](auto* f) { f->set_begin[2] = ~uint64_t{0}; },
       "tree 0, node 2: its categories go from 18446744073709551615 to 2"},
      {[](auto* f) { f->type[0] = 2, f->set_end[0] = 2; },
       "the sets of categories up to this one have more than the tree lists"},
      {[](auto* f) { f->vector_end[1] = 1; },
       "tree 0, node 1: its leaf vector goes from 0 to 1, but leaf_vector has 0 values"},
      {[](auto* f) { f->weight.pop_back(); }, "tree 0: sum_hess has 4 values, but num_nodes is 5"},
      {[](auto* f) { AddVectors(f), f->class_of_tree = {0}; },
       "tree 0: its class_id is 0: expected -1, because its leaves have a value for each class"},
      {[](auto* f) { AddVectors(f), f->vectors.pop_back(); },
       "tree 0: expected 3 values in leaf_vector for each of 3 leaves, but there are 8"},
      {[](auto* f) { AddVectors(f), f->vector_end[1] = 2; },
       "tree 0, node 1: its leaf vector has 2 values: expected 3"},
  };
  for (const HostileTreelite& one : hostile) {
    const std::string refused = TreeliteRefused(Changed(one.change).Bytes());
    if (refused.find(one.says) == std::string::npos) CHECK_EQ(refused, one.says);
  }
  const std::string bytes = TreesAsTreelite();
  for (size_t size = 0; size < bytes.size(); size++)
    CHECK(!TreeliteRefused(bytes.substr(0, size)).empty());
  CHECK(TreeliteRefused(bytes + "x").find("expected the end of the file at byte") == 0);
}

}  // namespace tritonts::test
