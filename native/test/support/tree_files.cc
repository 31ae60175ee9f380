#include "tree_files.h"

#include <bit>
#include <cstdlib>
#include <limits>

namespace tritonts::test {

namespace {

// Writes UBJSON from the JSON that the tests have: without escapes or spaces.
class UbjWriter {
 public:
  UbjWriter(std::string_view json, bool typed) : rest_(json), typed_(typed) {}

  std::string Write() {
    Value();
    return out_;
  }

 private:
  template <typename T>
  void BigEndian(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    for (size_t i = sizeof(T); i-- > 0;) out_ += raw[i];
  }
  std::string_view Until(std::string_view ends) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(ends));
    rest_ = rest_.substr(word.size());
    return word;
  }
  std::string_view String() {
    rest_ = rest_.substr(1);
    const std::string_view text = Until("\"");
    rest_ = rest_.substr(1);
    return text;
  }
  void Text(std::string_view text) {
    out_ += 'L';
    BigEndian(static_cast<int64_t>(text.size()));
    out_ += text;
  }

  void Value() {
    if (rest_[0] == '{') {
      out_ += '{';
      while (rest_[0] != '}') {
        rest_ = rest_.substr(1);
        if (rest_[0] == '}') break;
        Text(String());
        rest_ = rest_.substr(1);
        Value();
      }
      rest_ = rest_.substr(1);
      out_ += '}';
    } else if (rest_[0] == '[') {
      Array();
    } else if (rest_[0] == '"') {
      out_ += 'S';
      Text(String());
    } else {
      Number(Until(",]}"), true);
    }
  }

  void Number(std::string_view word, bool marked) {
    const std::string text(word);
    if (text.find_first_of(".eN") == std::string::npos) {
      if (marked) out_ += 'l';
      BigEndian(static_cast<int32_t>(std::strtol(text.c_str(), nullptr, 10)));
    } else {
      if (marked) out_ += 'd';
      BigEndian(std::strtof(text.c_str(), nullptr));
    }
  }

  void Array() {
    const std::string_view inner = rest_.substr(1, rest_.find(']') - 1);
    const bool is_numbers = typed_ && !inner.empty() &&
                            inner.find_first_not_of("0123456789.,-eN a") == std::string::npos;
    out_ += '[';
    if (!is_numbers) {
      while (rest_[0] != ']') {
        rest_ = rest_.substr(1);
        if (rest_[0] != ']') Value();
      }
      out_ += ']';
    } else {
      const bool is_real = inner.find_first_of(".eN") != std::string_view::npos;
      int64_t count = 1;
      for (const char one : inner) count += one == ',' ? 1 : 0;
      out_ += is_real ? "$d#L" : "$l#L";
      BigEndian(count);
      while (rest_[0] != ']') {
        rest_ = rest_.substr(1);
        const std::string word(Until(",]"));
        if (is_real) {
          BigEndian(std::strtof(word.c_str(), nullptr));
        } else {
          BigEndian(static_cast<int32_t>(std::strtol(word.c_str(), nullptr, 10)));
        }
      }
    }
    rest_ = rest_.substr(1);
  }

  std::string_view rest_;
  bool typed_;
  std::string out_;
};

void LegacyTree(ByteWriter* out) {
  struct {
    int32_t parent, left, right;
    uint32_t feature;
    float value;
  } const nodes[] = {{-1, 1, 2, 0 | uint32_t{1} << 31, 0.5},
                     {0, -1, -1, 0, 1.5},
                     {0, 3, 4, 1, 2.5},
                     {2, -1, -1, 0, -2},
                     {2, -1, -1, 0, 4}};
  const float covers[] = {10, 4, 6, 1, 5};
  out->Value(int32_t{1}).Value(int32_t{5}).Value(int32_t{0}).Value(int32_t{0}).Value(int32_t{2});
  out->Value(int32_t{0}).Zeros(124);
  for (const auto& node : nodes) out->Value(node);
  for (const float cover : covers) {
    out->Value(0.0f).Value(cover).Value(0.0f).Value(int32_t{0});
  }
}

}  // namespace

std::string TreesAsJson() {
  return R"({"learner":{"attributes":{},"feature_names":[],"gradient_booster":{"model":{)"
         R"("gbtree_model_param":{"num_parallel_tree":"1","num_trees":"2"},"tree_info":[0,0],)"
         R"("trees":[{"base_weights":[0.5,1.5,0.5,-2.0,4.0],"categories":[1,33],)"
         R"("categories_nodes":[2],"categories_segments":[0],"categories_sizes":[2],)"
         R"("default_left":[1,0,1,0,0],"id":0,"left_children":[1,-1,3,-1,-1],)"
         R"("loss_changes":[0.5,0.0,1.5,0.0,0.0],"parents":[2147483647,0,0,2,2],)"
         R"("right_children":[2,-1,4,-1,-1],"split_conditions":[0.5,1.5,0.0,-2.0,4.0],)"
         R"("split_indices":[0,0,1,0,0],"split_type":[0,0,1,0,0],)"
         R"("sum_hessian":[10.0,4.0,6.0,1.0,5.0],"tree_param":{"num_deleted":"0",)"
         R"("num_feature":"2","num_nodes":"5","size_leaf_vector":"1"}},)"
         R"({"default_left":[0],"left_children":[-1],"right_children":[-1],)"
         R"("split_conditions":[0.25],"split_indices":[0],"tree_param":{"num_nodes":"1"}}]},)"
         R"("name":"gbtree"},"learner_model_param":{"base_score":"[5E-1]","num_class":"0",)"
         R"("num_feature":"2","num_target":"1"},"objective":{"name":"reg:squarederror"}},)"
         R"("version":[3,2,0]})";
}

std::string AsUbj(std::string_view json, bool typed) {
  return UbjWriter(json, typed).Write();
}

std::string TreesAsLegacy() {
  ByteWriter out;
  out.Value(0.5f).Value(uint32_t{2}).Value(int32_t{0}).Value(int32_t{1}).Value(int32_t{1});
  out.Value(uint32_t{1}).Value(uint32_t{7}).Value(uint32_t{1}).Zeros(104);
  out.Text("reg:squarederror").Text("gbtree");
  out.Value(int32_t{2}).Value(int32_t{1}).Value(int32_t{2}).Value(int32_t{0}).Value(int64_t{0});
  out.Zeros(136);
  LegacyTree(&out);
  LegacyTree(&out);
  out.Value(int32_t{0}).Value(int32_t{0});
  out.Value(uint64_t{1}).Text("best_iteration").Text("1");
  out.Value(uint64_t{1}).Text("rmse");
  return out.bytes();
}

std::string TreesAsLightgbm() {
  return "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
         "max_feature_idx=1\nobjective=regression\nfeature_names=a b\n"
         "feature_infos=[0:1] none\ntree_sizes=300 100\n\n"
         "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nsplit_gain=1 1\n"
         "threshold=0.5 0\ndecision_type=10 1\nleft_child=-1 -2\nright_child=1 -3\n"
         "leaf_value=1.5 4 -2\nleaf_weight=4 5 1\nleaf_count=4 5 1\n"
         "internal_value=0 0\ninternal_weight=0 0\ninternal_count=10 6\n"
         "cat_boundaries=0 2\ncat_threshold=2 2\nis_linear=0\nshrinkage=1\n\n\n"
         "Tree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\nis_linear=0\nshrinkage=1\n\n\n"
         "end of trees\n\nfeature_importances:\na=1\n\nparameters:\n[boosting: gbdt]\n"
         "end of parameters\n";
}

std::string TreesAsLinear() {
  return "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n"
         "objective=regression\ntree_sizes=200\n\nTree=0\nnum_leaves=2\nnum_cat=0\n"
         "split_feature=0\nthreshold=0.5\ndecision_type=8\nleft_child=-1\nright_child=-2\n"
         "leaf_value=7 10\nis_linear=1\nleaf_const=1 10\nnum_features=2 0\n"
         "leaf_features=0 1  \nleaf_coeff=2 3  \nshrinkage=1\n\n\nend of trees\n";
}

std::string TreesAsTreelite() {
  return TreeliteFile().Bytes();
}

std::string TreesAsOlderTreelite(bool is_double) {
  ByteWriter out;
  const uint8_t type = is_double ? 3 : 2;
  out.Value(int32_t{3}).Value(int32_t{9}).Value(int32_t{1}).Value(type).Value(type);
  out.Value(uint64_t{1}).Value(int32_t{2}).Value(uint8_t{0}).Value(uint8_t{0}).Zeros(4);
  out.Value(uint32_t{1}).Value(uint32_t{1});
  const std::string_view name = "identity";
  for (const char one : name) out.Value(one);
  out.Zeros(256 - name.size());
  out.Value(1.0f).Value(1.0f).Value(0.5f).Value(int32_t{0});
  out.Value(int32_t{5}).Value(uint8_t{1}).Value(uint64_t{5});
  const TreeliteFile file;
  for (size_t i = 0; i < file.type.size(); i++) {
    const uint32_t feature = file.type[i] == 0 ? 0 : static_cast<uint32_t>(file.feature[i]);
    out.Value(file.left[i]).Value(file.right[i]);
    out.Value(feature | static_cast<uint32_t>(file.default_left[i]) << 31);
    const float value = file.type[i] == 0 ? file.value[i] : file.threshold[i];
    if (is_double) {
      out.Zeros(4).Value(double{value});
    } else {
      out.Value(value);
    }
    out.Value(uint64_t{0}).Value(file.weight[i]).Value(0.0);
    out.Value(file.type[i]).Value(file.comparison[i]).Value(uint8_t{0}).Value(file.has_weight[i]);
    out.Value(uint8_t{0}).Value(file.set_is_right[i]).Zeros(2);
  }
  out.Array(file.vectors).Array(file.vector_begin).Array(file.vector_end).Array(file.categories);
  out.Array(std::vector<uint64_t>{0, 0, 0, 2, 2, 2});
  out.Value(int32_t{0}).Value(int32_t{0});
  return out.bytes();
}

std::string TreeliteFile::Bytes() const {
  ByteWriter out;
  out.Value(major).Value(minor).Value(patch).Value(threshold_type).Value(leaf_type).Value(trees);
  out.Value(features).Value(uint8_t{1}).Value(averages).Value(targets);
  out.Array(classes).Array(leaf_shape).Array(target_of_tree).Array(class_of_tree);
  out.Text(postprocessor).Value(sigmoid_alpha).Value(ratio_c).Array(base).Text("{}");
  out.Value(extensions);
  out.Value(nodes).Value(uint8_t{1}).Array(type).Array(left).Array(right).Array(feature);
  out.Array(default_left).Array(value).Array(threshold).Array(comparison).Array(set_is_right);
  out.Array(vectors).Array(vector_begin).Array(vector_end).Array(categories);
  out.Array(set_begin).Array(set_end);
  out.Array(data_count).Array(std::vector<uint8_t>(data_count.size(), 1));
  out.Array(weight).Array(has_weight);
  out.Array(std::vector<double>()).Array(std::vector<uint8_t>());
  out.Value(int32_t{0}).Value(int32_t{0});
  return out.bytes();
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) return "nothing replaced";
  return text.replace(at, from.size(), to);
}

}  // namespace tritonts::test
