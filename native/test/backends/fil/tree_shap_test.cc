// SHAP values: they sum to the margin, and on small trees they are the Shapley values by their
// definition.
#include "backends/fil/tree_shap.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "random_forest.h"

namespace tritonts::test {

namespace {

using fil::Forest;
using fil::Node;
using fil::Tree;
using fil::TreeShap;

// Gives inner nodes the sum of their children's covers, as training does.
void SumCovers(Forest* forest) {
  for (Tree& tree : forest->trees) {
    for (size_t i = tree.nodes.size(); i-- > 0;) {
      Node& node = tree.nodes[i];
      if (node.test == Node::Test::kLeaf) continue;
      node.cover = tree.nodes[node.left].cover + tree.nodes[node.right].cover;
    }
  }
}

std::vector<float> Explain(const Forest& forest, const std::vector<float>& rows) {
  auto shap = TreeShap::Make(forest);
  CHECK(shap.ok());
  if (!shap.ok()) return {};
  const size_t count = rows.size() / forest.features;
  const TreeShap& explainer = *shap.value();
  std::vector<float> output(count * explainer.width());
  std::vector<double> sums(explainer.width());
  explainer.Explain({rows.data(), forest.features, count}, sums.data(), output.data());
  return output;
}

// The mean of the leaves below a node, if only the features of `known` are known.
double Mean(const Forest& forest, const Tree& tree, const float* row, uint32_t known, uint32_t at,
            uint32_t column) {
  const Node& node = tree.nodes[at];
  if (node.test == Node::Test::kLeaf) {
    if (!tree.leaf_vectors.empty()) return tree.leaf_vectors[node.vector + column];
    return tree.column == column ? node.value : 0;
  }
  const auto below = [&](uint32_t child) { return Mean(forest, tree, row, known, child, column); };
  if (known >> node.feature & 1) {
    return below(GoesLeft(forest, tree, node, row[node.feature]) ? node.left : node.right);
  }
  return (below(node.left) * tree.nodes[node.left].cover +
          below(node.right) * tree.nodes[node.right].cover) /
         node.cover;
}

double Factorial(int n) {
  return std::tgamma(n + 1);
}

// A feature's Shapley value: its mean effect over all orders of the features.
double Shapley(const Forest& forest, const Tree& tree, const float* row, uint32_t feature,
               uint32_t column) {
  const auto all = static_cast<int>(forest.features);
  double sum = 0;
  for (uint32_t known = 0; known < 1U << all; known++) {
    if (known >> feature & 1) continue;
    const int count = std::popcount(known);
    const double orders = Factorial(count) * Factorial(all - count - 1) / Factorial(all);
    sum += orders * (Mean(forest, tree, row, known | 1U << feature, 0, column) -
                     Mean(forest, tree, row, known, 0, column));
  }
  return sum;
}

void CheckNear(double found, double expected, double tolerance, const std::string& what) {
  if (std::fabs(found - expected) <= tolerance * std::max(1.0, std::fabs(expected))) return;
  Fail(__FILE__, __LINE__,
       what + ": " + std::to_string(found) + " instead of " + std::to_string(expected));
}

}  // namespace

TEST(FilShapValuesAreShapleyValues) {
  RandomForest random(21);
  for (int round = 0; round < 30; round++) {
    ForestShape shape;
    shape.features = 1 + random.Below(6);
    shape.columns = 1 + random.Below(3);
    shape.levels = random.Below(7);
    shape.trees = 4;
    shape.leaf_chance = 0.2;
    shape.category_chance = 0.2;
    shape.zero_chance = 0.2;
    shape.leaf_vectors = round % 3 == 0;
    Forest forest = random.Make(shape, round % 2 == 0);
    forest.averages = round % 5 == 0;
    SumCovers(&forest);
    const std::vector<float> rows = random.MakeRows(forest, 5);
    const std::vector<float> found = Explain(forest, rows);
    size_t at = 0;
    for (size_t row = 0; row < 5; row++) {
      const float* const values = rows.data() + row * forest.features;
      for (uint32_t column = 0; column < forest.columns; column++) {
        for (uint32_t feature = 0; feature <= forest.features; feature++) {
          double expected = 0;
          double trees = 0;
          for (const Tree& tree : forest.trees) {
            if (tree.leaf_vectors.empty() && tree.column != column) continue;
            trees++;
            expected += feature < forest.features ? Shapley(forest, tree, values, feature, column)
                                                  : Mean(forest, tree, values, 0, 0, column);
          }
          if (forest.averages && trees > 0) expected /= trees;
          if (feature == forest.features) expected += forest.base[column];
          CheckNear(found[at++], expected, 1e-5, "round " + std::to_string(round));
        }
      }
    }
  }
}

TEST(FilShapValuesSumToTheMargin) {
  RandomForest random(22);
  for (uint32_t levels = 0; levels <= TreeShap::kMostLevels; levels++) {
    ForestShape shape;
    shape.levels = levels;
    shape.features = 40;
    shape.chain = levels > 10;
    shape.trees = 3;
    Forest forest = random.Make(shape, true);
    SumCovers(&forest);
    const std::vector<float> rows = random.MakeRows(forest, 3);
    const std::vector<float> found = Explain(forest, rows);
    for (size_t row = 0; row < 3; row++) {
      double sum = 0;
      for (size_t i = 0; i < 41; i++) sum += found[row * 41 + i];
      CheckNear(sum, MarginOf(forest, rows.data() + row * 40, 0), 1e-4,
                "depth " + std::to_string(levels));
    }
  }
}

TEST(FilShapValuesNeedCoversAndSmallDepths) {
  RandomForest random(23);
  ForestShape shape;
  shape.chain = true;
  shape.trees = 2;
  shape.levels = TreeShap::kMostLevels + 1;
  CHECK_EQ(TreeShap::Make(random.Make(shape, true)).status().message(),
           "tree 0 has more than 32 levels, which is the most for SHAP values");
  shape.levels = 3;
  Forest forest = random.Make(shape, true);
  forest.trees[1].nodes[2].cover = std::nan("");
  CHECK_EQ(TreeShap::Make(forest).status().message(),
           "tree 1 does not say how many training rows came to node 2: SHAP values need this of "
           "every node");
  shape.linear = true;
  CHECK_EQ(TreeShap::Make(random.Make(shape, true)).status().message(),
           "tree 0 has linear leaves, for which there are no SHAP values");
}

TEST(FilShapValuesOfNodesThatNoRowCameTo) {
  RandomForest random(24);
  ForestShape shape;
  shape.levels = 4;
  Forest forest = random.Make(shape, true);
  for (Tree& tree : forest.trees) {
    for (Node& node : tree.nodes) {
      if (random.Chance(0.5)) node.cover = 0;
    }
  }
  SumCovers(&forest);
  for (const float value : Explain(forest, random.MakeRows(forest, 20))) {
    CHECK(std::isfinite(value));
  }
}

}  // namespace tritonts::test
