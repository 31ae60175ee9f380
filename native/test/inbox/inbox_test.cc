// Streams of JavaScript models, with an environment in C++ instead of the model's thread.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "inbox/inbox_backend.h"
#include "inbox/inboxes.h"
#include "port_fixture.h"

namespace tritonts::test {

namespace {

// Gives each request as many responses as its input says, at most 16 ahead of its reader.
class Environment {
 public:
  explicit Environment(std::shared_ptr<Inbox> inbox)
      : inbox_(std::move(inbox)), thread_([this] { Live(); }) {}
  // Ends when the inbox is closed, or after Die.
  ~Environment() { thread_.join(); }
  void Die() {
    dies_ = true;
    Ring();
  }

 private:
  struct Stream {
    uint32_t position = 0;
    int32_t count = 0;
    int32_t sent = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;

  void Ring() {
    {
      std::lock_guard lock(mutex_);
      rung_ = true;
    }
    changed_.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

  void Live() {
    while (!inbox_->Attach([this] { Ring(); })) std::this_thread::yield();
    inbox_->Up();
    while (!dies_) {
      Listen();
      if (!ready_.empty()) {
        const Key next = ready_.front();
        ready_.pop_front();
        Advance(next);
      }
      uint32_t slot = 0;
      Run* run = nullptr;
      const Inbox::Next next = inbox_->Take(&slot, &run);
      if (next == Inbox::Next::kClosed) break;
      if (next == Inbox::Next::kBatch) {
        Begin(slot, *run);
      } else if (ready_.empty() && inbox_->Sleep()) {
        Wait();
      }
    }
    inbox_->Detach();
  }
  void Listen() {
    uint32_t slot = 0;
    uint32_t request = 0;
    for (;;) {
      switch (inbox_->TakeReader(&slot, &request)) {
        case Inbox::Readers::kNone:
          return;
        case Inbox::Readers::kOne:
          ready_.emplace_back(slot, request);
          break;
        case Inbox::Readers::kAll:
          for (const auto& [key, stream] : streams_) ready_.push_back(key);
      }
    }
  }
  void Begin(uint32_t slot, Run& run) {
    const auto count = static_cast<uint32_t>(run.requests().size());
    open_[slot] = count;
    for (uint32_t i = 0; i < count; i++) {
      const Request& request = *run.requests()[i];
      Stream stream{i, 0, 0};
      std::memcpy(&stream.count, request.chunk(*request.input(0)).data, sizeof(stream.count));
      streams_[{slot, i}] = stream;
      ready_.emplace_back(slot, i);
    }
    run.MarkInputsReady();
    if (inbox_->Leave(slot, false)) inbox_->Part(slot);
  }
  void Advance(Key key) {
    const auto known = streams_.find(key);
    if (known == streams_.end()) return;
    Stream& stream = known->second;
    const auto [slot, position] = key;
    auto reader = inbox_->MakeReader(slot, position);
    Run* const run = inbox_->Enter(slot);
    bool ended = run == nullptr;
    while (!ended) {
      const auto unread = run->UnreadOf(position, 16);
      if (!unread) {
        run->Respond(position, Status::Cancelled("nobody reads"));
        ended = true;
      } else if (stream.sent == stream.count) {
        run->EndResponses(position);
        ended = true;
      } else if (unread->full || unread->responses >= 16) {
        const uint32_t few = unread->full ? unread->responses - 1 : 8;
        if (run->AwaitRead(position, std::min(few, 8u), reader)) break;
      } else {
        const int64_t shape[] = {1, 1};
        const int32_t value = stream.sent++;
        run->SetRequestOutput(position, 0, DataType::kInt32, shape, &value, sizeof(value), nullptr);
        run->Respond(position, Status::Ok(), false);
      }
    }
    if (ended) streams_.erase(known);
    const bool last = ended && --open_[slot] == 0;
    if (run) inbox_->Leave(slot, last);
  }

  const std::shared_ptr<Inbox> inbox_;
  std::map<Key, Stream> streams_;
  std::map<uint32_t, uint32_t> open_;  // streams by slot
  std::deque<Key> ready_;
  std::atomic<bool> dies_{false};
  std::mutex mutex_;  // guards `rung_`
  std::condition_variable changed_;
  bool rung_ = false;
  std::thread thread_;
};

struct InboxBench {
  explicit InboxBench(uint32_t concurrency = 1) {
    number = ReservedInboxes::Get().Reserve("m", {"m_0"}, concurrency);
    ModelSpec spec{"m", 1, "", {{"inboxes", std::to_string(number)}}};
    auto opened = bench.server.Open(&backend, std::move(spec));
    CHECK(opened.ok());
    bench.uid = opened.value();
    ModelIo io;
    io.max_batch_size = 4;
    io.inputs = {{"count", DataType::kInt32, {-1, 1}, false}};
    io.outputs = {{"y", DataType::kInt32, {-1, 1}, false}};
    VersionConfig config = ConfigOf(io);
    config.decoupled = true;
    CHECK(bench.server.Start(bench.uid, std::move(config)).ok());
    Begin();
  }
  ~InboxBench() {
    bench.client.Detach();
    bench.server.Close(0);
    ReservedInboxes::Get().Forget(number);
    // Destroying the instance closes the inbox.
  }
  void Begin() {
    environment = std::make_unique<Environment>(ReservedInboxes::Get().Find(number)->list[0]);
  }
  uint32_t Ask(PortClient* from, int32_t count) {
    return from->Write(bench.uid, 1, {{0, {1, 1}, BytesOf<int32_t>({count})}});
  }
  uint64_t used() { return bench.server.server().in_flight_bytes(); }

  InboxBackend backend;
  uint32_t number = 0;
  std::unique_ptr<Environment> environment;
  PortBench bench;
};

int32_t ValueOf(const PortResponse& response) {
  int32_t value = -1;
  std::memcpy(&value, response.outputs.at(0).bytes.data(), sizeof(value));
  return value;
}

}  // namespace

TEST(inbox_streams_of_many_batches_come_whole_and_hold_up_no_batch) {
  InboxBench bench;
  PortClient slow(bench.bench.server.shared());
  slow.ReadSlowly();
  bench.Ask(&slow, 1000);
  CHECK(slow.Flush().ok());
  slow.Take(16);
  std::map<uint32_t, std::pair<int32_t, int32_t>> open;  // next and count by slot
  for (const int32_t count : {0, 1, 15, 16, 17, 100, 500}) {
    open[bench.Ask(&bench.bench.client, count)] = {0, count};
  }
  CHECK(bench.bench.client.Flush().ok());
  while (!open.empty() && bench.bench.client.WaitForWake(kPatience)) {
    for (const PortResponse& response : bench.bench.client.Take()) {
      auto& [next, count] = open.at(response.slot);
      CHECK(response.code == Code::kOk);
      if (!response.empty) CHECK_EQ(ValueOf(response), next++);
      if (!response.final) continue;
      CHECK_EQ(next, count);
      open.erase(response.slot);
    }
  }
  CHECK(open.empty());
  slow.Detach();
  CHECK(Eventually([&] { return bench.used() == 0; }));
}

TEST(inbox_streams_end_when_their_environment_dies_and_the_next_one_serves) {
  InboxBench bench;
  PortClient& client = bench.bench.client;
  client.ReadSlowly();
  bench.Ask(&client, 100);
  CHECK(client.Flush().ok());
  std::vector<PortResponse> responses = client.Take(16);
  bench.environment->Die();
  responses = client.Take(1);
  CHECK(responses[0].final);
  CHECK(responses[0].code == Code::kUnavailable);
  bench.environment.reset();
  bench.Ask(&client, 3);
  CHECK(client.Flush().ok());
  bench.Begin();
  responses = client.Take(4);
  for (int32_t i = 0; i < 3; i++) CHECK_EQ(ValueOf(responses[static_cast<size_t>(i)]), i);
  CHECK(responses[3].final && responses[3].code == Code::kOk);
}

TEST(inbox_streams_that_wait_for_their_reader_end_when_the_server_closes) {
  InboxBench bench;
  bench.bench.client.ReadSlowly();
  bench.Ask(&bench.bench.client, 100);
  CHECK(bench.bench.client.Flush().ok());
  bench.bench.client.Take(16);
  bench.bench.server.Close(0);
  CHECK(bench.bench.client.Take(1)[0].final);
}

TEST(inbox_streams_hold_when_readers_cancel_and_leave_at_random) {
  InboxBench bench(2);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; thread++) {
    threads.emplace_back([&bench, thread] {
      std::mt19937 random(thread);
      const auto up = [&random](uint32_t most) {
        return static_cast<uint32_t>(random() % (most + 1));
      };
      for (int round = 0; round < 20; round++) {
        PortClient client(bench.bench.server.shared());
        client.ReadSlowly();
        std::map<uint32_t, std::pair<int32_t, int32_t>> open;
        std::map<uint32_t, bool> cancelled;
        std::vector<PortResponse> unread;
        for (uint32_t i = 0; i < 30; i++) {
          const auto count = static_cast<int32_t>(up(60));
          open[bench.Ask(&client, count)] = {0, count};
          if (up(3) == 0) CHECK(client.Flush().ok());
        }
        const bool leaves = up(3) == 0;
        for (uint32_t turn = 0; !open.empty() && !(leaves && turn > 10); turn++) {
          if (unread.empty()) {
            CHECK(client.Flush().ok());
            if (!client.WaitForWake(kPatience)) break;
          }
          for (PortResponse& response : client.Take()) {
            const auto known = open.find(response.slot);
            CHECK(known != open.end());
            if (known == open.end()) continue;
            auto& [next, count] = known->second;
            if (response.code == Code::kOk && !response.empty) CHECK_EQ(ValueOf(response), next++);
            if (response.code != Code::kOk) CHECK(cancelled[response.slot]);
            if (response.final) {
              if (!cancelled[response.slot]) CHECK_EQ(next, count);
              open.erase(known);
            }
            if (response.counted > 0) unread.push_back(std::move(response));
          }
          std::shuffle(unread.begin(), unread.end(), random);
          for (uint32_t i = up(static_cast<uint32_t>(unread.size())); i > 0; i--) {
            client.Read(unread.back());
            unread.pop_back();
          }
          if (!open.empty() && up(10) == 0) {
            cancelled[open.begin()->first] = true;
            client.Cancel(open.begin()->first);
          }
        }
        CHECK(leaves || open.empty());
        client.Detach();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Eventually([&] { return bench.used() == 0; }));
}

TEST(stream_count_takes_what_it_has_permitted_although_others_fill_the_server) {
  std::atomic<uint64_t> in_flight{0};
  StreamCount count;
  count.Begin(&in_flight, 100);
  CHECK(!count.Ask(2).full);
  in_flight = 1000;
  count.NoteSent(10);
  CHECK(!count.ends_next());
  count.NoteSent(10);
  CHECK(count.ends_next());
  CHECK(count.Ask(2).full);
  CHECK(count.ends_next());
  // A reader that has read everything gets the next response.
  count.NoteRead(2, 20);
  CHECK(!count.ends_next());
}

}  // namespace tritonts::test
