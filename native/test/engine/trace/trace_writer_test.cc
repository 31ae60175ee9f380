// The files of traces.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine_fixture.h"
#include "trace_bench.h"

namespace tritonts::test {

namespace {

using Names = std::vector<std::string>;

// A trace of one time stamp.
void TraceOne(TraceBench* bench, const std::string& model = "m") {
  const auto id = static_cast<uint64_t>(bench->tracer->Choose(model, "", ""));
  CHECK(id != 0);
  bench->tracer->Note(id, "HTTP_RECV_START", 5);
  bench->tracer->Release(id);
}

}  // namespace

TEST(trace_writer_puts_all_traces_of_a_path_into_one_array) {
  TraceBench bench;
  bench.Set(TraceBench::Each());
  for (int i = 0; i < 3; i++) TraceOne(&bench);
  // What is written can be read, although the array is not complete.
  CHECK(Eventually([&] { return bench.Text().size() > 100; }));
  // Another setting goes on with the file.
  bench.Set(TraceBench::Each());
  TraceOne(&bench);
  bench.Stop();
  CHECK_EQ(bench.Objects().size(), 4u);
  CHECK_EQ(bench.Files(), Names{"traces"});
  CHECK_EQ(bench.tracer->writer().counts().written, 4u);
  CHECK_EQ(TraceTree::alive(), 0u);
}

TEST(trace_writer_goes_on_with_a_file_that_was_complete) {
  TraceBench bench;
  for (int round = 1; round <= 3; round++) {
    bench.Set(TraceBench::Each());
    TraceOne(&bench);
    bench.Unset();
    CHECK(Eventually([&] {
      auto json = Json::Parse(bench.Text());
      return json.ok() && json.value().items().size() == static_cast<size_t>(round);
    }));
  }
  // Somebody has taken the file away.
  std::filesystem::remove(bench.folder.path() / "traces");
  bench.Set(TraceBench::Each());
  TraceOne(&bench);
  bench.Stop();
  CHECK_EQ(bench.Objects().size(), 1u);
}

TEST(trace_writer_divides_traces_by_the_log_frequency) {
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  options.log_frequency = 2;
  bench.Set(options);
  for (int i = 0; i < 5; i++) TraceOne(&bench);
  // The number goes on with the next setting.
  bench.Set(options, "n");
  TraceOne(&bench, "n");
  bench.Stop();
  CHECK_EQ(bench.Files(), (Names{"traces.0", "traces.1", "traces.2", "traces.3"}));
  CHECK_EQ(bench.Objects("traces.1").size(), 2u);
  CHECK_EQ(bench.Objects("traces.2").size(), 1u);
  CHECK_EQ(bench.Objects("traces.3").size(), 1u);
}

TEST(trace_writer_completes_a_file_when_the_count_is_exhausted) {
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  options.left = 2;
  bench.Set(options);
  for (int i = 0; i < 2; i++) TraceOne(&bench);
  CHECK_EQ(bench.tracer->Choose("m", "", ""), 0);
  CHECK(Eventually([&] { return bench.Files() == Names{"traces.0"}; }));
  CHECK_EQ(bench.Objects("traces.0").size(), 2u);
  bench.Set(options);
  TraceOne(&bench);
  bench.Stop();
  CHECK_EQ(bench.Files(), (Names{"traces", "traces.0"}));
}

TEST(trace_writer_completes_a_file_when_several_threads_exhaust_the_count) {
  for (int round = 0; round < 20; round++) {
    TraceBench bench;
    TraceSetting::Options options = TraceBench::Each();
    options.left = 50;
    bench.Set(options);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
      threads.emplace_back([&bench] {
        // More than there are: some find that none is left.
        for (int k = 0; k < 40; k++) {
          const int64_t id = bench.tracer->Choose("m", "", "");
          if (id == 0) continue;
          bench.tracer->Note(static_cast<uint64_t>(id), "A", 1);
          bench.tracer->Release(static_cast<uint64_t>(id));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(Eventually([&] { return bench.Files() == Names{"traces.0"}; }));
    CHECK_EQ(bench.Objects("traces.0").size(), 50u);
  }
}

TEST(trace_writer_says_what_is_wrong_with_a_file_and_goes_on) {
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  options.file = (bench.folder.path() / "none" / "traces").string();
  bench.Set(options);
  TraceOne(&bench);
  CHECK(Eventually([&] { return bench.tracer->writer().counts().dropped == 1; }));
  const std::string fault = bench.tracer->writer().counts().fault;
  CHECK(fault.find("cannot open the trace file") != std::string::npos);
  CHECK(fault.find("No such file") != std::string::npos);
  bench.Set(TraceBench::Each());
  TraceOne(&bench);
  bench.Stop();
  CHECK_EQ(bench.Objects().size(), 1u);
  // After its end, traces are dropped.
  TraceOne(&bench);
  CHECK_EQ(bench.tracer->writer().counts().dropped, 2u);
}

TEST(trace_writer_gets_traces_together_that_end_together) {
  // More than are handed over at once, of two settings, one of whose counts they exhaust.
  constexpr int kTraces = 150;
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  bench.Set(options, "m");
  options.left = kTraces;
  options.file = (bench.folder.path() / "counted").string();
  bench.Set(options, "n");
  {
    const TraceHandOver together;
    const TraceHandOver inner;
    for (int i = 0; i < kTraces; i++) {
      TraceOne(&bench, i % 50 < 25 ? "m" : "n");
      TraceOne(&bench, i % 50 < 25 ? "n" : "m");
    }
  }
  CHECK(Eventually([&] { return bench.Files() == Names{"counted.0", "traces"}; }));
  CHECK_EQ(TraceTree::alive(), 0u);
  bench.Stop();
  CHECK_EQ(bench.Objects().size(), static_cast<size_t>(kTraces));
  CHECK_EQ(bench.Objects("counted.0").size(), static_cast<size_t>(kTraces));
  CHECK_EQ(bench.tracer->writer().counts().written, 2u * kTraces);
  CHECK_EQ(bench.tracer->writer().counts().dropped, 0u);
}

TEST(trace_writer_keeps_spans_for_their_taker_up_to_a_limit) {
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  options.spans = true;
  bench.Set(options);
  CHECK_EQ(bench.tracer->writer().Take(TraceWriter::kMostBytes), "");
  TraceOne(&bench);
  TraceOne(&bench);
  std::string taken;
  CHECK(Eventually([&] {
    if (bench.tracer->writer().counts().written < 2) return false;
    taken = bench.tracer->writer().Take(TraceWriter::kMostBytes);
    return true;
  }));
  auto json = Json::Parse(taken);
  CHECK(json.ok());
  CHECK_EQ(json.value().items().size(), 2u);
  CHECK_EQ(bench.tracer->writer().Take(TraceWriter::kMostBytes), "");
  // A context forces a trace although no more are left, and only it.
  options.left = 0;
  bench.Set(options);
  CHECK(bench.tracer->Choose("m", "", "") < 0);
  const auto forced = static_cast<uint64_t>(bench.tracer->Choose("m", "00-1-2-01", "r"));
  CHECK(forced != 0);
  bench.tracer->Note(forced, std::string(TraceWriter::kMostBytes, 'x'), 1);
  bench.tracer->Release(forced);
  CHECK_EQ(bench.tracer->writer().counts().dropped, 1u);
  bench.Stop();
  CHECK(bench.Files().empty());
}

}  // namespace tritonts::test
