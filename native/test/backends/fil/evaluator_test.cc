// Forests of all kinds, in every kernel, against a walker that follows their definition: the same
// bits.
#include "backends/fil/evaluator.h"

#include <bit>
#include <string>
#include <vector>

#include "check.h"
#include "random_forest.h"

namespace tritonts::test {

namespace {

using fil::Answer;
using fil::AnswerRule;
using fil::CompiledForest;
using fil::Evaluator;
using fil::Forest;
using fil::Kernel;
using fil::Rows;
using fil::Scratch;
using fil::Transform;

CompiledForest Compiled(const Forest& forest) {
  auto compiled = fil::Compile(forest);
  CHECK(compiled.ok());
  return compiled.take();
}

std::vector<float> Evaluate(const CompiledForest& forest, const Kernel& kernel,
                            const std::vector<float>& rows, const AnswerRule& rule = {}) {
  const Evaluator evaluator(forest, kernel);
  const size_t count = rows.size() / forest.features;
  const size_t width = rule.width(forest);
  std::vector<float> output(count * width + 1, 1234);
  Scratch scratch;
  for (size_t first = 0; first < count; first += evaluator.chunk_rows()) {
    const size_t part = std::min(evaluator.chunk_rows(), count - first);
    evaluator.Evaluate({rows.data() + first * forest.features, forest.features, part}, rule,
                       &scratch, output.data() + first * width);
  }
  CHECK_EQ(output.back(), 1234);  // nothing is written behind the output
  output.pop_back();
  return output;
}

// Compares margins in all kernels for these numbers of rows.
void CheckMargins(const Forest& forest, RandomForest* random, const std::vector<size_t>& counts,
                  const std::string& what) {
  const CompiledForest compiled = Compiled(forest);
  for (const size_t count : counts) {
    const std::vector<float> rows = random->MakeRows(forest, count);
    std::vector<float> expected;
    for (size_t row = 0; row < count; row++) {
      for (uint32_t column = 0; column < forest.columns; column++) {
        expected.push_back(
            static_cast<float>(MarginOf(forest, rows.data() + row * forest.features, column)));
      }
    }
    for (const Kernel* kernel : fil::Kernels()) {
      const std::vector<float> found = Evaluate(compiled, *kernel, rows);
      size_t wrong = 0;
      for (size_t i = 0; i < expected.size(); i++) {
        if (std::bit_cast<uint32_t>(found[i]) == std::bit_cast<uint32_t>(expected[i])) continue;
        if (wrong++ > 0) continue;
        Fail(__FILE__, __LINE__,
             what + ", " + std::string(kernel->name) + ", " + std::to_string(count) +
                 " rows: value " + std::to_string(i) + " is " + std::to_string(found[i]) +
                 " instead of " + std::to_string(expected[i]));
      }
    }
  }
}

std::vector<size_t> SmallCounts() {
  std::vector<size_t> counts;
  for (size_t count = 1; count <= 70; count++) counts.push_back(count);
  return counts;
}

}  // namespace

TEST(FilMarginsOfTreesOfAnyDepth) {
  RandomForest random(1);
  for (const bool float_sums : {true, false}) {
    for (uint32_t levels = 0; levels <= 15; levels++) {
      for (const double leaf_chance : {0.0, 0.3}) {
        if (levels > 12 && leaf_chance == 0) continue;
        ForestShape shape;
        shape.levels = levels;
        shape.leaf_chance = leaf_chance;
        shape.trees = levels > 10 ? 3 : 12;
        const Forest forest = random.Make(shape, float_sums);
        CheckMargins(forest, &random, {1, 3, 4, 9, 31, 64, 100}, "depth " + std::to_string(levels));
      }
    }
  }
}

TEST(FilMarginsOfAnyNumberOfRows) {
  RandomForest random(2);
  for (const bool float_sums : {true, false}) {
    ForestShape shape;
    shape.leaf_chance = 0.1;
    shape.zero_chance = 0.2;
    shape.trees = 20;
    shape.levels = 7;
    const Forest forest = random.Make(shape, float_sums);
    CheckMargins(forest, &random, SmallCounts(), "rows");
    CheckMargins(forest, &random, {1000, 3001}, "many rows");
  }
}

TEST(FilMarginsOfUnbalancedTrees) {
  RandomForest random(3);
  for (uint32_t levels = 1; levels <= 40; levels++) {
    ForestShape shape;
    shape.levels = levels;
    shape.chain = true;
    CheckMargins(random.Make(shape, true), &random, {2, 50}, "chain " + std::to_string(levels));
    shape.chain = false;
    shape.leaf_chance = 0.4;
    shape.most_nodes = 2000;
    CheckMargins(random.Make(shape, false), &random, {2, 50}, "deep " + std::to_string(levels));
  }
}

TEST(FilMarginsWithCategoriesAndMissingZeros) {
  RandomForest random(4);
  for (const bool truncates : {true, false}) {
    for (const double chance : {0.2, 1.0}) {
      ForestShape shape;
      shape.category_chance = chance;
      shape.zero_chance = 0.5;
      shape.leaf_chance = 0.1;
      shape.columns = 3;
      shape.trees = 30;
      Forest forest = random.Make(shape, truncates);
      forest.truncates_negatives = truncates;
      CheckMargins(forest, &random, SmallCounts(), "categories");
    }
  }
}

TEST(FilMarginsOfLeafVectorsAndLinearLeaves) {
  RandomForest random(5);
  for (const bool float_sums : {true, false}) {
    for (const bool averages : {true, false}) {
      for (uint32_t levels = 0; levels < 11; levels++) {
        ForestShape shape;
        shape.levels = levels;
        shape.leaf_chance = 0.2;
        shape.columns = 4;
        shape.leaf_vectors = true;
        shape.category_chance = levels % 2 == 0 ? 0.1 : 0;
        Forest forest = random.Make(shape, float_sums);
        forest.averages = averages;
        CheckMargins(forest, &random, {1, 2, 17, 65}, "vectors");
        shape.leaf_vectors = false;
        shape.linear = true;
        forest = random.Make(shape, float_sums);
        forest.averages = averages;
        CheckMargins(forest, &random, {1, 2, 17, 65}, "linear leaves");
      }
    }
  }
}

TEST(FilSumsFollowTheOrderOfTrees) {
  // Trees of different kinds take turns, with values that make every order visible.
  RandomForest random(6);
  Forest forest;
  for (int i = 0; i < 60; i++) {
    ForestShape shape;
    shape.trees = 1;
    shape.levels = static_cast<uint32_t>(i % 13);
    shape.leaf_chance = i % 2 ? 0.3 : 0;
    shape.category_chance = i % 5 == 0 ? 0.3 : 0;
    Forest one = random.Make(shape, true);
    for (fil::Node& node : one.trees[0].nodes) node.value *= std::pow(10, random.Real(-6, 6));
    if (i == 0) {
      forest = std::move(one);
    } else {
      forest.trees.push_back(std::move(one.trees[0]));
    }
  }
  CheckMargins(forest, &random, {1, 2, 3, 4, 20, 64, 200}, "kinds in turn");
}

TEST(FilForestsThatNeedSeveralParts) {
  // More thresholds of one feature than there are ranks.
  RandomForest random(7);
  ForestShape shape;
  shape.features = 1;
  shape.levels = 13;
  shape.trees = 12;
  const Forest forest = random.Make(shape, true);
  CHECK(Compiled(forest).parts.size() > 1);
  CheckMargins(forest, &random, {1, 5, 70, 500}, "parts");
  // One tree has more than that.
  shape.levels = 17;
  shape.trees = 1;
  shape.most_nodes = 300'000;
  Forest large = random.Make(shape, true);
  large.trees.push_back(forest.trees[0]);
  CheckMargins(large, &random, {1, 70}, "one large tree");
}

TEST(FilForestsWithoutTreesGiveTheBase) {
  RandomForest random(8);
  ForestShape shape;
  shape.trees = 0;
  shape.columns = 2;
  CheckMargins(random.Make(shape, true), &random, {1, 5, 64}, "no trees");
  CheckMargins(random.Make(shape, false), &random, {1, 5, 64}, "no trees");
}

TEST(FilSumsOfManyColumns) {
  RandomForest random(9);
  ForestShape shape;
  shape.columns = 40;
  shape.trees = 80;
  shape.levels = 3;
  CheckMargins(random.Make(shape, true), &random, {1, 5, 64, 130}, "columns");
}

TEST(FilRefusesNodesWithTwoParents) {
  RandomForest random(10);
  ForestShape shape;
  shape.trees = 2;
  Forest forest = random.Make(shape, true);
  fil::Node& root = forest.trees[1].nodes[0];
  const uint32_t left = root.left;
  root.right = left;
  CHECK_EQ(fil::Compile(forest).status().message(),
           "tree 1 has a node with two parents: expected one parent for each node");
}

namespace {

// A forest whose margins are the bases.
Forest Constant(const std::vector<double>& margins, Transform transform, bool float_sums) {
  Forest forest;
  forest.features = 1;
  forest.columns = static_cast<uint32_t>(margins.size());
  forest.base = margins;
  forest.float_sums = float_sums;
  forest.transform = transform;
  return forest;
}

std::vector<float> ValuesOf(const Forest& forest, const AnswerRule& rule = {}) {
  const CompiledForest compiled = Compiled(forest);
  return Evaluate(compiled, *fil::GenericKernel(), {0}, rule);
}

void CheckNear(const std::vector<float>& found, const std::vector<double>& expected) {
  CHECK_EQ(found.size(), expected.size());
  for (size_t i = 0; i < std::min(found.size(), expected.size()); i++) {
    if (!(std::fabs(found[i] - expected[i]) <= 1e-6 * std::max(1.0, std::fabs(expected[i])))) {
      CHECK_EQ(double{found[i]}, expected[i]);
    }
  }
}

}  // namespace

TEST(FilTransforms) {
  for (const bool float_sums : {true, false}) {
    CheckNear(ValuesOf(Constant({2, -3}, Transform::kIdentity, float_sums)), {2, -3});
    CheckNear(ValuesOf(Constant({0.5, -1000}, Transform::kSigmoid, float_sums)),
              {1 / (1 + std::exp(-0.5)), 0});
    CheckNear(ValuesOf(Constant({1, 2, 1000}, Transform::kSoftmax, float_sums)), {0, 0, 1});
    CheckNear(ValuesOf(Constant({1, 2}, Transform::kSoftmax, float_sums)),
              {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0))});
    CheckNear(ValuesOf(Constant({-3, -1, -1}, Transform::kMaxIndex, float_sums)), {1});
    CheckNear(ValuesOf(Constant({2}, Transform::kExp, float_sums)), {std::exp(2.0)});
    CheckNear(ValuesOf(Constant({0.1, 0, -1}, Transform::kHinge, float_sums)), {1, 0, 0});
    CheckNear(ValuesOf(Constant({-3, 2}, Transform::kSignedSquare, float_sums)), {-9, 4});
    CheckNear(ValuesOf(Constant({0.5}, Transform::kLog1pExp, float_sums)),
              {std::log(1 + std::exp(0.5))});
    Forest forest = Constant({3}, Transform::kExpRatio, float_sums);
    forest.ratio_c = 2;
    CheckNear(ValuesOf(forest), {std::exp2(-1.5)});
    forest = Constant({3}, Transform::kSigmoid, float_sums);
    forest.sigmoid_alpha = 2;
    CheckNear(ValuesOf(forest), {1 / (1 + std::exp(-6.0))});
  }
}

TEST(FilAnswersOfClassifiers) {
  const auto values = [](const std::vector<double>& margins, Transform transform,
                         const AnswerRule& rule) {
    return ValuesOf(Constant(margins, transform, true), rule);
  };
  const AnswerRule by_half{Answer::kClass, 0.5F};
  CHECK_EQ(values({0.5}, Transform::kIdentity, by_half), std::vector<float>{0});
  CHECK_EQ(values({0.51}, Transform::kIdentity, by_half), std::vector<float>{1});
  // The threshold is for the transformed value.
  CHECK_EQ(values({0.4}, Transform::kSigmoid, by_half), std::vector<float>{1});
  CHECK_EQ(values({0.4}, Transform::kSigmoid, {Answer::kClass, 0.6F}), std::vector<float>{0});
  CHECK_EQ(values({1, 3, 3}, Transform::kSoftmax, by_half), std::vector<float>{1});
  CHECK_EQ(values({-3, -2, -1}, Transform::kIdentity, by_half), std::vector<float>{2});
  CHECK_EQ(values({-3, -1, -2}, Transform::kMaxIndex, by_half), std::vector<float>{1});
  CheckNear(values({0}, Transform::kSigmoid, {Answer::kTwoColumns, 0.5F}), {0.5, 0.5});
}

}  // namespace tritonts::test
