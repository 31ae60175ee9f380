// Shape tensors of plans with batching: their first value is the number of rows. The fake TensorRT
// rejects a batch whose other inputs have another number of rows (`rows s`,
// test/fakes/nvinfer_plan.cc).
#include "gpu_chain.h"
#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

// y has the dims in s, and each row consists of the first number of x's row.
constexpr char kExpand[] =
    "op expand\ninput x 0 0 0 -1 2\ninput s 3 1 0 2\noutput y 0 0 0 -1 -1\nrows s\n"
    "profile x 1 2 4 2 8 2\nvalues s 1 1 4 2 8 5\n";
// y is x plus the number of the profile, which the rows in s select.
constexpr char kByValues[] =
    "op profile\ninput x 0 0 0 -1 2\ninput s 3 1 0 2\noutput y 0 0 0 -1 2\nrows s\n"
    "profile x 1 2 4 2 8 2\nprofile x 1 2 4 2 8 2\nvalues s 1 1 1 2 2 5\nvalues s 3 1 4 2 8 5\n";
// y is a shape tensor: the dims of x.
constexpr char kShape[] = "op shape\ninput x 0 0 0 -1 2\noutput y 3 1 0 2\nprofile x 1 2 4 2 8 2\n";

TensorSpec ShapeSpec(const std::string& name, DataType type = DataType::kInt32) {
  TensorSpec spec{name, type, {2}};
  spec.rows_in_values = true;
  return spec;
}
TensorSpec FloatSpec(const std::string& name, int64_t width = 2) {
  return {name, DataType::kFp32, {-1, width}};
}
ModelIo ExpandIo(DataType type = DataType::kInt32) {
  return {8, {FloatSpec("x"), ShapeSpec("s", type)}, {FloatSpec("y", -1)}};
}
ModelIo ShapeIo() {
  return {8, {FloatSpec("x")}, {ShapeSpec("y")}};
}

std::string Values(DataType type, int64_t rows, int64_t width) {
  if (type == DataType::kInt64) return BytesOf(std::vector<int64_t>{rows, width});
  return BytesOf(std::vector<int32_t>{static_cast<int32_t>(rows), static_cast<int32_t>(width)});
}

std::vector<float> Flat(const std::vector<float>& firsts, size_t width, float behind = 0) {
  std::vector<float> values;
  for (const float first : firsts) {
    values.push_back(first);
    for (size_t i = 1; i < width; i++) values.push_back(behind == 0 ? first : behind);
  }
  return values;
}

// A request with rows that begin with these numbers, and the values [rows, width] unless `width` is
// 0.
Request* Make(Requests* requests, const std::vector<float>& firsts, int64_t width = 0,
              DataType type = DataType::kInt32) {
  const auto rows = static_cast<int64_t>(firsts.size());
  Request* const request = requests->Add(static_cast<uint32_t>(rows));
  requests->Input(request, 0, DataType::kFp32, {rows, 2}, BytesOf(Flat(firsts, 2, -1)));
  if (width > 0) requests->Input(request, 1, type, {2}, Values(type, rows, width));
  return request;
}

class BatchedBench : public VersionBench {
 public:
  BatchedBench(const std::string& plan, const ModelIo& io, DynamicPolicy policy,
               const std::string& which = "10",
               const std::map<std::string, std::string>& settings = {})
      : VersionBench(std::make_unique<TensorRtBackend>(),
                     PlanSpec("fake-plan " + Major(which) + "\n" + plan, "0", which, settings)) {
    VersionConfig config = OnGpus({0}, io);
    config.policy = std::move(policy);
    CHECK_EQ(version().Start(std::move(config)).message(), "");
  }
  // Whether a request was answered with rows of this width, filled with these numbers.
  bool Expanded(uint32_t slot, const std::vector<float>& firsts, int64_t width) {
    const SeenResponse seen = sink.Of(slot);
    CHECK_EQ(seen.status.message(), "");
    return seen.outputs.at(0).shape ==
               (std::vector<int64_t>{static_cast<int64_t>(firsts.size()), width}) &&
           FloatsOf(seen) == Flat(firsts, static_cast<size_t>(width));
  }
};

Status ConfigureStatus(const std::string& plan, const ModelIo& io, uint32_t most) {
  auto model = TensorRtBackend().Load(PlanSpec("fake-plan 10\n" + plan));
  CHECK_EQ(model.value()->Describe().most_rows.value_or(99), most);
  return model.value()->Configure(io, "{}");
}

}  // namespace

TEST(tensorrt_batches_requests_whose_shape_tensors_are_equal_but_for_the_rows) {
  for (const char* which : {"10", "10.16", "11"}) {
    for (const DataType type : {DataType::kInt32, DataType::kInt64}) {
      std::string plan = kExpand;
      if (type == DataType::kInt64) plan.replace(plan.find("s 3"), 3, "s 8");
      BatchedBench bench(plan, ExpandIo(type), Dynamic(8, {4}, kLong), which);
      bench.Submit({Make(&bench.requests, {1}, 3, type), Make(&bench.requests, {2, 3}, 3, type),
                    Make(&bench.requests, {4}, 3, type)});
      CHECK(bench.sink.Wait(3));
      CHECK(bench.Expanded(0, {1}, 3));
      CHECK(bench.Expanded(1, {2, 3}, 3));
      CHECK(bench.Expanded(2, {4}, 3));
      for (uint32_t i = 0; i < 3; i++) CHECK_EQ(bench.sink.Of(i).timings.batch_size, 4u);
    }
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_runs_requests_with_other_values_in_shape_tensors_apart) {
  BatchedBench bench(kExpand, ExpandIo(), Dynamic(8, {2}, kLong));
  bench.Submit({Make(&bench.requests, {1}, 3), Make(&bench.requests, {2}, 4),
                Make(&bench.requests, {3}, 4)});
  CHECK(bench.sink.Wait(3));
  CHECK(bench.Expanded(0, {1}, 3));
  CHECK(bench.Expanded(1, {2}, 4));
  CHECK(bench.Expanded(2, {3}, 4));
  CHECK_EQ(bench.sink.Of(0).timings.batch_size, 1u);
  CHECK_EQ(bench.sink.Of(2).timings.batch_size, 2u);
}

TEST(tensorrt_chooses_profiles_by_the_rows_in_shape_tensors) {
  BatchedBench bench(kByValues, {8, {FloatSpec("x"), ShapeSpec("s")}, {FloatSpec("y")}},
                     Dynamic(8, {3}, kLong), "10", {{"profiles", "0,1"}});
  bench.Submit({Make(&bench.requests, {1}, 2), Make(&bench.requests, {2, 3}, 2)});
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(bench.sink.Of(0).status.message(), "");
  CHECK_EQ(FloatsOf(bench.sink.Of(0)).at(0), 2.f);
  // Profile 0 takes a single row.
  bench.Submit({Make(&bench.requests, {1}, 2), Make(&bench.requests, {1}, 6),
                Make(&bench.requests, {1, 1, 1}, 2)});
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(FloatsOf(bench.sink.Of(2)).at(0), 1.f);
  CHECK_EQ(bench.sink.Of(3).status.code(), Code::kInvalidArg);
  CHECK_EQ(bench.sink.Of(3).status.message(),
           "model 'm': input 's': the batch has the values [1,6], but profile 0 of the plan takes "
           "[1,1] to [2,5]; input 's': the batch has the values [1,6], but profile 1 of the plan "
           "takes [3,1] to [8,5]");
}

TEST(tensorrt_gives_each_request_its_own_rows_in_output_shape_tensors) {
  BatchedBench bench(kShape, ShapeIo(), Dynamic(8, {4}, kLong));
  bench.Submit(
      {Make(&bench.requests, {1}), Make(&bench.requests, {2, 3}), Make(&bench.requests, {4})});
  CHECK(bench.sink.Wait(3));
  for (uint32_t i = 0; i < 3; i++) {
    const SeenResponse seen = bench.sink.Of(i);
    CHECK_EQ(seen.status.message(), "");
    CHECK_EQ(seen.timings.batch_size, 4u);
    CHECK(seen.outputs.at(0).shape == (std::vector<int64_t>{2}));
    CHECK(seen.outputs.at(0).bytes == Values(DataType::kInt32, i == 1 ? 2 : 1, 2));
  }
}

TEST(tensorrt_says_that_an_output_shape_tensor_has_not_the_rows_of_the_batch) {
  BatchedBench bench(std::string(kShape) + "weights 1\n", ShapeIo(), Dynamic(8));
  bench.Submit({Make(&bench.requests, {1, 2})});
  CHECK(bench.sink.Wait(1));
  CHECK_EQ(bench.sink.Of(0).status.code(), Code::kInternal);
  CHECK_EQ(bench.sink.Of(0).status.message(),
           "model 'm': output 'y': the model returned 3 as its first value for a batch of 2 rows");
}

TEST(tensorrt_tells_what_plans_with_shape_tensors_can_be_batched) {
  CHECK_EQ(ConfigureStatus(kExpand, ExpandIo(), 8).message(), "");
  // A profile's values limit the rows, too.
  std::string fewer = kExpand;
  fewer.replace(fewer.find("8 5\n"), 4, "6 5\n");
  CHECK(ConfigureStatus(fewer, ExpandIo(), 6).message().find("take at most 6 rows") !=
        std::string::npos);
  ModelIo plain = ExpandIo();
  plain.inputs[1].rows_in_values = false;
  CHECK_EQ(ConfigureStatus(kExpand, plain, 8).message(),
           "input 's' is a shape tensor of the plan: in a model that batches it must have "
           "is_shape_tensor: true");
  ModelIo both = ExpandIo();
  both.inputs[0].rows_in_values = true;
  CHECK_EQ(ConfigureStatus(kExpand, both, 8).message(),
           "input 'x' has is_shape_tensor: true, but is no shape tensor of the plan");
  // A single value leaves none besides the rows, and shape tensors alone have no rows.
  CHECK(!ConfigureStatus("op fill\ninput x 0 0 0 -1 2\ninput s 3 1 0 1\noutput y 0 0 0 -1\n"
                         "values s 1 4 8\n",
                         ExpandIo(), 0)
             .ok());
  CHECK(!ConfigureStatus("op fill\ninput s 3 1 0 2\noutput y 0 0 0 -1 -1\nvalues s 1 1 4 2 8 5\n",
                         ExpandIo(), 0)
             .ok());
}

namespace {

// Requests with one header but different values, possible in a group of an ensemble's callers.
struct ValuesGroup {
  explicit ValuesGroup(ResponseSink* sink) {
    header.sink = sink;
    header.requests = 2;
    for (const size_t number : {0u, 1u}) {
      InputTensor& input = header.AddInput();
      input.index = static_cast<uint32_t>(number);
      input.datatype = number == 0 ? DataType::kFp32 : DataType::kInt32;
      input.shape = number == 0 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2};
      void* const data = number == 0 ? static_cast<void*>(floats.data()) : values.data();
      input.first_chunks.push_back({data, 8, MemoryKind::kHost, 0, {}});
    }
    for (uint32_t i = 0; i < 2; i++) {
      requests[i].header = &header;
      requests[i].position = i;
    }
  }
  std::vector<float> floats{1, -1, 2, -1};
  std::vector<int32_t> values{1, 3, 1, 4};
  RequestHeader header;
  std::array<Request, 2> requests;
};

// x --> shape (values t), and x with t, or with the caller's s, --> expand
EnsemblePlan ExpandPlan(bool given) {
  EnsemblePlan plan;
  plan.io = ExpandIo();
  if (!given) plan.io.inputs.pop_back();
  plan.tensors = 3;
  plan.outputs = {2};
  if (given) {
    plan.steps = {{"m", {{"x", 0}, {"s", 1}}, {{"y", 2}}}};
  } else {
    plan.steps = {{"m", {{"x", 0}}, {{"y", 1}}}, {"m", {{"x", 0}, {"s", 1}}, {{"y", 2}}}};
  }
  return plan;
}
ChainStep StepOf(const std::string& plan, const ModelIo& io) {
  ChainStep step{"fake-plan 10\n" + plan};
  step.io = io;
  return step;
}

}  // namespace

TEST(ensembles_send_requests_of_a_group_apart_to_steps_with_shape_tensors) {
  GpuChain chain({StepOf(kExpand, ExpandIo())}, ExpandPlan(true));
  ValuesGroup group(&chain.sink);
  group.header.slot = 0;
  chain.Submit({&group.requests[0], &group.requests[1]});
  CHECK(chain.sink.Wait(2));
  std::vector<size_t> sizes;
  for (const SeenResponse& seen : chain.sink.responses()) {
    CHECK_EQ(seen.status.message(), "");
    const std::vector<float> values = FloatsOf(seen);
    sizes.push_back(values.size());
    CHECK(values == std::vector<float>(values.size(), values.size() == 3 ? 1.f : 2.f));
  }
  std::sort(sizes.begin(), sizes.end());
  CHECK(sizes == (std::vector<size_t>{3, 4}));
}

TEST(ensembles_pass_shape_tensors_from_step_to_step) {
  GpuChain chain({StepOf(kShape, ShapeIo()), StepOf(kExpand, ExpandIo())}, ExpandPlan(false));
  chain.Submit({Make(&chain.requests, {5}), Make(&chain.requests, {6, 7})});
  CHECK(chain.sink.Wait(2));
  CHECK_EQ(chain.sink.Of(0).status.message(), "");
  CHECK(FloatsOf(chain.sink.Of(0)) == (std::vector<float>{5, 5}));
  CHECK(FloatsOf(chain.sink.Of(1)) == (std::vector<float>{6, 6, 7, 7}));
}

TEST(ensembles_refuse_a_first_value_that_is_not_the_rows) {
  GpuChain chain({StepOf(kExpand, ExpandIo())}, ExpandPlan(true));
  Request* const request = Make(&chain.requests, {1, 2});
  chain.requests.Input(request, 1, DataType::kInt32, {2}, Values(DataType::kInt32, 3, 4));
  chain.Submit({request});
  CHECK(chain.sink.Wait(1));
  CHECK_EQ(chain.sink.Of(0).status.code(), Code::kInvalidArg);
  CHECK_EQ(chain.sink.Of(0).status.message(),
           "in ensemble 'e', model 'm', input 's': expected its first value to be 2, the rows of "
           "the request, but received 3");
}

}  // namespace tritonts::test
