// The log of a version's last batches.
#include "engine/statistics/batch_log.h"

#include "version_fixture.h"

namespace tritonts::test {

namespace {

std::vector<uint32_t> RowsOf(const std::vector<BatchRecord>& records) {
  std::vector<uint32_t> rows;
  for (const BatchRecord& record : records) rows.push_back(record.rows);
  return rows;
}

bool AllEnded(const BatchHistory& history) {
  return std::all_of(history.records.begin(), history.records.end(),
                     [](const BatchRecord& record) { return record.ended_ns != 0; });
}

}  // namespace

TEST(batch_log_keeps_the_last_batches_in_order) {
  BatchLog log;
  std::vector<BatchRecord> records;
  records.reserve(2 * BatchLog::kMost);
  log.CopyTo(&records);
  CHECK(records.empty());
  std::vector<uint32_t> expected;
  const uint32_t all = BatchLog::kMost + 3;
  for (uint32_t i = 1; i <= all; i++) {
    BatchRecord record;
    record.rows = i;
    log.Add(record);
    if (i > 3) expected.push_back(i);
  }
  log.CopyTo(&records);
  CHECK_EQ(RowsOf(records), expected);
}

TEST(batch_log_fills_no_more_than_there_is_room_for) {
  BatchLog log;
  for (uint32_t i = 0; i < 5; i++) log.Add({});
  std::vector<BatchRecord> records;
  records.reserve(2);
  const size_t room = records.capacity();
  log.CopyTo(&records);
  CHECK_EQ(records.size(), room);
}

TEST(version_tells_how_its_batches_came_about) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(4)));
  bench.Send({1, 2});
  bench.Send({3});
  bench.Send({4, 5});
  BatchHistory history = bench.version().batches();
  CHECK_EQ(history.instances, 1u);
  CHECK_EQ(history.waiting, 3u);
  CHECK_EQ(history.records.size(), 1u);
  CHECK_EQ(history.records[0].started_ns, 0u);
  bench.runs->Open();
  CHECK(bench.sink.Wait(4));
  CHECK(Eventually([&] {
    history = bench.version().batches();
    return history.records.size() == 3 && AllEnded(history);
  }));
  CHECK_EQ(history.waiting, 0u);
  CHECK_EQ(RowsOf(history.records), (std::vector<uint32_t>{1, 3, 2}));
  const std::vector<ClosedBy> reasons{ClosedBy::kNothingMore, ClosedBy::kFull,
                                      ClosedBy::kNothingMore};
  const std::vector<uint32_t> requests{1, 2, 1};
  const std::vector<uint32_t> left{0, 1, 0};
  for (size_t i = 0; i < 3; i++) {
    const BatchRecord& record = history.records[i];
    CHECK(record.closed_by == reasons[i]);
    CHECK_EQ(record.requests, requests[i]);
    CHECK_EQ(record.left, left[i]);
    CHECK_EQ(record.instance, 0u);
    CHECK(!record.ran_inline);
    CHECK(record.given_ns <= record.started_ns);
    CHECK(record.started_ns <= record.ended_ns);
    CHECK(record.ended_ns <= history.now_ns);
  }
  CHECK(history.records[1].waited_ns > 0);
}

TEST(version_tells_of_a_batch_that_failed_and_not_of_its_halves) {
  auto runs = std::make_shared<Runs>();
  Script script;
  // A batch of several requests fails; the first batch leaves a pooled run that had a record.
  script.execute = [runs](uint32_t instance, Run& run) {
    if (run.requests().size() > 1) return run.RespondAll(Status::Internal("too many"));
    runs->Execute(instance, run);
  };
  runs->Shut();
  script.may_run_again = true;
  VersionConfig config = ConfigOf(FloatIo(), 1, Dynamic(4));
  config.rerun_in_halves = true;
  VersionBench bench(std::move(script), std::move(config));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1});
  bench.Send({2});
  runs->Open();
  CHECK(bench.sink.Wait(3));
  BatchHistory history;
  CHECK(Eventually([&] {
    history = bench.version().batches();
    return bench.version().statistics().success.count + bench.version().statistics().fail.count ==
               3 &&
           AllEnded(history);
  }));
  CHECK_EQ(bench.version().statistics().reruns, 2u);
  CHECK_EQ(RowsOf(history.records), (std::vector<uint32_t>{1, 2}));
}

TEST(version_tells_of_a_batch_as_long_as_its_halves_run) {
  auto runs = std::make_shared<Runs>();
  std::atomic<int> count{0};
  Script script;
  script.execute = [runs, &count](uint32_t instance, Run& run) {
    if (++count == 2) return run.RespondAll(Status::Internal("too many"));
    runs->Execute(instance, run);
  };
  runs->Shut();
  script.may_run_again = true;
  VersionConfig config = ConfigOf(FloatIo(), 1, Dynamic(4));
  config.rerun_in_halves = true;
  VersionBench bench(std::move(script), std::move(config));
  bench.Send({0});
  CHECK(runs->Started(1));
  for (const float value : {1.f, 2.f, 3.f}) bench.Send({value});
  runs->Open();
  CHECK(bench.sink.Wait(1));
  runs->Shut();
  CHECK(Eventually([&] { return runs->runs().size() >= 2; }));
  BatchHistory history = bench.version().batches();
  // Its second half may have ended already, if the gate was still open for the first.
  CHECK_EQ(RowsOf(history.records), (std::vector<uint32_t>{1, 3}));
  CHECK_EQ(history.records[1].requests, 3u);
  runs->Open();
  CHECK(bench.sink.Wait(4));
  CHECK(Eventually([&] {
    history = bench.version().batches();
    return AllEnded(history);
  }));
  CHECK_EQ(RowsOf(history.records), (std::vector<uint32_t>{1, 3}));
  const uint64_t last = bench.sink.Of(3).timings.exec_end_ns;
  CHECK_EQ(history.records[1].ended_ns, last);
  CHECK(history.records[1].started_ns < bench.sink.Of(1).timings.exec_start_ns);
  CHECK(!history.records[1].ran_inline);
}

TEST(version_tells_of_its_batches_while_others_run_them) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo(), 2, Dynamic(4)));
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_acquire)) {
      const BatchHistory history = bench.version().batches();
      CHECK(history.records.size() <= 2 * BatchLog::kMost);
      for (const BatchRecord& record : history.records) {
        CHECK(record.rows >= 1 && record.rows <= 4);
        CHECK(record.requests >= 1 && record.requests <= record.rows);
        CHECK(record.instance < 2);
      }
    }
  });
  constexpr size_t kRequests = 1000;
  for (size_t i = 0; i < kRequests; i++) bench.Send({1});
  CHECK(bench.sink.Wait(kRequests));
  stop.store(true, std::memory_order_release);
  reader.join();
  CHECK(Eventually([&] { return AllEnded(bench.version().batches()); }));
  CHECK_EQ(bench.version().batches().records.size(), BatchLog::kMost);
}

}  // namespace tritonts::test
