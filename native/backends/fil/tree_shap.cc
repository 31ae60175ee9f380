#include "tree_shap.h"

#include <algorithm>
#include <string>

#include "decide.h"

namespace tritonts::fil {

namespace {

// A feature on the path to a node.
struct Step {
  uint32_t feature = 0;
  double zero = 1;    // the part of training rows that take the path without knowing the feature
  double one = 1;     // 1 if the row takes the path, else 0
  double weight = 1;  // of the subsets with as many features as steps before this one
};

// The steps of all nodes on a path: one for the root, two for the node below it, and so on.
constexpr size_t kMostSteps = (TreeShap::kMostLevels + 2) * (TreeShap::kMostLevels + 3) / 2;

// Appends a step to a path of `count` steps.
void Extend(Step* path, size_t count, const Step& step) {
  path[count] = step;
  path[count].weight = count == 0 ? 1 : 0;
  const auto length = static_cast<double>(count + 1);
  for (size_t i = count; i-- > 0;) {
    const auto before = static_cast<double>(i + 1);
    path[i + 1].weight += step.one * path[i].weight * before / length;
    path[i].weight = step.zero * path[i].weight * static_cast<double>(count - i) / length;
  }
}

// Removes step `at` from a path of `count` + 1 steps.
void Unwind(Step* path, size_t count, size_t at) {
  const double one = path[at].one;
  const double zero = path[at].zero;
  const auto length = static_cast<double>(count + 1);
  double next = path[count].weight;
  for (size_t i = count; i-- > 0;) {
    const auto left = static_cast<double>(count - i);
    if (one != 0) {
      const double weight = path[i].weight;
      path[i].weight = next * length / (static_cast<double>(i + 1) * one);
      next = weight - path[i].weight * zero * left / length;
    } else {
      path[i].weight = zero != 0 ? path[i].weight * length / (zero * left) : 0;
    }
  }
  for (size_t i = at; i < count; i++) {
    path[i].feature = path[i + 1].feature;
    path[i].zero = path[i + 1].zero;
    path[i].one = path[i + 1].one;
  }
}

// The sum of the weights that Unwind would leave.
double UnwoundSum(const Step* path, size_t count, size_t at) {
  const double one = path[at].one;
  const double zero = path[at].zero;
  const auto length = static_cast<double>(count + 1);
  double next = path[count].weight;
  double sum = 0;
  for (size_t i = count; i-- > 0;) {
    const auto left = static_cast<double>(count - i);
    if (one != 0) {
      const double weight = next * length / (static_cast<double>(i + 1) * one);
      sum += weight;
      next = path[i].weight - weight * zero * left / length;
    } else if (zero != 0) {
      sum += path[i].weight * length / (zero * left);
    }
  }
  return sum;
}

// Computes the values of one row and one tree.
class Explainer {
 public:
  Explainer(const Forest& forest, const Tree& tree, const float* row, double* sums)
      : forest_(forest), tree_(tree), row_(row), sums_(sums) {}

  void Explain() {
    Step root;
    root.feature = forest_.features;  // no feature
    Visit(0, steps_, 0, root);
  }

 private:
  // `path` has `count` steps, which lead to the parent. `step` leads to the node. The depth of the
  // recursion is at most kMostLevels.
  void Visit(uint32_t position, Step* path, size_t count, const Step& step) {
    Step* const own = path + count;
    std::copy(path, path + count, own);
    Extend(own, count, step);
    const Node& node = tree_.nodes[position];
    if (node.test == Node::Test::kLeaf) return AddLeaf(node, own, count);

    const bool left = GoesLeft(node, row_[node.feature]);
    const uint32_t hot = left ? node.left : node.right;
    const uint32_t cold = left ? node.right : node.left;
    Step before;  // the step of the same feature, if the path has one
    for (size_t i = 1; i <= count; i++) {
      if (own[i].feature != node.feature) continue;
      before = own[i];
      Unwind(own, count--, i);
      break;
    }
    Visit(hot, own, count + 1, {node.feature, before.zero * PartOf(node, hot), before.one, 0});
    Visit(cold, own, count + 1, {node.feature, before.zero * PartOf(node, cold), 0, 0});
  }

  void AddLeaf(const Node& leaf, const Step* path, size_t count) {
    const size_t width = size_t{forest_.features} + 1;
    for (size_t i = 1; i <= count; i++) {
      const double part = UnwoundSum(path, count, i) * (path[i].one - path[i].zero);
      if (tree_.leaf_vectors.empty()) {
        sums_[tree_.column * width + path[i].feature] += part * leaf.value;
        continue;
      }
      for (uint32_t column = 0; column < forest_.columns; column++) {
        sums_[column * width + path[i].feature] += part * tree_.leaf_vectors[leaf.vector + column];
      }
    }
  }

  double PartOf(const Node& node, uint32_t child) const {
    return node.cover > 0 ? tree_.nodes[child].cover / node.cover : 0;
  }

  bool GoesLeft(const Node& node, float value) const {
    if (IsMissing(value, node.zero_is_missing)) return node.missing_left;
    if (node.test == Node::Test::kLess) return value < node.threshold;
    return InSet(tree_.category_words.data() + node.first_word, node.words,
                 forest_.truncates_negatives, value);
  }

  const Forest& forest_;
  const Tree& tree_;
  const float* const row_;
  double* const sums_;
  Step steps_[kMostSteps];
};

Status CheckTree(const Tree& tree, size_t number, double* row_ns) {
  const std::string which = "tree " + std::to_string(number);
  if (!tree.linear_leaves.empty()) {
    return Status::Unsupported(which + " has linear leaves, for which there are no SHAP values");
  }
  std::vector<uint32_t> level(tree.nodes.size(), 0);
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const Node& node = tree.nodes[i];
    if (level[i] > TreeShap::kMostLevels) {
      return Status::Unsupported(which + " has more than " + std::to_string(TreeShap::kMostLevels) +
                                 " levels, which is the most for SHAP values");
    }
    // Also false for NaN. All rows come to the only leaf of a tree.
    if (!(node.cover >= 0) && tree.nodes[0].test != Node::Test::kLeaf) {
      return Status::Unsupported(which + " does not say how many training rows came to node " +
                                 std::to_string(i) + ": SHAP values need this of every node");
    }
    if (node.test == Node::Test::kLeaf) {
      *row_ns += 3.0 * level[i] * level[i] + 10;
    } else {
      level[node.left] = level[node.right] = level[i] + 1;
    }
  }
  return Status::Ok();
}

// Adds the mean of a tree's leaves to the expected margins.
void AddExpected(const Forest& forest, const Tree& tree, std::vector<double>* expected) {
  // The part of the training rows that come to a node.
  std::vector<double> part(tree.nodes.size(), 0);
  part[0] = 1;
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const Node& node = tree.nodes[i];
    if (node.test != Node::Test::kLeaf) {
      for (const uint32_t child : {node.left, node.right}) {
        part[child] = node.cover > 0 ? part[i] * tree.nodes[child].cover / node.cover : 0;
      }
    } else if (tree.leaf_vectors.empty()) {
      (*expected)[tree.column] += part[i] * node.value;
    } else {
      for (uint32_t column = 0; column < forest.columns; column++) {
        (*expected)[column] += part[i] * tree.leaf_vectors[node.vector + column];
      }
    }
  }
}

}  // namespace

StatusOr<std::unique_ptr<const TreeShap>> TreeShap::Make(Forest forest) {
  std::unique_ptr<TreeShap> shap(new TreeShap(std::move(forest)));
  const Forest& own = shap->forest_;
  shap->expected_.assign(own.columns, 0);
  shap->trees_of_.assign(own.columns, 0);
  for (size_t i = 0; i < own.trees.size(); i++) {
    const Tree& tree = own.trees[i];
    if (Status status = CheckTree(tree, i, &shap->row_ns_); !status.ok()) return status;
    AddExpected(own, tree, &shap->expected_);
    for (uint32_t column = 0; column < own.columns; column++) {
      if (!tree.leaf_vectors.empty() || tree.column == column) shap->trees_of_[column]++;
    }
  }
  for (uint32_t column = 0; column < own.columns; column++) {
    double& divisor = shap->trees_of_[column];
    if (!own.averages || divisor == 0) divisor = 1;
    shap->expected_[column] = shap->expected_[column] / divisor + own.base[column];
  }
  return std::unique_ptr<const TreeShap>(std::move(shap));
}

void TreeShap::Explain(const Rows& rows, double* sums, float* output) const {
  const size_t width = size_t{forest_.features} + 1;
  for (size_t i = 0; i < rows.count; i++) {
    std::fill_n(sums, this->width(), 0.0);
    for (const Tree& tree : forest_.trees) {
      Explainer(forest_, tree, rows.row(i), sums).Explain();
    }
    for (uint32_t column = 0; column < forest_.columns; column++) {
      for (size_t k = 0; k < width; k++) {
        const double sum = sums[column * width + k] / trees_of_[column];
        *output++ = static_cast<float>(k + 1 == width ? expected_[column] : sum);
      }
    }
  }
}

}  // namespace tritonts::fil
