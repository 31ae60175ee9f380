// Traces of Triton's in-process requests: what they are told, and whose they are.
#include "plugin_server_fixture.h"

namespace tritonts::test {

namespace {

// A trace, and what it was told. Thread-safe.
class TestTrace {
 public:
  explicit TestTrace(uint32_t level) {
    CHECK_TRITON(Triton().TRITONSERVER_InferenceTraceTensorNew(
        &trace, static_cast<TRITONSERVER_InferenceTraceLevel>(level), 5, Activity, Tensor, Release,
        this));
  }
  ~TestTrace() {
    if (trace) CHECK_TRITON(Triton().TRITONSERVER_InferenceTraceDelete(trace));
  }

  TRITONSERVER_InferenceTrace* trace = nullptr;
  std::atomic<int> released{0};
  Names told;
  std::vector<uint64_t> times;

  static void Activity(TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity activity,
                       uint64_t now, void* user) {
    auto* const self = static_cast<TestTrace*>(user);
    self->told.emplace_back(Triton().TRITONSERVER_InferenceTraceActivityString(activity));
    self->times.push_back(now);
  }
  static void Tensor(TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity activity,
                     const char* name, TRITONSERVER_DataType, const void* base, size_t size,
                     const int64_t* dims, uint64_t rank, TRITONSERVER_MemoryType, int64_t,
                     void* user) {
    float value = 0;
    if (size >= 4) std::memcpy(&value, base, 4);
    static_cast<TestTrace*>(user)->told.push_back(
        std::string(Triton().TRITONSERVER_InferenceTraceActivityString(activity)) + " " + name +
        " " + std::to_string(static_cast<int>(value)) + " " + std::to_string(size) + " " +
        std::to_string(rank > 0 ? dims[0] : 0));
  }
  static void Release(TRITONSERVER_InferenceTrace*, void* user) {
    static_cast<TestTrace*>(user)->released++;
  }
};

}  // namespace

TEST(triton_traces_a_request_from_start_to_end) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1});
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestSetId(send.request, "seven"));
  TestTrace trace(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS);
  CHECK_EQ(send.Submit(trace.trace), "");
  CHECK(send.Released(1));
  CHECK_EQ(trace.released.load(), 1);
  CHECK(trace.told == (Names{"REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END",
                             "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"}));
  CHECK(std::is_sorted(trace.times.begin(), trace.times.end()));
  const TritonFunctions& api = Triton();
  uint64_t number = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceParentId(trace.trace, &number));
  CHECK_EQ(number, 5u);
  const char* text = nullptr;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceModelName(trace.trace, &text));
  CHECK_EQ(std::string(text), "m");
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceRequestId(trace.trace, &text));
  CHECK_EQ(std::string(text), "seven");
  int64_t version = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceModelVersion(trace.trace, &version));
  CHECK_EQ(version, 1);
}

TEST(triton_traces_tensors) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  const float values[] = {1, 2};
  const int64_t dims[] = {2, 1};
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAddInput(send.request, "x",
                                                              TRITONSERVER_TYPE_FP32, dims, 2));
  send.Append(values, 4);
  send.Append(values + 1, 4);
  TestTrace trace(TRITONSERVER_TRACE_LEVEL_TENSORS);
  CHECK_EQ(send.Submit(trace.trace), "");
  CHECK(send.Released(1));
  CHECK(trace.told == (Names{"TENSOR_QUEUE_INPUT x 1 8 2", "TENSOR_BACKEND_OUTPUT y 2 8 2"}));
}

TEST(triton_takes_the_trace_of_a_refused_request) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  TestTrace trace(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS);
  CHECK(Contains(send.Submit(trace.trace), "Invalid argument"));
  CHECK_EQ(trace.released.load(), 1);
  CHECK(trace.told == (Names{"REQUEST_START", "REQUEST_END"}));
}

TEST(triton_spawns_children_of_traces_with_their_context) {
  TestTrace trace(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS);
  const TritonFunctions& api = Triton();
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceSetContext(trace.trace, "{\"a\":1}"));
  TRITONSERVER_InferenceTrace* child = nullptr;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceSpawnChildTrace(trace.trace, &child));
  uint64_t id = 0;
  uint64_t child_id = 0;
  uint64_t parent = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceId(trace.trace, &id));
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceId(child, &child_id));
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceParentId(child, &parent));
  CHECK_EQ(parent, id);
  CHECK(child_id != id);
  const char* context = nullptr;
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceContext(child, &context));
  CHECK_EQ(std::string(context), "{\"a\":1}");
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceReportActivity(child, 77, "mine"));
  CHECK(trace.told == (Names{"CUSTOM_ACTIVITY"}));
  CHECK_EQ(trace.times.back(), 77u);
  CHECK_TRITON(api.TRITONSERVER_InferenceTraceDelete(child));
  TRITONSERVER_InferenceTrace* none = nullptr;
  CHECK(Contains(
      TextOf(api.TRITONSERVER_InferenceTraceNew(&none, TRITONSERVER_TRACE_LEVEL_TENSORS, 0,
                                                TestTrace::Activity, TestTrace::Release, nullptr)),
      "a trace of tensors needs a function"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceTraceNew(
                     &none, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0, nullptr, nullptr, nullptr)),
                 "a trace needs a function"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceTraceSpawnChildTrace(nullptr, &none)),
                 "Invalid argument"));
}

}  // namespace tritonts::test
