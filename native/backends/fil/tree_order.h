// Puts the nodes of a tree into the order that a Forest requires, and proves that they are a tree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tritonts::fil {

// In place of a child: the node is a leaf.
constexpr int32_t kNoChild = -1;

// The children of the nodes of one tree, as a file has them, and what it calls them.
struct Children {
  std::vector<int32_t> left;   // kNoChild: a leaf, whose right child does not matter
  std::vector<int32_t> right;  // as many
  // A node as its file calls it, for messages, such as "leaf 3".
  std::function<std::string(uint32_t node)> name = [](uint32_t node) {
    return "node " + std::to_string(node);
  };
  // Whether a node may be in no place of the tree, as those that XGBoost removed.
  std::function<bool(uint32_t node)> may_be_apart = [](uint32_t) { return false; };
};

// The nodes by their place, breadth first from node 0. So the children of the first inner node are
// at 1 and 2, those of the second one at 3 and 4, and so on. Throws a Refusal, which begins with
// `tree`, unless every node has one parent.
std::vector<uint32_t> BreadthFirst(const std::string& tree, const Children& children);

}  // namespace tritonts::fil
