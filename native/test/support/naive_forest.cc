#include "naive_forest.h"

#include <cmath>

namespace tritonts::test {

namespace {

using fil::Forest;
using fil::Tree;

bool GoesLeftByDefinition(const Forest& forest, const Tree& tree, const fil::Node& node,
                          float value) {
  if (std::isnan(value)) return node.missing_left;
  if (node.test == fil::Node::Test::kLess) {
    if (node.zero_is_missing && std::fabs(value) <= 1e-35f) return node.missing_left;
    return value < node.threshold;
  }
  if (forest.truncates_negatives && value > -1) value = std::fabs(std::trunc(value));
  if (value < 0 || double{value} >= 32.0 * node.words) return false;
  const auto category = static_cast<uint32_t>(value);
  return (tree.category_words[node.first_word + category / 32] >> category % 32 & 1) != 0;
}

std::string FaultOfNode(const Forest& forest, const Tree& tree, size_t at) {
  const fil::Node& node = tree.nodes[at];
  if (node.test == fil::Node::Test::kLeaf) {
    const uint64_t vector_end = uint64_t{node.vector} + forest.columns;
    if (!tree.leaf_vectors.empty() && vector_end > tree.leaf_vectors.size()) return "leaf vector";
    if (tree.linear_leaves.empty()) return "";
    if (node.vector >= tree.linear_leaves.size()) return "linear leaf";
    const fil::LinearLeaf& leaf = tree.linear_leaves[node.vector];
    return uint64_t{leaf.first_term} + leaf.terms > tree.linear_terms.size() ? "linear terms" : "";
  }
  for (const uint32_t child : {node.left, node.right}) {
    if (child <= at || child >= tree.nodes.size()) return "child";
  }
  if (node.left == node.right) return "children";
  if (node.feature >= forest.features) return "feature";
  if (node.test == fil::Node::Test::kLess) return std::isnan(node.threshold) ? "threshold" : "";
  const uint64_t words_end = uint64_t{node.first_word} + node.words;
  return node.words > 0 && words_end > tree.category_words.size() ? "category words" : "";
}

}  // namespace

std::vector<double> MarginsOf(const Forest& forest, const std::vector<float>& row) {
  std::vector<double> sums(forest.columns);
  std::vector<size_t> counts(forest.columns);
  for (const Tree& tree : forest.trees) {
    uint32_t at = 0;
    while (tree.nodes[at].test != fil::Node::Test::kLeaf) {
      const fil::Node& node = tree.nodes[at];
      at = GoesLeftByDefinition(forest, tree, node, row[node.feature]) ? node.left : node.right;
    }
    const fil::Node& leaf = tree.nodes[at];
    double value = leaf.value;
    if (!tree.linear_leaves.empty()) {
      const fil::LinearLeaf& linear = tree.linear_leaves[leaf.vector];
      value = linear.constant;
      for (uint32_t i = 0; i < linear.terms; i++) {
        const fil::LinearTerm& term = tree.linear_terms[linear.first_term + i];
        value += term.coefficient * double{row[term.feature]};
      }
      if (std::isnan(value)) value = leaf.value;
    }
    for (uint32_t column = 0; column < forest.columns; column++) {
      if (tree.leaf_vectors.empty() && column != tree.column) continue;
      sums[column] += tree.leaf_vectors.empty() ? value : tree.leaf_vectors[leaf.vector + column];
      counts[column]++;
    }
  }
  for (uint32_t column = 0; column < forest.columns; column++) {
    if (forest.averages && counts[column] > 0) sums[column] /= static_cast<double>(counts[column]);
    sums[column] += forest.base[column];
  }
  return sums;
}

std::string FaultOf(const Forest& forest) {
  if (forest.columns == 0 || forest.base.size() != forest.columns) return "columns";
  for (size_t i = 0; i < forest.trees.size(); i++) {
    const Tree& tree = forest.trees[i];
    if (tree.nodes.empty() || tree.column >= forest.columns) return "tree " + std::to_string(i);
    std::vector<uint32_t> parents(tree.nodes.size());
    for (size_t at = 0; at < tree.nodes.size(); at++) {
      const std::string fault = FaultOfNode(forest, tree, at);
      const std::string place = "tree " + std::to_string(i) + ", node " + std::to_string(at);
      if (!fault.empty()) return place + ": " + fault;
      if (parents[at] != (at == 0 ? 0u : 1u)) return place + ": parents";
      if (tree.nodes[at].test == fil::Node::Test::kLeaf) continue;
      parents[tree.nodes[at].left]++;
      parents[tree.nodes[at].right]++;
    }
    for (const fil::LinearTerm& term : tree.linear_terms) {
      if (term.feature >= forest.features) return "tree " + std::to_string(i) + ": linear feature";
    }
  }
  return "";
}

}  // namespace tritonts::test
