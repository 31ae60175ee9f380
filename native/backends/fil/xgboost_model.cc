#include "xgboost_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "refusal.h"

namespace tritonts::fil {

namespace {

// What turns a base score of the output's kind into a margin.
enum class ScoreLink : uint8_t { kIdentity, kLogit, kLog };

struct XgboostObjective {
  std::string_view name;
  Transform transform;
  ScoreLink link;
};

constexpr XgboostObjective kXgboostObjectives[] = {
    {"reg:squarederror", Transform::kIdentity, ScoreLink::kIdentity},
    {"reg:linear", Transform::kIdentity, ScoreLink::kIdentity},  // its name before 0.90
    {"reg:squaredlogerror", Transform::kIdentity, ScoreLink::kIdentity},
    {"reg:logistic", Transform::kSigmoid, ScoreLink::kLogit},
    {"reg:pseudohubererror", Transform::kIdentity, ScoreLink::kIdentity},
    {"reg:absoluteerror", Transform::kIdentity, ScoreLink::kIdentity},
    {"reg:quantileerror", Transform::kIdentity, ScoreLink::kIdentity},
    {"reg:gamma", Transform::kExp, ScoreLink::kLog},
    {"reg:tweedie", Transform::kExp, ScoreLink::kLog},
    {"binary:logistic", Transform::kSigmoid, ScoreLink::kLogit},
    {"binary:logitraw", Transform::kIdentity, ScoreLink::kIdentity},
    {"binary:hinge", Transform::kHinge, ScoreLink::kIdentity},
    {"count:poisson", Transform::kExp, ScoreLink::kLog},
    {"survival:cox", Transform::kExp, ScoreLink::kLog},
    {"survival:aft", Transform::kExp, ScoreLink::kLog},
    {"multi:softmax", Transform::kMaxIndex, ScoreLink::kIdentity},
    {"multi:softprob", Transform::kSoftmax, ScoreLink::kIdentity},
    {"rank:pairwise", Transform::kIdentity, ScoreLink::kIdentity},
    {"rank:ndcg", Transform::kIdentity, ScoreLink::kIdentity},
    {"rank:map", Transform::kIdentity, ScoreLink::kIdentity},
};

const XgboostObjective& XgboostObjectiveOf(const std::string& name) {
  std::string known;
  for (const XgboostObjective& objective : kXgboostObjectives) {
    if (objective.name == name) return objective;
    known += (known.empty() ? "" : ", ") + std::string(objective.name);
  }
  RefuseUnsupported("the objective " + Shown(name) + " is not supported: expected one of " + known);
}

double Margin(const XgboostObjective& objective, float score) {
  // In float, as XGBoost.
  const bool fits = objective.link == ScoreLink::kIdentity ? std::isfinite(score)
                    : objective.link == ScoreLink::kLogit  ? score > 0 && score < 1
                                                           : score > 0 && std::isfinite(score);
  if (!fits) {
    Refuse("base_score is " + std::to_string(score) + ": expected " +
           (objective.link == ScoreLink::kIdentity ? "a finite number"
            : objective.link == ScoreLink::kLogit  ? "a number between 0 and 1"
                                                   : "a positive number") +
           " with the objective " + std::string(objective.name));
  }
  if (objective.link == ScoreLink::kLogit) return -std::log(1.0f / score - 1.0f);
  if (objective.link == ScoreLink::kLog) return std::log(score);
  return score;
}

// Multiplies the leaves of dropped trees, in float, as XGBoost.
void Weigh(float weight, Tree* tree) {
  const auto product = [weight](double value) {
    return static_cast<double>(static_cast<float>(value) * weight);
  };
  for (Node& node : tree->nodes) {
    if (node.test == Node::Test::kLeaf) node.value = product(node.value);
  }
  for (double& value : tree->leaf_vectors) value = product(value);
}

std::vector<double> BaseOf(const XgboostModel& model, uint32_t columns) {
  const XgboostObjective& objective = XgboostObjectiveOf(model.objective);
  const size_t count = model.base_scores.size();
  if (count != 1 && count != columns) {
    Refuse("base_score has " + std::to_string(count) +
           " numbers: expected one, or one for each of " + std::to_string(columns) + " columns");
  }
  std::vector<double> base(columns);
  for (size_t i = 0; i < columns; i++) {
    const float score = model.base_scores[count == 1 ? 0 : i];
    base[i] = model.base_is_margin ? score : Margin(objective, score);
  }
  return base;
}

}  // namespace

void CheckBooster(const std::string& name) {
  if (name == "gbtree" || name == "dart") return;
  RefuseUnsupported("the booster " + Shown(name) + " is not supported: expected gbtree or dart");
}

uint32_t ColumnsOf(const XgboostModel& model, size_t file_size) {
  if (model.targets > 1) {
    RefuseUnsupported("multi-target models are not supported: num_target is " +
                      std::to_string(model.targets));
  }
  const uint64_t columns = std::max<uint64_t>(model.classes, 1);
  if (columns > file_size) {
    Refuse("num_class is " + std::to_string(columns) + ": expected at most one for each of the " +
           std::to_string(file_size) + " bytes of the file");
  }
  return static_cast<uint32_t>(columns);
}

Forest FinishXgboost(XgboostModel model, size_t file_size) {
  CheckBooster(model.booster);
  Forest forest;
  forest.columns = ColumnsOf(model, file_size);
  forest.transform = XgboostObjectiveOf(model.objective).transform;
  if (forest.transform == Transform::kMaxIndex && forest.columns == 1) {
    Refuse("num_class is " + std::to_string(model.classes) +
           ": expected at least 2 with the objective " + model.objective);
  }
  forest.base = BaseOf(model, forest.columns);
  constexpr uint64_t kMostFeatures = 0x7fffffff;
  if (model.features > kMostFeatures) {
    Refuse("num_feature is " + std::to_string(model.features) + ": expected at most " +
           std::to_string(kMostFeatures));
  }
  forest.features = static_cast<uint32_t>(model.features);
  if (!model.largest_feature_place.empty() && model.largest_feature >= forest.features) {
    Refuse(model.largest_feature_place + ": its feature is " +
           std::to_string(model.largest_feature) + ", but the model has " +
           std::to_string(forest.features) + " features");
  }
  if (model.leaf_size != 0 && model.leaf_size != forest.columns) {
    Refuse("size_leaf_vector is " + std::to_string(model.leaf_size) + ", but the model has " +
           std::to_string(forest.columns) + " columns");
  }
  const size_t count = model.trees.size();
  if (model.tree_columns.size() != count) {
    Refuse("tree_info has " + std::to_string(model.tree_columns.size()) +
           " numbers: expected one for each of " + std::to_string(count) + " trees");
  }
  const bool is_dart = model.booster == "dart";
  if (is_dart && model.weights.size() != count) {
    Refuse("weight_drop has " + std::to_string(model.weights.size()) +
           " numbers: expected one for each of " + std::to_string(count) + " trees");
  }
  for (size_t i = 0; i < count; i++) {
    const int32_t column = model.tree_columns[i];
    if (column < 0 || static_cast<uint32_t>(column) >= forest.columns) {
      Refuse("tree_info[" + std::to_string(i) + "] is " + std::to_string(column) +
             ": expected a column from 0 to " + std::to_string(forest.columns - 1));
    }
    Tree& tree = model.trees[i];
    if (tree.leaf_vectors.empty()) tree.column = static_cast<uint32_t>(column);
    if (is_dart) Weigh(model.weights[i], &tree);
  }
  forest.trees = std::move(model.trees);
  return forest;
}

}  // namespace tritonts::fil
