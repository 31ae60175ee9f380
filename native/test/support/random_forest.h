// Random tree models with all kinds of nodes, rows for them, and a walker that follows their
// definition (backends/fil/forest.h) node by node.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "backends/fil/forest.h"

namespace tritonts::test {

struct ForestShape {
  uint32_t trees = 10;
  uint32_t features = 5;
  uint32_t columns = 1;
  uint32_t levels = 6;     // at most
  double leaf_chance = 0;  // of a node above the last level
  double category_chance = 0;
  double zero_chance = 0;   // of a node with zero_is_missing
  uint32_t thresholds = 0;  // distinct thresholds of a feature; 0: any
  uint32_t most_nodes = 100'000;
  bool chain = false;  // one child of each inner node is a leaf
  bool leaf_vectors = false;
  bool linear = false;
};

class RandomForest {
 public:
  explicit RandomForest(uint32_t seed) : random_(seed) {}

  fil::Forest Make(const ForestShape& shape, bool float_sums) {
    fil::Forest forest;
    forest.features = shape.features;
    forest.columns = shape.columns;
    forest.float_sums = float_sums;
    forest.base.assign(shape.columns, 0);
    for (double& base : forest.base) base = Real(-1, 1);
    for (uint32_t i = 0; i < shape.trees; i++) {
      forest.trees.push_back(MakeTree(shape));
      forest.trees.back().column = shape.leaf_vectors ? 0 : i % shape.columns;
    }
    return forest;
  }

  // Rows with values of all kinds, also the thresholds themselves.
  std::vector<float> MakeRows(const fil::Forest& forest, size_t count, bool special = true) {
    std::vector<std::vector<float>> thresholds(forest.features);
    for (const fil::Tree& tree : forest.trees) {
      for (const fil::Node& node : tree.nodes) {
        if (node.test == fil::Node::Test::kLess && thresholds[node.feature].size() < 1000) {
          thresholds[node.feature].push_back(node.threshold);
        }
      }
    }
    std::vector<float> rows(count * forest.features);
    for (size_t i = 0; i < rows.size(); i++) {
      const auto& own = thresholds[i % forest.features];
      rows[i] = special ? Special(own) : static_cast<float>(Real(-1, 1));
    }
    return rows;
  }

  uint32_t Below(uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(0, most - 1)(random_);
  }
  double Real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  bool Chance(double chance) { return Real(0, 1) < chance; }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  float Special(const std::vector<float>& thresholds) {
    switch (Below(12)) {
      case 0:
        return std::numeric_limits<float>::quiet_NaN();
      case 1:
        return Chance(0.5) ? kInfinity : -kInfinity;
      case 2:
        return Chance(0.5) ? 0.0F : -0.0F;
      case 3:
        return Chance(0.5) ? 1e-36F : std::numeric_limits<float>::denorm_min();
      case 4:
        return Chance(0.5) ? -1e-35F : 2e-35F;
      case 5:
      case 6:
        return thresholds.empty() ? 1 : thresholds[Below(static_cast<uint32_t>(thresholds.size()))];
      case 7:
        return static_cast<float>(Below(80));
      case 8:
        return static_cast<float>(Below(80)) - 0.5F;
      case 9:
        return Chance(0.5) ? 1e30F : -3;
      default:
        return static_cast<float>(Real(-1, 1));
    }
  }

  float Threshold(const ForestShape& shape) {
    if (shape.thresholds > 0) {
      return static_cast<float>(Below(shape.thresholds)) / static_cast<float>(shape.thresholds) -
             0.5F;
    }
    switch (Below(40)) {
      case 0:
        return Chance(0.5) ? kInfinity : -kInfinity;
      case 1:
        return Chance(0.5) ? 0.0F : -0.0F;
      case 2:
        return Chance(0.5) ? std::numeric_limits<float>::denorm_min() : 1e-35F;
      default:
        return static_cast<float>(Real(-1, 1));
    }
  }

  fil::Tree MakeTree(const ForestShape& shape) {
    fil::Tree tree;
    tree.nodes.emplace_back();
    std::vector<uint32_t> level(1, 0);
    for (uint32_t i = 0; i < tree.nodes.size(); i++) {
      const bool leaf = level[i] >= shape.levels || tree.nodes.size() + 2 > shape.most_nodes ||
                        (i > 0 && Chance(shape.leaf_chance)) ||
                        (shape.chain && i % 2 == 0 && i > 0);
      fil::Node node;
      node.cover = 1 + Below(20);
      if (leaf) {
        node.value = Real(-1, 1);
        if (shape.linear) {
          MakeLinear(shape, &tree, &node);
        } else if (shape.leaf_vectors) {
          node.vector = static_cast<uint32_t>(tree.leaf_vectors.size());
          for (uint32_t k = 0; k < shape.columns; k++) tree.leaf_vectors.push_back(Real(-1, 1));
        }
      } else {
        node.test = fil::Node::Test::kLess;
        node.feature = Below(shape.features);
        node.missing_left = Chance(0.5);
        node.left = static_cast<uint32_t>(tree.nodes.size());
        node.right = node.left + 1;
        if (Chance(0.3)) std::swap(node.left, node.right);
        if (Chance(shape.category_chance)) {
          node.test = fil::Node::Test::kCategory;
          node.first_word = static_cast<uint32_t>(tree.category_words.size());
          node.words = Below(4);
          for (uint32_t k = 0; k < node.words; k++) tree.category_words.push_back(random_());
        } else {
          node.threshold = Threshold(shape);
          node.zero_is_missing = Chance(shape.zero_chance);
        }
      }
      tree.nodes[i] = node;
      if (!leaf) {
        tree.nodes.resize(tree.nodes.size() + 2);
        level.resize(tree.nodes.size(), level[i] + 1);
      }
    }
    return tree;
  }

  void MakeLinear(const ForestShape& shape, fil::Tree* tree, fil::Node* node) {
    node->vector = static_cast<uint32_t>(tree->linear_leaves.size());
    fil::LinearLeaf leaf;
    leaf.constant = Real(-1, 1);
    leaf.first_term = static_cast<uint32_t>(tree->linear_terms.size());
    leaf.terms = Below(3);
    for (uint32_t i = 0; i < leaf.terms; i++) {
      tree->linear_terms.push_back({Below(shape.features), Real(-1, 1)});
    }
    tree->linear_leaves.push_back(leaf);
  }

  std::mt19937 random_;
};

// Whether the row goes left.
inline bool GoesLeft(const fil::Forest& forest, const fil::Tree& tree, const fil::Node& node,
                     float value) {
  if (std::isnan(value) || (node.zero_is_missing && std::fabs(value) <= 1e-35F)) {
    return node.missing_left;
  }
  if (node.test == fil::Node::Test::kLess) return value < node.threshold;
  if (forest.truncates_negatives && value < 0 && value > -1) value = 0;
  const double category = std::floor(double{value});
  if (category < 0 || category >= 32.0 * node.words) return false;
  const auto at = static_cast<uint32_t>(category);
  return tree.category_words[node.first_word + at / 32] >> at % 32 & 1;
}

inline uint32_t LeafOf(const fil::Forest& forest, const fil::Tree& tree, const float* row) {
  uint32_t at = 0;
  while (tree.nodes[at].test != fil::Node::Test::kLeaf) {
    const fil::Node& node = tree.nodes[at];
    at = GoesLeft(forest, tree, node, row[node.feature]) ? node.left : node.right;
  }
  return at;
}

// What a tree adds to a column.
inline double ValueOf(const fil::Forest& forest, const fil::Tree& tree, const float* row,
                      uint32_t column) {
  const fil::Node& leaf = tree.nodes[LeafOf(forest, tree, row)];
  if (!tree.leaf_vectors.empty()) return tree.leaf_vectors[leaf.vector + column];
  if (tree.column != column) return 0;
  if (tree.linear_leaves.empty()) return leaf.value;
  const fil::LinearLeaf& linear = tree.linear_leaves[leaf.vector];
  double value = linear.constant;
  for (uint32_t i = 0; i < linear.terms; i++) {
    const fil::LinearTerm& term = tree.linear_terms[linear.first_term + i];
    if (std::isnan(row[term.feature])) return leaf.value;
    value += term.coefficient * row[term.feature];
  }
  return value;
}

// The margin of a column, by the order of sums of the model's framework.
template <typename Sum>
double MarginAs(const fil::Forest& forest, const float* row, uint32_t column) {
  const bool base_first = forest.float_sums && !forest.averages;
  const auto base = static_cast<Sum>(forest.base[column]);
  Sum sum = base_first ? base : Sum{0};
  uint32_t count = 0;
  for (const fil::Tree& tree : forest.trees) {
    if (tree.leaf_vectors.empty() && tree.column != column) continue;
    sum += static_cast<Sum>(ValueOf(forest, tree, row, column));
    count++;
  }
  if (forest.averages && count > 0) sum /= static_cast<Sum>(count);
  return base_first ? sum : sum + base;
}

inline double MarginOf(const fil::Forest& forest, const float* row, uint32_t column) {
  return forest.float_sums ? MarginAs<float>(forest, row, column)
                           : MarginAs<double>(forest, row, column);
}

}  // namespace tritonts::test
