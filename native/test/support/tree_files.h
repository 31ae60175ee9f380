// Small model files of trees in each format, for tests and for the fuzzer. All describe valid
// models.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tritonts::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// XGBoost's JSON: two features, and two trees. The first tree:
//
//   node 0: f0 < 0.5, NaN left
//     node 1: leaf 1.5
//     node 2: f1 in {1, 33} goes right, NaN left
//       node 3: leaf -2
//       node 4: leaf 4
//
// The second tree is the leaf 0.25. The base score is 0.5, and the objective reg:squarederror.
std::string TreesAsJson();
// The same as `json`, in UBJSON. Arrays of numbers have a type and a count if `typed`.
std::string AsUbj(std::string_view json, bool typed);
// XGBoost's binary format: the first tree, with f1 < 2.5 at node 2, twice.
std::string TreesAsLegacy();
// LightGBM's text: inner node 0 is f0 <= 0.5 with NaN left, and inner node 1 is f1 in {1, 33}.
std::string TreesAsLightgbm();
// LightGBM's text with one linear tree: f0 <= 0.5 ? 1 + 2 * f0 + 3 * f1 : 10.
std::string TreesAsLinear();
// Treelite's checkpoint of the first tree.
std::string TreesAsTreelite();
// The same as Treelite 3.9 wrote it. Its thresholds and leaves are double if `is_double`.
std::string TreesAsOlderTreelite(bool is_double);

// `text` with the first `from` replaced by `to`. It must be there.
std::string Replaced(std::string text, std::string_view from, std::string_view to);

// Writes the values of binary files.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& Value(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
    return *this;
  }
  template <typename T>
  ByteWriter& Array(const std::vector<T>& values) {
    Value(uint64_t{values.size()});
    for (const T& value : values) Value(value);
    return *this;
  }
  ByteWriter& Text(std::string_view text) {
    Value(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  ByteWriter& Zeros(size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The nodes of a checkpoint's tree, to be changed before they are written.
struct TreeliteFile {
  int32_t major = 4, minor = 8, patch = 1;
  uint8_t threshold_type = 2, leaf_type = 2;
  uint64_t trees = 1;
  int32_t features = 2;
  uint8_t averages = 0;
  int32_t targets = 1;
  std::vector<int32_t> classes{1}, leaf_shape{1, 1}, target_of_tree{0}, class_of_tree{0};
  std::string postprocessor = "identity";
  float sigmoid_alpha = 1, ratio_c = 1;
  std::vector<double> base{0.5};
  int32_t extensions = 0;
  // The tree.
  int32_t nodes = 5;
  std::vector<int8_t> type{1, 0, 2, 0, 0};
  std::vector<int32_t> left{1, -1, 3, -1, -1}, right{2, -1, 4, -1, -1}, feature{0, -1, 1, -1, -1};
  std::vector<uint8_t> default_left{1, 0, 1, 0, 0};
  std::vector<float> value{0, 1.5, 0, -2, 4}, threshold{0.5, 0, 0, 0, 0};
  std::vector<int8_t> comparison{2, 0, 0, 0, 0};
  std::vector<uint8_t> set_is_right{0, 0, 1, 0, 0};
  std::vector<float> vectors;
  std::vector<uint64_t> vector_begin{0, 0, 0, 0, 0}, vector_end{0, 0, 0, 0, 0};
  std::vector<uint32_t> categories{1, 33};
  std::vector<uint64_t> set_begin{0, 0, 0, 2, 2}, set_end{0, 0, 2, 2, 2};
  std::vector<uint64_t> data_count;
  std::vector<double> weight{10, 4, 6, 1, 5};
  std::vector<uint8_t> has_weight{1, 1, 1, 1, 1};

  std::string Bytes() const;
};

}  // namespace tritonts::test
