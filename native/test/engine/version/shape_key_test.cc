// Shape keys: which requests a version may batch together.
#include "version_fixture.h"

namespace tritonts::test {

TEST(version_compares_nothing_where_all_dims_are_fixed) {
  VersionBench bench({}, ConfigOf(FloatIo()));
  Request* request = bench.requests.Floats({1, 2});
  bench.version().SetQueueKeys(request->header);
  CHECK(request->header->shape_key.empty());
}

TEST(version_compares_the_dims_of_variable_inputs_without_the_batch) {
  ModelIo io = FloatIo();
  io.inputs.push_back({"z", DataType::kFp32, {-1, 2, -1}, false});
  VersionBench bench({}, ConfigOf(io));
  Request* request = bench.requests.Add(4);
  bench.requests.Input(request, 0, DataType::kFp32, {4, 1}, "");
  bench.requests.Input(request, 1, DataType::kFp32, {4, 2, 5}, "");
  bench.version().SetQueueKeys(request->header);
  CHECK_EQ(request->header->shape_key, (std::vector<int64_t>{2, 5}));
}

TEST(version_compares_all_dims_where_there_is_no_batch_dimension) {
  VersionBench bench({}, ConfigOf(FloatIo(0)));
  Request* request = bench.requests.Floats({1, 2});
  bench.version().SetQueueKeys(request->header);
  CHECK_EQ(request->header->shape_key, (std::vector<int64_t>{2, 1}));
}

TEST(version_compares_which_inputs_are_there_where_some_are_optional) {
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, 1};
  io.inputs.push_back({"z", DataType::kFp32, {-1, 1}, true});
  VersionBench bench({}, ConfigOf(io));
  Request* one = bench.requests.Floats({1});
  Request* two = bench.requests.Floats({1});
  bench.requests.Input(two, 1, DataType::kFp32, {1, 1}, "");
  bench.version().SetQueueKeys(one->header);
  bench.version().SetQueueKeys(two->header);
  CHECK(one->header->shape_key != two->header->shape_key);
}

TEST(version_compares_the_values_of_shape_tensors_but_for_the_rows) {
  ModelIo io = FloatIo();
  io.inputs.push_back({"s", DataType::kInt32, {3}});
  io.inputs.back().rows_in_values = true;
  VersionBench bench({}, ConfigOf(io));
  const auto key = [&](const std::vector<int32_t>& values) {
    Request* request = bench.requests.Floats({1});
    bench.requests.Input(request, 1, DataType::kInt32, {3}, BytesOf(values));
    bench.version().SetQueueKeys(request->header);
    return request->header->shape_key;
  };
  CHECK_EQ(key({1, 4, -1}), (std::vector<int64_t>{3, 4, -1}));
  CHECK(key({2, 4, -1}) == key({1, 4, -1}));
  CHECK(key({1, 4, 1}) != key({1, 4, -1}));
}

}  // namespace tritonts::test
