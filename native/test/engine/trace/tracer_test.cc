// Which requests are traced, and what their traces have.
#include "engine/trace/tracer.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ensemble_fixture.h"
#include "trace_bench.h"

namespace tritonts::test {

namespace {

using Lines = std::vector<std::string>;

// A version that adds 1 and is traced.
struct TracedVersion : TraceBench {
  explicit TracedVersion(Script script = Adding(1)) : bench(std::move(script)) {
    bench.version().SetTracer(tracer, 3, true);
    CHECK(bench.version().Start(ConfigOf(FloatIo(), 1, Dynamic(8))).ok());
  }
  // Submits requests of one header, and waits for their responses.
  void SendGroup(size_t requests) {
    RecordingSink sink;
    Group group(&sink, std::vector<float>(requests, 1));
    bench.Submit(group.all());
    CHECK(sink.Wait(requests));
    CHECK(Eventually([&] { return bench.version().drained(); }));
    CHECK(group.header.sink == &sink);
    CHECK(!group.header.traces);
  }
  uint64_t written() {
    CHECK(Eventually([] { return TraceTree::alive() == 0; }));
    Unset();
    Stop();
    return tracer->writer().counts().written;
  }
  VersionBench bench;
};

// The lines with ids from 1 on, as they first appear.
Lines Renumbered(const Lines& lines) {
  std::map<std::string, std::string> numbers;
  const auto renumber = [&](const std::string& id) {
    return numbers.emplace(id, std::to_string(numbers.size() + 1)).first->second;
  };
  Lines renumbered;
  for (const std::string& line : lines) {
    const size_t space = line.find(' ');
    std::string one = renumber(line.substr(0, space)) + line.substr(space);
    if (const size_t of = one.find(" of "); of != std::string::npos) {
      one = one.substr(0, of + 4) + renumber(one.substr(of + 4));
    }
    renumbered.push_back(one);
  }
  return renumbered;
}

const Lines kStamps = {"REQUEST_START",        "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END",
                       "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"};

}  // namespace

TEST(tracer_records_a_request_in_the_order_of_its_moments) {
  TracedVersion traced;
  CHECK(!traced.tracer->on());
  traced.SendGroup(3);
  traced.Set(TraceBench::Each());
  CHECK(traced.tracer->on());
  traced.SendGroup(1);
  CHECK_EQ(traced.written(), 1u);
  Lines expected = {"1 m/3"};
  for (const std::string& stamp : kStamps) expected.push_back("1 " + stamp);
  CHECK_EQ(Renumbered(traced.Lines()), expected);
  int64_t before = 0;
  for (const Json& object : traced.Objects()) {
    if (object.Member("timestamps").items().empty()) continue;
    const int64_t ns = object.Member("timestamps").items()[0].Member("ns").integer().value_or(-1);
    CHECK(ns >= before);
    before = ns;
  }
}

TEST(tracer_chooses_each_rate_th_request_over_groups) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.rate = 4;
  traced.Set(options);
  for (const size_t requests : {3, 1, 5, 6, 1, 1, 7}) traced.SendGroup(requests);
  CHECK_EQ(traced.written(), 6u);
}

TEST(tracer_chooses_no_more_than_the_count) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.left = 3;
  traced.Set(options);
  traced.SendGroup(2);
  traced.Set(TraceBench::Each(), "other");
  // What is left stays.
  traced.Set(TraceBench::Each(), "", true);
  traced.SendGroup(8);
  CHECK_EQ(traced.written(), 3u);
}

TEST(tracer_keeps_what_is_left_of_a_count_while_nothing_is_traced) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.left = 3;
  traced.Set(options);
  traced.SendGroup(1);
  TraceSetting::Options none;
  traced.Set(none, "", true);  // off
  traced.SendGroup(4);
  options.left = -1;
  traced.Set(options, "", true);
  traced.SendGroup(4);
  CHECK_EQ(traced.written(), 3u);
}

TEST(tracer_says_how_many_requests_nobody_has_to_ask_for) {
  TraceBench bench;
  TraceSetting::Options options = TraceBench::Each();
  options.rate = 5;
  options.spans = true;
  bench.Set(options);
  for (int round = 0; round < 3; round++) {
    CHECK_EQ(bench.tracer->Choose("m", "", ""), -3);
    const int64_t id = bench.tracer->Choose("m", "", "");
    CHECK(id > 0);
    bench.tracer->Release(static_cast<uint64_t>(id));
  }
  // Traces that recorded nothing are no traces.
  CHECK_EQ(TraceTree::alive(), 0u);
  CHECK_EQ(bench.tracer->writer().counts().written, 0u);
}

TEST(tracer_drops_what_takes_too_much_memory) {
  TraceBench bench;
  bench.Set(TraceBench::Each());
  std::vector<uint64_t> ids;
  const std::string note(TraceWriter::kMostBytes / 2, 'x');
  for (size_t i = 0; i <= TraceTree::kMostLive / note.size() + 1; i++) {
    ids.push_back(static_cast<uint64_t>(bench.tracer->Choose("m", "", "")));
    bench.tracer->Note(ids.back(), note, 1);
  }
  for (const uint64_t id : ids) bench.tracer->Release(id);
  bench.Stop();
  CHECK(bench.tracer->writer().counts().dropped > 0);
  // The bytes are free again.
  TraceBench after;
  after.Set(TraceBench::Each());
  const auto id = static_cast<uint64_t>(after.tracer->Choose("m", "", ""));
  after.tracer->Note(id, "A", 1);
  after.tracer->Release(id);
  after.Stop();
  CHECK_EQ(after.tracer->writer().counts().written, 1u);
}

TEST(tracer_follows_the_models_own_setting) {
  TracedVersion traced;
  traced.Set(TraceBench::Each());
  traced.Set({}, "m");  // off
  traced.SendGroup(2);
  CHECK_EQ(traced.tracer->writer().counts().written, 0u);
  traced.Unset("m");
  traced.SendGroup(2);
  CHECK_EQ(traced.written(), 2u);
}

TEST(tracer_has_the_tensors_of_each_request_of_a_group) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.timestamps = false;
  options.tensors = true;
  traced.Set(options);
  RecordingSink sink;
  Group group(&sink, {1, 2});
  traced.bench.Submit(group.all());
  CHECK(sink.Wait(2));
  CHECK_EQ(traced.written(), 2u);
  Lines lines = Renumbered(traced.Lines());
  std::sort(lines.begin(), lines.end());
  CHECK_EQ(
      lines,
      (Lines{"1 TENSOR_BACKEND_OUTPUT y FP32 [1,1] 2", "1 TENSOR_QUEUE_INPUT x FP32 [1,1] 1",
             "2 TENSOR_BACKEND_OUTPUT y FP32 [1,1] 3", "2 TENSOR_QUEUE_INPUT x FP32 [1,1] 2"}));
}

TEST(tracer_does_not_count_what_a_front_end_has_asked_for_twice) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.rate = 3;
  traced.Set(options);
  Lines asked;
  for (int i = 0; i < 9; i++) {
    const auto id = static_cast<uint64_t>(traced.tracer->Choose("m", "", "r" + std::to_string(i)));
    asked.push_back(id != 0 ? "traced" : "not");
    Request* const request = traced.bench.requests.Floats({1});
    if (id != 0) {
      traced.tracer->Note(id, "HTTP_RECV_START", 1);
      request->header->traces = std::make_unique<HeaderTraces>();
      request->header->traces->chosen = id;
    }
    traced.bench.Submit({request});
    CHECK(traced.bench.sink.Wait(static_cast<size_t>(i) + 1));
    if (id != 0) traced.tracer->Note(id, "HTTP_SEND_END", 2);
    traced.tracer->Release(id);
  }
  CHECK_EQ(asked, (Lines{"not", "not", "traced", "not", "not", "traced", "not", "not", "traced"}));
  CHECK_EQ(traced.written(), 3u);
  const Lines lines = Renumbered(traced.Lines());
  CHECK_EQ(lines.size(), 30u);
  CHECK_EQ(lines[0], "1 HTTP_RECV_START");
  CHECK_EQ(lines[1], "1 m/3 'r2'");
  CHECK_EQ(lines[9], "1 HTTP_SEND_END");
}

TEST(tracer_ends_traces_of_requests_that_are_cancelled_or_fail) {
  Script script;
  script.execute = [](uint32_t, Run& run) { run.RespondAll(Status::Internal("no")); };
  TracedVersion traced(std::move(script));
  TraceSetting::Options options = TraceBench::Each();
  traced.Set(options);
  traced.SendGroup(1);
  CHECK_EQ(traced.written(), 1u);
  CHECK_EQ(Renumbered(traced.Lines()),
           (Lines{"1 m/3", "1 REQUEST_START", "1 QUEUE_START", "1 REQUEST_END"}));
}

TEST(tracer_gives_back_what_a_closed_version_did_not_take) {
  TracedVersion traced;
  TraceSetting::Options options = TraceBench::Each();
  options.left = 1;
  traced.Set(options);
  traced.bench.version().Close();
  traced.SendGroup(1);
  CHECK_EQ(TraceTree::alive(), 0u);
  CHECK(traced.tracer->Choose("m", "", "") != 0);
}

TEST(tracer_follows_the_steps_of_an_ensemble) {
  std::vector<std::pair<Script, VersionConfig>> steps;
  for (int i = 0; i < 2; i++) {
    steps.emplace_back(Adding(1), ConfigOf(FloatIo(), 1, Dynamic(8)));
  }
  TraceBench traces;
  {
    EnsembleBench bench(ChainOf(2), std::move(steps));
    bench.ensemble().SetTracer(traces.tracer, 1, false);
    for (size_t i = 0; i < 2; i++) bench.step(i).SetTracer(traces.tracer, 1, true);
    // Requests of steps are traced as parts of the ensemble's, or not at all.
    TraceSetting::Options options = TraceBench::Each();
    options.rate = 2;
    traces.Set(options);
    Group group(&bench.sink, {1, 2, 3, 4});
    bench.Submit(group.all());
    CHECK(bench.sink.Wait(4));
    CHECK(Eventually([&] { return bench.ensemble().drained(); }));
  }
  CHECK_EQ(TraceTree::alive(), 0u);
  traces.Stop();
  CHECK_EQ(traces.tracer->writer().counts().written, 2u);
  const Lines lines = Renumbered(traces.Lines());
  std::map<std::string, int> begins;
  for (const std::string& line : lines) {
    if (line.find('/') != std::string::npos) begins[line.substr(2)]++;
  }
  CHECK_EQ(begins["e/1"], 2);
  int children = 0;
  for (const auto& [line, count] : begins) {
    if (line.starts_with("m/1 of ")) children += count;
  }
  CHECK_EQ(children, 4);
  // The ensemble itself computes nothing.
  CHECK_EQ(std::count(lines.begin(), lines.end(), "1 COMPUTE_START"), 0);
  CHECK_EQ(std::count(lines.begin(), lines.end(), "1 REQUEST_END"), 1);
}

TEST(tracer_is_changed_while_requests_are_under_way) {
  TracedVersion traced;
  std::atomic<bool> ends{false};
  std::thread changes([&] {
    // More changes than these leave the writer more files than it can write before the test ends.
    for (uint32_t i = 0; i < 2000 && !ends; i++) {
      TraceSetting::Options options = TraceBench::Each();
      options.rate = 1 + i % 3;
      options.left = i % 5 == 0 ? 10 : -1;
      options.log_frequency = i % 4 * 50;
      options.spans = i % 7 == 0;
      traced.Set(options, i % 2 == 0 ? "" : "m", i % 3 == 0);
      if (i % 6 == 0) traced.Unset("m");
      if (i % 4 == 0) traced.tracer->writer().Take(1000);
      if (const int64_t id = traced.tracer->Choose("m", "", ""); id > 0) {
        traced.tracer->Note(static_cast<uint64_t>(id), "A", 1);
        traced.tracer->Release(static_cast<uint64_t>(id));
      }
    }
  });
  // The other thread may begin late.
  const auto none = [&] { return traced.tracer->writer().counts().written == 0; };
  for (int i = 0; i < 300 || (none() && i < 100'000); i++) traced.SendGroup(1 + i % 9);
  ends = true;
  changes.join();
  traced.Unset("m");
  CHECK(traced.written() > 0);
  for (const std::string& name : traced.Files()) {
    auto json = Json::Parse(traced.Text(name));
    CHECK(json.ok());
  }
}

}  // namespace tritonts::test
