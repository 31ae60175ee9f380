// Finding tensors without a shape in an ONNX file.
#include "backends/onnxruntime/value_shapes.h"

#include <random>
#include <sstream>

#include "check.h"
#include "onnx_bytes.h"

namespace tritonts::test {

namespace {

using NameSet = std::set<std::string>;

NameSet Unshaped(const std::string& bytes) {
  std::istringstream stream(bytes);
  return onnxruntime::UnshapedValues(stream);
}

// A model that contains two tensors without a shape, after weights of this many bytes.
std::string ModelBytes(size_t weights) {
  return OnnxModelWriter()
      .Initializer("weights", kOnnxUint8, {static_cast<int64_t>(weights)},
                   std::string(weights, '\x7f'))
      .Input("open", UnshapedTensor(kOnnxFloat))
      .Input("scalar", Tensor(kOnnxFloat, {}))
      .Input("fixed", Tensor(kOnnxFloat, {2, -1}))
      .Input("list", Sequence(kOnnxFloat))
      .Node("Abs", {"open"}, {"y"})
      .Output("y", UnshapedTensor(kOnnxInt64))
      .Output("z", Tensor(kOnnxInt64, {1}))
      .Model();
}

}  // namespace

TEST(value_shapes_tells_tensors_without_a_shape) {
  for (const size_t weights : {0, 3, 100'000}) {
    CHECK_EQ(Unshaped(ModelBytes(weights)), (NameSet{"open", "y"}));
  }
}

TEST(value_shapes_passes_over_fields_of_every_kind_that_it_does_not_know) {
  const std::string before = Number(1, 8) + Varint(100 << 3 | 1) + std::string(8, '\xff') +
                             Varint(101 << 3 | 5) + std::string(4, '\xff') + Bytes(102, "text");
  CHECK_EQ(Unshaped(before + ModelBytes(1)), (NameSet{"open", "y"}));
}

TEST(value_shapes_tells_nothing_of_what_is_no_onnx_file) {
  CHECK_EQ(Unshaped(""), NameSet{});
  CHECK_EQ(Unshaped("this is no protobuf message"), NameSet{});
  CHECK_EQ(Unshaped(std::string(100, '\xff')), NameSet{});
  // A length beyond any file.
  CHECK_EQ(Unshaped(Varint(7 << 3 | 2) + Varint(~uint64_t{0}) + "rest"), NameSet{});
  std::istringstream missing;
  missing.setstate(std::ios::failbit);
  CHECK_EQ(onnxruntime::UnshapedValues(missing), NameSet{});
}

TEST(value_shapes_ends_on_every_part_and_every_damage_of_a_file) {
  const std::string model = ModelBytes(20);
  for (size_t size = 0; size < model.size(); size++) Unshaped(model.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; i++) {
    std::string damaged = model;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    // No name is longer than the file.
    for (const std::string& name : Unshaped(damaged)) CHECK(name.size() <= damaged.size());
  }
}

}  // namespace tritonts::test
