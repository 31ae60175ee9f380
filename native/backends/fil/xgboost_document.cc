// Reads the model that XGBoost writes as JSON or UBJSON. Members may come in any order, and most
// come before the names of the objective and the booster. So trees are made as they are read, and
// checked against the rest at the end.
#include <initializer_list>
#include <string>
#include <utility>

#include "read_number.h"
#include "readers.h"
#include "refusal.h"
#include "xgboost_model.h"
#include "xgboost_tree.h"

namespace tritonts::fil {

namespace {

// Which of an object's members were there.
class Seen {
 public:
  // Notes a member, which must not have been there yet.
  void Note(const Document& document, uint32_t member) {
    if ((seen_ >> member & 1) != 0) Refuse(document.Place() + ": it is there twice");
    seen_ |= uint32_t{1} << member;
  }
  bool Has(uint32_t member) const { return (seen_ >> member & 1) != 0; }
  // Throws unless these members were there.
  void Require(const std::string& object,
               std::initializer_list<std::pair<uint32_t, const char*>> all) const {
    for (const auto& [member, name] : all) {
      if (!Has(member)) Refuse(object + ": expected a member '" + name + "', but there is none");
    }
  }

 private:
  uint32_t seen_ = 0;
};

class DocumentReader {
 public:
  DocumentReader(Document* document, size_t file_size)
      : in_(*document), file_size_(file_size), maker_(file_size, &model_) {}

  Forest Read() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "learner") {
        seen.Note(in_, 0);
        ReadLearner();
      } else {
        in_.Skip();
      }
    }
    in_.End();
    seen.Require("the document, which should be XGBoost's model", {{0, "learner"}});
    return FinishXgboost(std::move(model_), file_size_);
  }

 private:
  void ReadLearner() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "learner_model_param") {
        seen.Note(in_, 0);
        ReadParameters();
      } else if (name == "objective") {
        seen.Note(in_, 1);
        ReadObjective();
      } else if (name == "gradient_booster") {
        seen.Note(in_, 2);
        ReadBooster();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner",
                 {{0, "learner_model_param"}, {1, "objective"}, {2, "gradient_booster"}});
  }

  void ReadParameters() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "base_score") {
        seen.Note(in_, 0);
        ReadBaseScore();
      } else if (name == "num_class") {
        seen.Note(in_, 1);
        model_.classes = ReadCount();
      } else if (name == "num_feature") {
        seen.Note(in_, 2);
        model_.features = ReadCount();
      } else if (name == "num_target") {
        seen.Note(in_, 3);
        model_.targets = ReadCount();
      } else {
        in_.Skip();
      }
    }
    // Files before 1.6 have no num_target.
    seen.Require("learner.learner_model_param",
                 {{0, "base_score"}, {1, "num_class"}, {2, "num_feature"}});
  }

  // A number, or since 3.1 an array of numbers; both as text.
  void ReadBaseScore() {
    const std::string text = in_.Text();
    std::string_view rest = text;
    const bool is_array = rest.size() >= 2 && rest.front() == '[' && rest.back() == ']';
    if (is_array) rest = rest.substr(1, rest.size() - 2);
    while (true) {
      const size_t comma = is_array ? rest.find(',') : std::string_view::npos;
      std::string_view number = rest.substr(0, comma);
      while (!number.empty() && number.front() == ' ') number.remove_prefix(1);
      while (!number.empty() && number.back() == ' ') number.remove_suffix(1);
      float score = 0;
      if (!ReadWhole(number, &score)) {
        Refuse(in_.Place() + ": expected a number or an array of numbers, but " + Shown(text) +
               " came");
      }
      model_.base_scores.push_back(score);
      if (comma == std::string_view::npos) return;
      rest = rest.substr(comma + 1);
    }
  }

  // A whole number that is not negative, as text.
  uint64_t ReadCount() {
    const std::string text = in_.Text();
    uint64_t count = 0;
    if (!ReadWhole(text, &count)) {
      Refuse(in_.Place() + ": expected a whole number in quotes, but " + Shown(text) + " came");
    }
    return count;
  }

  void ReadObjective() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "name") {
        seen.Note(in_, 0);
        model_.objective = in_.Text();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.objective", {{0, "name"}});
  }

  void ReadBooster() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "name") {
        seen.Note(in_, 0);
        model_.booster = in_.Text();
        CheckBooster(model_.booster);
      } else if (name == "model") {
        seen.Note(in_, 1);
        ReadModel();
      } else if (name == "gbtree") {
        // The trees of dart.
        seen.Note(in_, 2);
        ReadInnerBooster();
      } else if (name == "weight_drop") {
        seen.Note(in_, 3);
        in_.Read(&model_.weights);
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster", {{0, "name"}});
    if (model_.booster == "dart") {
      seen.Require("learner.gradient_booster", {{2, "gbtree"}, {3, "weight_drop"}});
    } else {
      seen.Require("learner.gradient_booster", {{1, "model"}});
    }
    if (!has_trees_) {
      Refuse("learner.gradient_booster: expected the trees of the model, but there are none");
    }
  }

  void ReadInnerBooster() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "model") {
        seen.Note(in_, 0);
        ReadModel();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster.gbtree", {{0, "model"}});
  }

  // What gblinear has in its place lacks these members. Its name may come later.
  void ReadModel() {
    in_.BeginObject();
    Seen seen;
    bool is_other = false;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "trees") {
        seen.Note(in_, 0);
        if (has_trees_) Refuse(in_.Place() + ": the document has trees already");
        has_trees_ = true;
        ReadTrees();
      } else if (name == "tree_info") {
        seen.Note(in_, 1);
        in_.Read(&model_.tree_columns);
      } else if (name == "gbtree_model_param") {
        seen.Note(in_, 2);
        ReadTreeCount();
      } else {
        is_other = is_other || name == "weights";
        in_.Skip();
      }
    }
    if (is_other && !has_trees_) return;
    seen.Require("learner.gradient_booster.model",
                 {{0, "trees"}, {1, "tree_info"}, {2, "gbtree_model_param"}});
    if (tree_count_ != model_.trees.size()) {
      Refuse("learner.gradient_booster.model: num_trees is " + std::to_string(tree_count_) +
             ", but there are " + std::to_string(model_.trees.size()) + " trees");
    }
  }

  void ReadTreeCount() {
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "num_trees") {
        seen.Note(in_, 0);
        tree_count_ = ReadCount();
      } else {
        in_.Skip();
      }
    }
    seen.Require("learner.gradient_booster.model.gbtree_model_param", {{0, "num_trees"}});
  }

  void ReadTrees() {
    in_.BeginArray();
    while (in_.NextElement()) {
      ReadTree();
      model_.trees.push_back(maker_.Make());
    }
  }

  // Fills the maker's columns.
  void ReadTree() {
    enum : uint32_t {
      kParam,
      kLeft,
      kRight,
      kFeature,
      kCondition,
      kDefault,
      kType,
      kWeight,
      kCover,
      kCategories,
      kCategoryNodes,
      kCategoryBegins,
      kCategorySizes,
      kLeafWeights,
    };
    XgboostTreeColumns& c = maker_.columns;
    // Not all of these members need be there.
    c.is_category.clear();
    c.weight.clear();
    c.cover.clear();
    c.categories.clear();
    c.category_nodes.clear();
    c.category_begins.clear();
    c.category_sizes.clear();
    c.leaf_weights.clear();
    in_.BeginObject();
    Seen seen;
    const auto read = [&](uint32_t member, auto* numbers) {
      seen.Note(in_, member);
      in_.Read(numbers);
    };
    for (std::string name; in_.NextMember(&name);) {
      if (name == "left_children") {
        read(kLeft, &c.left);
      } else if (name == "right_children") {
        read(kRight, &c.right);
      } else if (name == "split_indices") {
        read(kFeature, &c.feature);
      } else if (name == "split_conditions") {
        read(kCondition, &c.condition);
      } else if (name == "default_left") {
        read(kDefault, &c.default_left);
      } else if (name == "split_type") {
        read(kType, &c.is_category);
      } else if (name == "base_weights") {
        read(kWeight, &c.weight);
      } else if (name == "sum_hessian") {
        read(kCover, &c.cover);
      } else if (name == "categories") {
        read(kCategories, &c.categories);
      } else if (name == "categories_nodes") {
        read(kCategoryNodes, &c.category_nodes);
      } else if (name == "categories_segments") {
        read(kCategoryBegins, &c.category_begins);
      } else if (name == "categories_sizes") {
        read(kCategorySizes, &c.category_sizes);
      } else if (name == "leaf_weights") {
        read(kLeafWeights, &c.leaf_weights);
      } else if (name == "tree_param") {
        seen.Note(in_, kParam);
        ReadTreeParameters();
      } else {
        in_.Skip();
      }
    }
    const std::string tree = maker_.name();
    seen.Require(tree, {{kParam, "tree_param"},
                        {kLeft, "left_children"},
                        {kRight, "right_children"},
                        {kFeature, "split_indices"},
                        {kCondition, "split_conditions"},
                        {kDefault, "default_left"}});
    const auto check = [&](const char* name, size_t size) {
      if (size != static_cast<uint64_t>(c.nodes)) {
        Refuse(tree + ": " + name + " has " + std::to_string(size) + " numbers, but num_nodes is " +
               std::to_string(c.nodes));
      }
    };
    check("left_children", c.left.size());
    check("right_children", c.right.size());
    check("split_indices", c.feature.size());
    check("split_conditions", c.condition.size());
    check("default_left", c.default_left.size());
    if (!c.is_category.empty()) check("split_type", c.is_category.size());
    if (!c.cover.empty()) check("sum_hessian", c.cover.size());
  }

  void ReadTreeParameters() {
    maker_.columns.leaf_size = 0;
    in_.BeginObject();
    Seen seen;
    for (std::string name; in_.NextMember(&name);) {
      if (name == "num_nodes") {
        seen.Note(in_, 0);
        maker_.columns.nodes = ReadSize();
      } else if (name == "size_leaf_vector") {
        seen.Note(in_, 1);
        maker_.columns.leaf_size = ReadSize();
      } else {
        in_.Skip();
      }
    }
    seen.Require(maker_.name() + ", tree_param", {{0, "num_nodes"}});
  }

  int64_t ReadSize() {
    const uint64_t size = ReadCount();
    if (size > 0x7fffffff) {
      Refuse(in_.Place() + ": expected at most 2147483647, but " + std::to_string(size) + " came");
    }
    return static_cast<int64_t>(size);
  }

  Document& in_;
  size_t file_size_;
  XgboostModel model_;
  XgboostTreeMaker maker_;
  bool has_trees_ = false;
  uint64_t tree_count_ = 0;
};

}  // namespace

Forest ReadXgboostDocument(Document* document, size_t file_size) {
  return DocumentReader(document, file_size).Read();
}

}  // namespace tritonts::fil
