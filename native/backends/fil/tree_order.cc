#include "tree_order.h"

#include "refusal.h"

namespace tritonts::fil {

std::vector<uint32_t> BreadthFirst(const std::string& tree, const Children& children) {
  const size_t count = children.left.size();
  if (count == 0) Refuse(tree + ": expected at least one node");
  std::vector<uint32_t> order;
  order.reserve(count);
  order.push_back(0);
  std::vector<bool> placed(count);
  placed[0] = true;
  for (size_t at = 0; at < order.size(); at++) {
    const uint32_t node = order[at];
    if (children.left[node] == kNoChild) continue;
    const auto place = [&](int32_t child, const char* which) {
      if (child < 0 || static_cast<size_t>(child) >= count) {
        Refuse(tree + ", " + children.name(node) + ": expected its " + which +
               " child to be from 0 to " + std::to_string(count - 1) + ", but it is " +
               std::to_string(child));
      }
      if (placed[static_cast<size_t>(child)]) {
        Refuse(tree + ", " + children.name(node) + ": its " + which + " child is " +
               children.name(static_cast<uint32_t>(child)) +
               (child == 0 ? ", the root" : ", which has another parent already"));
      }
      placed[static_cast<size_t>(child)] = true;
      order.push_back(static_cast<uint32_t>(child));
    };
    place(children.left[node], "left");
    place(children.right[node], "right");
  }
  if (order.size() == count) return order;
  for (uint32_t node = 0; node < count; node++) {
    if (!placed[node] && !children.may_be_apart(node)) {
      Refuse(tree + ", " + children.name(node) + ": no node has it as a child");
    }
  }
  return order;
}

}  // namespace tritonts::fil
