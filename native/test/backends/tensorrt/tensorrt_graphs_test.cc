// CUDA graphs of plans: which batches are enqueued by a graph, padding, and what cannot be
// recorded. Driver, GPUs and TensorRT are the fakes of test/fakes.
#include "backends/gpu/box.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

// y = x + 1 with up to 8 rows of 1 to 4096 numbers; the optimum is 4 rows of 3.
constexpr char kGraphPlan[] =
    "fake-plan 10\nop add\ninput x 0 0 0 -1 -1\noutput y 0 0 0 -1 -1\nprofile x 1 1 4 3 8 4096\n";

ModelIo GraphIo(uint32_t most = 8) {
  return {most, {{"x", DataType::kFp32, {-1, -1}}}, {{"y", DataType::kFp32, {-1, -1}}}};
}

ModelSpec WithGraphs(const std::string& specs, std::map<std::string, std::string> more = {},
                     const std::string& plan = kGraphPlan) {
  ModelSpec spec = PlanSpec(plan);
  more["graphs"] = "true";
  if (!specs.empty()) more["graph_specs"] = specs;
  spec.settings.merge(more);
  return spec;
}

class GraphBench : public VersionBench {
 public:
  explicit GraphBench(const ModelSpec& spec, const ModelIo& io = GraphIo())
      : VersionBench(std::make_unique<TensorRtBackend>(), spec) {
    const Status status = version().Start(OnGpus({0}, io));
    CHECK_EQ(status.message(), "");
  }
  // Submits a batch of the numbers from 0 on, and checks the response. Returns the number of graphs
  // launched for it.
  int64_t Run(uint32_t rows, int64_t width) {
    const int64_t before = CallsOf("cuGraphLaunch");
    const SeenResponse seen = Ask(rows, width);
    CHECK_EQ(seen.status.message(), "");
    CHECK(seen.outputs.at(0).shape == (std::vector<int64_t>{rows, width}));
    CHECK(seen.outputs.at(0).bytes == Numbers(rows * width, 1));
    return CallsOf("cuGraphLaunch") - before;
  }
  SeenResponse Ask(uint32_t rows, int64_t width) {
    Request* const request = requests.Add(rows);
    requests.Input(request, 0, DataType::kFp32, {static_cast<int64_t>(rows), width},
                   Numbers(rows * width, 0));
    Submit({request});
    CHECK(sink.Wait(++asked_));
    return sink.Of(static_cast<uint32_t>(asked_ - 1));
  }

 private:
  static std::string Numbers(int64_t count, float first) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; i++) numbers.push_back(static_cast<float>(i) + first);
    return tritonts::test::BytesOf(numbers);
  }
  size_t asked_ = 0;
};

int GraphCount() {
  return OfDriver<int()>("fakeCudaGraphs")();
}

// The error of starting a model with these graphs.
Status GraphStatus(const ModelSpec& spec, const ModelIo& io = GraphIo()) {
  auto model = TensorRtBackend().Load(spec);
  CHECK(model.ok());
  Status status = model.value()->Configure(io, "{}");
  if (status.ok())
    status = model.value()->CreateInstance({"m_0", 0, MemoryKind::kDevice, 0}).status();
  return status;
}

}  // namespace

TEST(tensorrt_graphs_of_the_default_are_one_row_small_sizes_and_the_largest_for_each_lane) {
  {
    GraphBench bench(WithGraphs(""), GraphIo(7));
    // 1, 2, 3, 4, 6 and 7 rows, in each of two lanes.
    CHECK_EQ(GraphCount(), 12);
    for (uint32_t rows = 1; rows <= 7; rows++) CHECK_EQ(bench.Run(rows, 3), rows == 5 ? 0 : 1);
    CHECK_EQ(bench.Run(2, 4), 0);
  }
  {
    const GraphBench bench(WithGraphs("", {{"preferred_batch_sizes", "5"}}));
    CHECK_EQ(GraphCount(), 6);
  }
  CHECK_EQ(GraphCount(), 0);
  CHECK(Objects() == kNone);
}

TEST(tensorrt_graphs_are_off_unless_they_are_asked_for) {
  const int64_t before = CallsOf("cuStreamBeginCapture_v2");
  ModelSpec spec = PlanSpec(kGraphPlan);
  spec.settings["graph_specs"] = "graph 2 2";
  GraphBench bench(spec);
  CHECK_EQ(bench.Run(2, 3), 0);
  CHECK_EQ(CallsOf("cuStreamBeginCapture_v2"), before);
}

TEST(tensorrt_graphs_of_a_spec_have_its_shapes_and_no_others) {
  GraphBench bench(WithGraphs("graph 2 2\ninput 5 5 x\ngraph 1 1"));
  CHECK_EQ(bench.Run(2, 5), 1);
  CHECK_EQ(bench.Run(1, 5), 0);
  CHECK_EQ(bench.Run(2, 3), 0);
  CHECK_EQ(bench.Run(1, 3), 1);
}

// Padding keeps each number of a request at its own indices.
TEST(tensorrt_graphs_with_a_lower_bound_take_smaller_batches_which_are_padded) {
  GraphBench bench(WithGraphs("graph 4 2\ninput 8 3 x\ngraph 8 5\ninput 8 8 x"));
  CHECK_EQ(bench.Run(4, 8), 1);
  CHECK_EQ(bench.Run(3, 8), 1);
  CHECK_EQ(bench.Run(2, 3), 1);
  CHECK_EQ(bench.Run(3, 5), 1);
  CHECK_EQ(bench.Run(6, 8), 1);
  CHECK_EQ(bench.Run(1, 8), 0);
  CHECK_EQ(bench.Run(2, 2), 0);
  CHECK_EQ(bench.Run(4, 9), 0);
  CHECK_EQ(bench.Run(5, 7), 0);
}

// The batch enqueued before the recording uses the instance's memory.
TEST(tensorrt_graph_that_is_not_recorded_leaves_no_batch_under_way) {
  {
    const ScopedVariable kernel("TRITONTS_FAKE_KERNEL_US", "20000");
    FailOnce("cuStreamEndCapture", 901);
    CHECK(Contains(GraphStatus(WithGraphs("graph 2 2")), "cuStreamEndCapture failed with"));
  }
  CHECK(Objects() == kNone);
}

// Another batch may need more memory than the graphs were recorded with.
TEST(tensorrt_graphs_are_recorded_again_when_the_memory_of_their_lane_has_moved) {
  GraphBench bench(
      WithGraphs("graph 2 2\ninput 4 4 x\ngraph 3 2\ninput 600 500 x", {{"max_concurrency", "1"}}));
  const int64_t recorded = CallsOf("cuStreamBeginCapture_v2");
  CHECK_EQ(bench.Run(2, 4), 1);
  CHECK_EQ(bench.Run(8, 4096), 0);
  CHECK_EQ(CallsOf("cuStreamBeginCapture_v2"), recorded);
  // The batch itself is the run that precedes a recording.
  CHECK_EQ(bench.Run(2, 4), 0);
  CHECK_EQ(CallsOf("cuStreamBeginCapture_v2"), recorded + 1);
  CHECK_EQ(bench.Run(2, 4), 1);
  CHECK_EQ(bench.Run(2, 550), 0);
  CHECK_EQ(bench.Run(3, 555), 1);
  CHECK_EQ(CallsOf("cuStreamBeginCapture_v2"), recorded + 2);
}

TEST(tensorrt_graphs_without_batches_have_the_best_shapes_of_each_profile) {
  GraphBench bench(WithGraphs("", {{"profiles", "0,1"}},
                              "fake-plan 10\nop add\ninput x 0 0 0 -1 -1\noutput y 0 0 0 -1 -1\n"
                              "profile x 1 1 2 3 8 8\nprofile x 1 1 8 9 16 16\n"),
                   GraphIo(0));
  CHECK_EQ(GraphCount(), 4);
  CHECK_EQ(bench.Run(2, 3), 1);
  CHECK_EQ(bench.Run(8, 9), 1);
  CHECK_EQ(bench.Run(2, 4), 0);
}

TEST(tensorrt_graphs_that_cannot_be_say_which_and_why) {
  const std::string spec = "optimization.cuda.graph_spec[0]";
  for (const auto& [specs, words] : {
           std::pair{"graph 9 9", ".batch_size: expected 1 to 8 but received 9"},
           std::pair{"graph -1 -1", ".batch_size: expected 1 to 8 but received -1"},
           std::pair{"graph 2 3",
                     ".graph_lower_bound.batch_size: expected at most 2, the "
                     "batch_size of the graph, but received 3"},
           std::pair{"graph 2 2\ninput 4 4 z", ".input: the model has no input 'z'"},
           std::pair{"graph 2 2\ninput 4 5 x",
                     ".graph_lower_bound.input['x']: expected as many dims as the graph has, and "
                     "none above them"},
           std::pair{"graph 2 2\ninput 5000 5000 x",
                     ": no profile of the plan that the instance uses takes its shapes"},
           std::pair{"graph 2 2\ninput 4,4 4,4 x",
                     ": no profile of the plan that the instance uses takes its shapes"},
           std::pair{"graph 2 2\ninput - - x",
                     ": no profile of the plan that the instance uses takes its shapes"},
       }) {
    const Status status = GraphStatus(WithGraphs(specs));
    CHECK_EQ(status.message(), spec + words);
    CHECK_EQ(status.code(), Code::kInvalidArg);
  }
  for (const char* specs : {"graphs 1 1", "graph 1", "input 4 4 x", "graph 1 1\ninput a 4 x"})
    CHECK_EQ(TensorRtBackend().Load(WithGraphs(specs)).status().code(), Code::kInternal);
  const ModelIo io{0, {{"x", DataType::kFp32, {-1, -1}}}, {{"y", DataType::kFp32, {-1, -1}}}};
  const Status varying = GraphStatus(
      WithGraphs("", {},
                 "fake-plan 10\nop positive\ninput x 0 0 0 -1 -1\noutput y 0 0 0 -1 -1\n"
                 "profile x 1 1 2 3 8 8\n"),
      io);
  CHECK_EQ(
      varying.message(),
      "output 'y': its shape [-1,-1] depends on data, so optimization.cuda.graphs must be off");
  const Status shapes =
      GraphStatus(WithGraphs("", {},
                             "fake-plan 10\nop shape\ninput x 0 0 0 -1 -1\noutput y 3 1 0 2\n"
                             "profile x 1 1 2 3 8 8\n"),
                  {0, io.inputs, {{"y", DataType::kInt32, {2}}}});
  CHECK(Contains(shapes, "output 'y' is a shape tensor, which a graph would not read again"));
  CHECK(Objects() == kNone);
}

TEST(tensorrt_graphs_that_fail_to_be_recorded_fail_the_load_and_leave_nothing) {
  for (const char* function :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
        "cuMemsetD8Async", "fakeCudaLaunch"}) {
    FailOnce(function, 2, 1);
    CHECK(!GraphStatus(WithGraphs("")).ok());
    CHECK_EQ(GraphCount(), 0);
    CHECK(Objects() == kNone);
  }
}

TEST(tensorrt_graphs_that_fail_to_be_launched_fail_their_batch_alone) {
  GraphBench bench(WithGraphs(""));
  FailOnce("cuGraphLaunch", 2);
  CHECK(Contains(bench.Ask(1, 3).status, "cuGraphLaunch failed with CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK_EQ(bench.Run(1, 3), 1);
}

TEST(gpu_copies_back_on_a_stream_of_their_own_if_the_model_says_so) {
  const auto of = OfDriver<int(int)>("fakeCudaStreamsOf");
  PlanBench bench(PlanWith({{"max_concurrency", "1"}, {"output_copy_stream", "true"}}));
  // One of these is the pool's stream.
  CHECK_EQ(of(0), 3);
  bench.Ask({1});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answered(0, 1));
}

TEST(gpu_boxes_are_copied_to_the_same_indices) {
  const std::vector<int> from{0, 1, 2, 10, 11, 12};
  std::vector<int> to(12, -1);
  const std::vector<int64_t> small{2, 3};
  const std::vector<int64_t> large{3, 4};
  CopyBox(from.data(), small, to.data(), large, sizeof(int));
  CHECK(to == (std::vector<int>{0, 1, 2, -1, 10, 11, 12, -1, -1, -1, -1, -1}));
  std::vector<int> back(6, -1);
  CopyBox(to.data(), large, back.data(), small, sizeof(int));
  CHECK(back == from);
  const std::vector<int64_t> none{0, 3};
  CopyBox(from.data(), none, to.data(), large, sizeof(int));
  CHECK_EQ(to[0], 0);
}

}  // namespace tritonts::test
