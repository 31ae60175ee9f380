// Streams through a port: order, pace, limits, random schedules of several readers.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "port_fixture.h"
#include "support/backends/stream/stream.h"

namespace tritonts::test {

namespace {

ModelIo StreamIo() {
  ModelIo io;
  for (const char* name : {"count", "how", "size"}) {
    io.inputs.push_back({name, DataType::kInt32, {1}, false});
  }
  io.outputs = {{"y", DataType::kInt32, {-1}, false}};
  return io;
}

struct StreamBench : PortBench {
  explicit StreamBench(uint64_t limit = uint64_t{1} << 30) : PortBench(false, limit) {
    VersionConfig config = ConfigOf(StreamIo());
    config.decoupled = true;
    uid = server.Serve(&streams, std::move(config));
  }
  // Writes a request, and returns its slot.
  uint32_t Ask(PortClient* from, int32_t count, StreamEnd how = StreamEnd::kLast,
               int32_t size = 1) {
    const auto input = [](uint32_t index, int32_t value) {
      return PortInput{index, {1}, BytesOf<int32_t>({value})};
    };
    return from->Write(uid, 0,
                       {input(0, count), input(1, static_cast<int32_t>(how)), input(2, size)});
  }
  uint64_t used() { return server.server().in_flight_bytes(); }

  StreamBackend streams;
};

// The first value of a response, which is its number.
int32_t FirstOf(const PortResponse& response) {
  int32_t first = -1;
  std::memcpy(&first, response.outputs.at(0).bytes.data(), sizeof(first));
  return first;
}

// The responses that a reader expects of a stream.
struct Expected {
  int32_t count = 0;
  StreamEnd how = StreamEnd::kLast;
  int32_t next = 0;
  bool cancelled = false;
};

// Checks a response. Returns whether it was the last.
bool Follows(const PortResponse& response, Expected* expected) {
  if (response.code == Code::kOk && !response.empty) {
    CHECK_EQ(FirstOf(response), expected->next);
    expected->next++;
  } else if (response.code != Code::kOk && !expected->cancelled) {
    CHECK(expected->how == StreamEnd::kFails);
  }
  if (response.final && !expected->cancelled) CHECK_EQ(expected->next, expected->count);
  return response.final;
}

}  // namespace

TEST(streams_come_in_order_and_leave_nothing_in_flight) {
  StreamBench bench;
  std::map<uint32_t, Expected> open;
  for (const StreamEnd how : {StreamEnd::kLast, StreamEnd::kApart, StreamEnd::kFails}) {
    for (const int32_t count : {1, 15, 16, 17, 500}) {
      open[bench.Ask(&bench.client, count, how)] = {count, how};
    }
  }
  CHECK(bench.client.Flush().ok());
  while (!open.empty() && bench.client.WaitForWake(kPatience)) {
    for (const PortResponse& response : bench.client.Take()) {
      if (Follows(response, &open.at(response.slot))) open.erase(response.slot);
    }
  }
  CHECK(open.empty());
  CHECK_EQ(bench.used(), 0u);
}

TEST(streams_wait_for_a_reader_who_is_slow) {
  StreamBench bench;
  bench.client.ReadSlowly();
  bench.Ask(&bench.client, 100);
  CHECK(bench.client.Flush().ok());
  std::vector<PortResponse> unread = bench.client.Take(16);
  // No further response comes before some are read.
  // But a wake-up may still come for those that were taken.
  if (bench.client.WaitForWake(std::chrono::milliseconds(20))) CHECK(bench.client.Take().empty());
  // Includes the range of the request itself, which continues.
  CHECK(bench.used() >= 16 * unread[0].counted);
  CHECK(bench.used() < 17 * unread[0].counted);
  for (size_t read = 0; read < 100; read++) {
    if (read == unread.size()) {
      for (PortResponse& response : bench.client.TakeAtLeast(1)) {
        unread.push_back(std::move(response));
      }
    }
    CHECK_EQ(FirstOf(unread[read]), static_cast<int32_t>(read));
    bench.client.Read(unread[read]);
    if (bench.client.WasWoken()) {
      for (PortResponse& response : bench.client.Take()) unread.push_back(std::move(response));
    }
  }
  CHECK_EQ(unread.size(), 100u);
  CHECK_EQ(bench.used(), 0u);
}

TEST(streams_end_where_too_much_is_unread_and_others_go_on) {
  StreamBench bench;
  PortClient slow(bench.server.shared());
  slow.ReadSlowly();
  // 40,000 responses of 1,000 values are 160 MB.
  bench.Ask(&slow, 40'000, StreamEnd::kGreedy, 1000);
  CHECK(slow.Flush().ok());
  uint64_t counted = 0;
  bool ended = false;
  while (!ended && slow.WaitForWake(kPatience)) {
    for (const PortResponse& response : slow.Take()) {
      counted += response.counted;
      if (!response.final) continue;
      ended = true;
      CHECK(response.code == Code::kUnavailable);
      CHECK(response.message.find("16777216 bytes") != std::string::npos);
    }
  }
  CHECK(ended);
  CHECK(counted >= StreamCount::kMostBytes);
  CHECK(counted < StreamCount::kMostBytes + 5000);
  CHECK_EQ(bench.used(), counted);
  Expected expected{1000};
  bench.Ask(&bench.client, 1000);
  CHECK(bench.client.Flush().ok());
  for (bool last = false; !last && bench.client.WaitForWake(kPatience);) {
    for (const PortResponse& response : bench.client.Take()) last = Follows(response, &expected);
  }
  CHECK_EQ(expected.next, 1000);
  slow.Detach();
  CHECK_EQ(bench.used(), 0u);
}

TEST(streams_that_are_not_read_are_bounded_by_the_bytes_in_flight) {
  constexpr uint64_t kLimit = uint64_t{2} << 20;
  StreamBench bench(kLimit);
  bench.client.ReadSlowly();
  bench.Ask(&bench.client, 40'000, StreamEnd::kGreedy, 1000);
  CHECK(bench.client.Flush().ok());
  std::vector<PortResponse> responses;
  while ((responses.empty() || !responses.back().final) && bench.client.WaitForWake(kPatience)) {
    for (PortResponse& response : bench.client.Take()) responses.push_back(std::move(response));
  }
  CHECK(responses.back().code == Code::kUnavailable);
  CHECK(bench.used() > kLimit);
  CHECK(bench.used() < kLimit + layout::kPageBytes);
  // Reading makes room again.
  for (const PortResponse& response : responses) {
    if (response.counted > 0) bench.client.Read(response);
  }
  CHECK_EQ(bench.used(), 0u);
}

TEST(streams_that_are_cancelled_while_they_wait_for_their_reader_end) {
  StreamBench bench;
  bench.client.ReadSlowly();
  const uint32_t slot = bench.Ask(&bench.client, 1000);
  bench.client.Take(16);
  bench.client.Cancel(slot);
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].final);
  CHECK(responses[0].code == Code::kCancelled);
}

TEST(streams_hold_when_readers_cancel_leave_and_are_slow_at_random) {
  StreamBench bench;
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; thread++) {
    threads.emplace_back([&bench, thread] {
      std::mt19937 random(thread);
      const auto up = [&random](uint32_t most) {
        return static_cast<uint32_t>(random() % (most + 1));
      };
      for (int round = 0; round < 20; round++) {
        PortClient client(bench.server.shared());
        client.ReadSlowly();
        std::map<uint32_t, Expected> open;
        std::vector<PortResponse> unread;
        for (uint32_t i = 0; i < 40; i++) {
          const auto count = static_cast<int32_t>(up(60));
          const auto how = static_cast<StreamEnd>(up(2));
          const auto size = static_cast<int32_t>(up(20) == 0 ? 20'000 : up(50));
          open[bench.Ask(&client, count, how, std::max(size, 1))] = {count, how};
          if (up(3) == 0) CHECK(client.Flush().ok());
        }
        const bool leaves = up(3) == 0;
        for (uint32_t turn = 0; !open.empty() && !(leaves && turn > 20); turn++) {
          if (unread.empty()) {
            CHECK(client.Flush().ok());
            if (!client.WaitForWake(kPatience)) break;
          }
          for (PortResponse& response : client.Take()) {
            const auto known = open.find(response.slot);
            CHECK(known != open.end());
            if (known != open.end() && Follows(response, &known->second)) open.erase(known);
            if (response.counted > 0) unread.push_back(std::move(response));
          }
          std::shuffle(unread.begin(), unread.end(), random);
          for (uint32_t i = up(static_cast<uint32_t>(unread.size())); i > 0; i--) {
            client.Read(unread.back());
            unread.pop_back();
          }
          if (!open.empty() && up(20) == 0) {
            open.begin()->second.cancelled = true;
            client.Cancel(open.begin()->first);
          }
        }
        CHECK(leaves || open.empty());
        client.Detach();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Eventually([&] { return bench.server.server().FindVersion(bench.uid)->drained(); }));
  CHECK(Eventually([&] { return bench.used() == 0; }));
}

}  // namespace tritonts::test
