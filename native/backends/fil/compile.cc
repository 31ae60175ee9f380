#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "compiled_forest.h"

namespace tritonts::fil {

namespace {

// Trees of at most so many levels are always complete; deeper ones if they need not be padded much:
// up to so many leaves for each leaf of the tree.
constexpr uint32_t kAlwaysComplete = 8;
constexpr uint32_t kMostCompleteLevels = 14;
constexpr size_t kMostPadding = 4;
constexpr size_t kWordsOfLine = 16;
// Positions of nodes have 32 bits.
constexpr size_t kMostNodes = size_t{1} << 30;

constexpr uint32_t Word(uint32_t rank, uint32_t column) {
  return (rank - kRankBias) << 16 | column;
}
// Every rank goes left.
constexpr uint32_t kAlwaysLeft = Word(kMostRank, 0);

// No value is less than NaN, nor less than -infinity.
float OrderedThreshold(const Node& node) {
  return std::isnan(node.threshold) ? -std::numeric_limits<float>::infinity() : node.threshold;
}

uint32_t TreatmentOf(const Node& node) {
  return (node.missing_left ? 1U : 0U) | (node.zero_is_missing ? 2U : 0U);
}

Status TooLarge(size_t tree, size_t nodes) {
  return Status::Unsupported("tree " + std::to_string(tree) + " has " + std::to_string(nodes) +
                             " nodes: expected at most " + std::to_string(kMostNodes));
}

Status NotATree(size_t tree) {
  return Status::InvalidArg("tree " + std::to_string(tree) +
                            " has a node with two parents: expected one parent for each node");
}

// What decides the shape of a tree.
struct Facts {
  bool plain = false;  // a node needs the row itself
  uint32_t levels = 0;
  size_t leaves = 0;
  size_t inner = 0;
};

Status Examine(const Tree& tree, size_t number, Facts* facts) {
  const std::vector<Node>& nodes = tree.nodes;
  if (nodes.size() > kMostNodes) return TooLarge(number, nodes.size());
  constexpr uint32_t kUnseen = ~0U;
  std::vector<uint32_t> level(nodes.size(), kUnseen);
  level[0] = 0;
  // Children follow their parents, so one pass sees each node after its parent.
  for (size_t i = 0; i < nodes.size(); i++) {
    if (level[i] == kUnseen) continue;
    const Node& node = nodes[i];
    facts->levels = std::max(facts->levels, level[i]);
    if (node.test == Node::Test::kLeaf) {
      facts->leaves++;
      continue;
    }
    facts->inner++;
    if (node.test == Node::Test::kCategory) facts->plain = true;
    if (node.left == node.right || level[node.left] != kUnseen || level[node.right] != kUnseen) {
      return NotATree(number);
    }
    level[node.left] = level[node.right] = level[i] + 1;
  }
  return Status::Ok();
}

// The thresholds and columns of consecutive trees.
class PartBuilder {
 public:
  // Lists the thresholds of these trees. False: the trees need more ranks or columns than a part
  // has.
  bool Build(const Forest& forest, const std::vector<Facts>& facts, size_t first, size_t count) {
    part_ = Part();
    part_.first_tree = first;
    part_.trees = count;
    struct Use {
      uint32_t feature;
      float threshold;
      uint32_t treatment;
    };
    std::vector<Use> uses;
    size_t inner = 0;
    for (size_t t = first; t < first + count; t++) inner += facts[t].plain ? 0 : facts[t].inner;
    uses.reserve(inner);
    for (size_t t = first; t < first + count; t++) {
      if (facts[t].plain) continue;
      for (const Node& node : forest.trees[t].nodes) {
        if (node.test != Node::Test::kLess) continue;
        uses.push_back({node.feature, OrderedThreshold(node), TreatmentOf(node)});
      }
    }
    std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
      return a.feature != b.feature ? a.feature < b.feature : a.threshold < b.threshold;
    });
    for (size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
      uint32_t treatments = 0;  // bit k: treatment k is used
      while (end < uses.size() && uses[end].feature == uses[begin].feature) {
        treatments |= 1U << uses[end++].treatment;
      }
      RankedFeature& feature = part_.features.emplace_back();
      feature.feature = uses[begin].feature;
      feature.first = part_.thresholds.size();
      for (uint32_t k = 0; k < 4; k++) {
        if (treatments >> k & 1) feature.columns[k] = part_.rank_columns++;
      }
      if (part_.rank_columns > kMostRankColumns) return false;
      for (size_t i = begin; i < end; i++) {
        if (i > begin && uses[i - 1].threshold == uses[i].threshold) continue;
        if (feature.count == kMostRank) return false;
        feature.count++;
        part_.thresholds.push_back(uses[i].threshold);
      }
    }
    // Padding reads column 0.
    part_.rank_columns = std::max(part_.rank_columns, 1U);
    return true;
  }

  uint32_t WordOf(const Node& node) const {
    // They are in the order of their numbers. A model may have very many features and use few, so
    // no table of all is made.
    const RankedFeature& feature = *std::lower_bound(
        part_.features.begin(), part_.features.end(), node.feature,
        [](const RankedFeature& one, uint32_t number) { return one.feature < number; });
    const auto first = part_.thresholds.begin() + static_cast<ptrdiff_t>(feature.first);
    const auto at = std::lower_bound(first, first + feature.count, OrderedThreshold(node));
    return Word(static_cast<uint32_t>(at - first), feature.columns[TreatmentOf(node)]);
  }

  Part Take() {
    part_.features.shrink_to_fit();
    part_.thresholds.shrink_to_fit();
    return std::move(part_);
  }

 private:
  Part part_;
};

class Compiler {
 public:
  explicit Compiler(const Forest& forest) : forest_(forest) {}

  StatusOr<CompiledForest> Compile() {
    Head();
    facts_.resize(forest_.trees.size());
    for (size_t t = 0; t < forest_.trees.size(); t++) {
      Status status = Examine(forest_.trees[t], t, &facts_[t]);
      if (!status.ok()) return status;
    }
    // Parts are as long as possible, so that values are ranked rarely.
    std::vector<std::pair<size_t, size_t>> rest;
    if (!forest_.trees.empty()) rest.emplace_back(0, forest_.trees.size());
    while (!rest.empty()) {
      const auto [first, count] = rest.back();
      rest.pop_back();
      if (!builder_.Build(forest_, facts_, first, count)) {
        if (count == 1) {
          facts_[first].plain = true;
          rest.emplace_back(first, count);
        } else {
          rest.emplace_back(first + count / 2, count - count / 2);
          rest.emplace_back(first, count / 2);
        }
        continue;
      }
      for (size_t t = first; t < first + count; t++) Add(t);
      MarkAlike(first, first + count);
      result_.parts.push_back(builder_.Take());
      result_.rank_columns = std::max(result_.rank_columns, result_.parts.back().rank_columns);
    }
    return std::move(result_);
  }

 private:
  void Head() {
    result_.features = forest_.features;
    result_.columns = forest_.columns;
    result_.float_sums = forest_.float_sums;
    result_.truncates_negatives = forest_.truncates_negatives;
    result_.averages = forest_.averages;
    result_.transform = forest_.transform;
    result_.sigmoid_alpha = forest_.sigmoid_alpha;
    result_.ratio_c = forest_.ratio_c;
    result_.base = forest_.base;
    result_.base.resize(forest_.columns, 0.0);
    result_.trees_of.assign(forest_.columns, 0.0);
    for (const Tree& tree : forest_.trees) {
      if (tree.leaf_vectors.empty()) {
        result_.trees_of[tree.column]++;
      } else {
        for (double& count : result_.trees_of) count++;
      }
    }
    result_.trees.reserve(forest_.trees.size());
  }

  static TreeShape ShapeOf(const Facts& facts) {
    if (facts.plain) return TreeShape::kPlain;
    if (facts.levels <= kTopLevels) return TreeShape::kTop;
    const bool complete = facts.levels <= kAlwaysComplete ||
                          (facts.levels <= kMostCompleteLevels &&
                           (size_t{1} << facts.levels) <= kMostPadding * facts.leaves);
    return complete ? TreeShape::kBlocks : TreeShape::kLinked;
  }

  void Add(size_t number) {
    const Tree& tree = forest_.trees[number];
    const Facts& facts = facts_[number];
    CompiledTree& made = result_.trees.emplace_back();
    made.shape = ShapeOf(facts);
    made.column = tree.column;
    made.levels = facts.levels;
    AddLeafKind(tree, &made);
    result_.steps += facts.levels + 1;
    if (made.shape == TreeShape::kPlain) return AddPlain(tree, &made);
    const uint32_t complete =
        made.shape == TreeShape::kLinked ? kTopLevels : facts.levels;  // levels
    Place(tree, complete);
    AddTop(tree, &made);
    switch (made.shape) {
      case TreeShape::kBlocks:
        AddBlocks(tree, &made);
        break;
      case TreeShape::kLinked:
        return AddLinks(tree, &made);
      default:
        break;
    }
    for (size_t i = size_t{1} << complete; i < placed_.size(); i++) AddLeaf(tree, placed_[i]);
  }

  // Marks the trees of a part that are followed by trees like them.
  void MarkAlike(size_t first, size_t past) {
    size_t run = 0;
    for (size_t i = past; i-- > first;) {
      CompiledTree& tree = result_.trees[i];
      const bool same =
          run > 0 && tree.shape == result_.trees[i + 1].shape &&
          (tree.shape == TreeShape::kLinked || tree.levels == result_.trees[i + 1].levels);
      run = tree.shape == TreeShape::kPlain ? 0 : same ? run + 1 : 1;
      tree.alike = run >= kAlike;
    }
  }

  void AddLeafKind(const Tree& tree, CompiledTree* made) {
    if (!tree.linear_leaves.empty()) {
      made->leaf_kind = LeafKind::kLinear;
      made->leaves = result_.leaf_places.size();
      made->first_place = result_.linear_leaves.size();
      const size_t terms = result_.linear_terms.size();
      for (const LinearLeaf& leaf : tree.linear_leaves) {
        result_.linear_leaves.push_back({leaf.constant, 0, terms + leaf.first_term, leaf.terms});
      }
      for (const Node& node : tree.nodes) {
        if (node.test != Node::Test::kLeaf) continue;
        result_.linear_leaves[made->first_place + node.vector].value = node.value;
      }
      result_.linear_terms.insert(result_.linear_terms.end(), tree.linear_terms.begin(),
                                  tree.linear_terms.end());
    } else if (!tree.leaf_vectors.empty()) {
      made->leaf_kind = LeafKind::kVector;
      made->leaves = result_.leaf_places.size();
      made->first_place = result_.leaf_vectors.size();
      result_.leaf_vectors.insert(result_.leaf_vectors.end(), tree.leaf_vectors.begin(),
                                  tree.leaf_vectors.end());
    } else {
      made->leaves =
          forest_.float_sums ? result_.float_leaves.size() : result_.double_leaves.size();
    }
  }

  // Gives each node of the top `levels` levels its position in a complete tree. Leaves are
  // repeated on all levels below them.
  void Place(const Tree& tree, uint32_t levels) {
    placed_.assign(size_t{2} << levels, 0);
    for (size_t i = 1; i < size_t{1} << levels; i++) {
      const Node& node = tree.nodes[placed_[i]];
      const bool leaf = node.test == Node::Test::kLeaf;
      placed_[2 * i] = leaf ? placed_[i] : node.left;
      placed_[2 * i + 1] = leaf ? placed_[i] : node.right;
    }
  }

  uint32_t WordAt(const Tree& tree, size_t position) const {
    const Node& node = tree.nodes[placed_[position]];
    return node.test == Node::Test::kLeaf ? kAlwaysLeft : builder_.WordOf(node);
  }

  void AddTop(const Tree& tree, CompiledTree* made) {
    made->top_levels = static_cast<uint8_t>(std::min(made->levels, kTopLevels));
    made->top = result_.top_nodes.size();
    result_.top_nodes.emplace_back();
    for (size_t i = 1; i < size_t{1} << made->top_levels; i++) {
      const uint32_t word = WordAt(tree, i);
      const uint32_t above = (word >> 16) + 1;  // kMostRank + 1 fits
      result_.top_nodes.push_back({(above & 0xffff) << 16 | (above & 0xffff), word & 0xffff});
    }
  }

  void AddBlocks(const Tree& tree, CompiledTree* made) {
    result_.words.resize((result_.words.size() + kWordsOfLine - 1) / kWordsOfLine * kWordsOfLine,
                         kAlwaysLeft);
    made->nodes = result_.words.size();
    for (uint32_t level = kTopLevels; level < made->levels;) {
      const uint32_t levels = std::min(made->levels - level, kBlockLevels);
      for (size_t root = size_t{1} << level; root < size_t{2} << level; root++) {
        result_.words.push_back(kAlwaysLeft);
        for (uint32_t below = 0; below < levels; below++) {
          for (size_t i = 0; i < size_t{1} << below; i++) {
            result_.words.push_back(WordAt(tree, (root << below) + i));
          }
        }
      }
      level += levels;
    }
  }

  void AddLinks(const Tree& tree, CompiledTree* made) {
    made->exits = result_.words.size();
    made->nodes = result_.links.size();
    made->levels -= kTopLevels;
    queue_.clear();
    for (size_t i = size_t{1} << kTopLevels; i < placed_.size(); i++) {
      if (queue_.empty() || queue_.back() != placed_[i]) queue_.push_back(placed_[i]);
      result_.words.push_back(static_cast<uint32_t>(queue_.size() - 1));
    }
    for (size_t at = 0; at < queue_.size(); at++) {
      const Node& node = tree.nodes[queue_[at]];
      AddLeaf(tree, queue_[at]);
      if (node.test == Node::Test::kLeaf) {
        result_.links.push_back({kAlwaysLeft, static_cast<uint32_t>(at)});
        continue;
      }
      result_.links.push_back({builder_.WordOf(node), static_cast<uint32_t>(queue_.size())});
      queue_.push_back(node.left);
      queue_.push_back(node.right);
    }
  }

  void AddPlain(const Tree& tree, CompiledTree* made) {
    made->nodes = result_.plain.size();
    const auto first_word = static_cast<uint32_t>(result_.category_words.size());
    result_.category_words.insert(result_.category_words.end(), tree.category_words.begin(),
                                  tree.category_words.end());
    queue_.assign(1, 0);
    for (size_t at = 0; at < queue_.size(); at++) {
      const Node& node = tree.nodes[queue_[at]];
      AddLeaf(tree, queue_[at]);
      PlainNode& plain = result_.plain.emplace_back();
      if (node.test == Node::Test::kLeaf) continue;
      plain.threshold = node.threshold;
      plain.feature = node.feature;
      plain.left = static_cast<uint32_t>(queue_.size());
      plain.is_category = node.test == Node::Test::kCategory;
      plain.missing_left = node.missing_left;
      plain.zero_is_missing = node.zero_is_missing;
      if (plain.is_category) {
        plain.first_word = first_word + node.first_word;
        plain.words = node.words;
      }
      queue_.push_back(node.left);
      queue_.push_back(node.right);
    }
  }

  // The value of inner nodes is never read.
  void AddLeaf(const Tree& tree, uint32_t position) {
    const Node& node = tree.nodes[position];
    const bool leaf = node.test == Node::Test::kLeaf;
    if (!tree.leaf_vectors.empty() || !tree.linear_leaves.empty()) {
      result_.leaf_places.push_back(leaf ? node.vector : 0);
    } else if (forest_.float_sums) {
      result_.float_leaves.push_back(leaf ? static_cast<float>(node.value) : 0.0F);
    } else {
      result_.double_leaves.push_back(leaf ? node.value : 0.0);
    }
  }

  const Forest& forest_;
  CompiledForest result_;
  std::vector<Facts> facts_;
  PartBuilder builder_;
  std::vector<uint32_t> placed_;  // by position in a complete tree: the node
  std::vector<uint32_t> queue_;   // nodes, in the order of their links
};

template <typename Vector>
size_t BytesOf(const Vector& vector) {
  return vector.capacity() * sizeof(typename Vector::value_type);
}

}  // namespace

size_t CompiledForest::bytes() const {
  size_t bytes = BytesOf(trees) + BytesOf(top_nodes) + BytesOf(words) + BytesOf(links) +
                 BytesOf(plain) + BytesOf(category_words) + BytesOf(float_leaves) +
                 BytesOf(double_leaves) + BytesOf(leaf_places) + BytesOf(leaf_vectors) +
                 BytesOf(linear_leaves) + BytesOf(linear_terms);
  for (const Part& part : parts) bytes += BytesOf(part.features) + BytesOf(part.thresholds);
  return bytes;
}

StatusOr<CompiledForest> Compile(const Forest& forest) {
  return Compiler(forest).Compile();
}

}  // namespace tritonts::fil
