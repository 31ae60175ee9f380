// Tests the behaviour when the system has no memory or no thread. This program makes the first such
// call fail, then the second, and so on, once or permanently, while a server is created, loads,
// serves, and ends. It must see only coded errors and correct responses; every request and load
// must end, and nothing may stay in flight. Once there is memory again, later requests must be
// served.
//
//   tritonts_scarcity [first [last]]   which calls fail
#include "scarcity.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "engine/cache/cache_layer.h"
#include "engine/cache/remote_layer.h"
#include "port_client.h"
#include "scarce_cache.h"
#include "scarce_calls.h"
#include "sequence_fixture.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

std::atomic<int> failures{0};

// A message shorter than the text that replaces it without memory.
constexpr const char* kTogether = "not more than one";

// A server with versions of all kinds, created before any call fails.
struct Rig {
  explicit Rig(bool warm) {
    const auto serve = [&](Backend* backend, VersionConfig config) {
      return server.Serve(backend, std::move(config));
    };
    VersionConfig quick = ConfigOf(FloatIo(), 1, {8, {}, 0});
    quick.inline_budget_ns = 10'000'000'000;
    fast = serve(&identity, std::move(quick));
    delayed = serve(&identity, ConfigOf(FloatIo(), 1, {8, {}, 1'000'000}));
    ModelIo io = FloatIo(0);
    io.inputs[0].dims = io.outputs[0].dims = {-1};
    large = serve(&identity, ConfigOf(io));
    // These outputs have no block, so they are valid only during the run.
    Script script;
    script.execute = [](uint32_t, Run& run) {
      static const std::vector<char> bytes(100'000, 'x');
      static const std::vector<int64_t> tail = {100'000};
      const Request& request = *run.requests().front();
      const size_t rows = request.header->batch_size;
      if (run.requests().size() == 1 && rows == 1) {
        run.SetOutput(0, DataType::kUint8, tail, bytes.data(), bytes.size(), nullptr);
      }
      run.RespondAll(Status::Ok());
    };
    wide_backend = std::make_unique<ScriptedBackend>(std::move(script));
    ModelIo wide_io = FloatIo();
    wide_io.outputs = {{"y", DataType::kUint8, {-1, 100'000}, false}};
    wide = serve(wide_backend.get(), ConfigOf(wide_io));
    VersionConfig in_order = ConfigOf(wide_io, 2);
    in_order.preserve_ordering = true;
    ordered = serve(wide_backend.get(), std::move(in_order));
    VersionConfig by_level = ConfigOf(FloatIo(), 2, {8, {}, 0});
    by_level.queue = QueuePolicies{
        3, 2, {QueuePolicy::OnTimeout::kDelay, 1000, true, 100'000}, {{1, QueuePolicy()}}};
    levelled = serve(&identity, std::move(by_level));
    // A batch of several requests fails, and so do its halves until each request is alone.
    Script alone;
    alone.may_run_again = true;
    alone.execute = [](uint32_t, Run& run) {
      static const Status failure = Status::Internal(kTogether);
      if (run.requests().size() > 1) return run.RespondAll(failure);
      const InputTensor& input = *run.requests()[0]->input(0);
      const Buffer chunk = run.requests()[0]->chunk(input);
      run.SetRequestOutput(0, 0, input.datatype, input.shape, chunk.data, chunk.size, nullptr);
      run.RespondAll(Status::Ok());
    };
    halving_backend = std::make_unique<ScriptedBackend>(std::move(alone));
    VersionConfig in_halves = ConfigOf(FloatIo(), 2, {8, {}, 0});
    in_halves.rerun_in_halves = true;
    halving = serve(halving_backend.get(), in_halves);
    in_halves.preserve_ordering = true;
    halving_ordered = serve(halving_backend.get(), std::move(in_halves));
    ModelIo any_width = FloatIo();
    any_width.inputs[0].dims = any_width.outputs[0].dims = {-1, -1};
    VersionConfig across = ConfigOf(any_width, 1, {8, {}, 0, true});
    across.queue = QueuePolicies{0, 0, {QueuePolicy::OnTimeout::kDelay, 1000, true, 0}, {}};
    mixed = serve(&identity, std::move(across));
    for (const auto strategy : {kDirect, kOldest}) {
      SequencePolicy policy = PolicyOf(strategy, 4);
      // The slots of sequences whose last request is refused are free again soon.
      policy.max_idle_ns = 1'000'000;
      (strategy == kDirect ? direct : oldest) = serve(&identity, ControlledSequencesOf(policy));
    }
    held_backend = std::make_unique<ScriptedBackend>(ScriptOf(runs));
    held = serve(held_backend.get(), ConfigOf(FloatIo(), 1, {1, {}, 0}));
    auto opened = server.Open(&identity);
    CHECK(opened.ok());
    cached = opened.value();
    // A small cache, so that entries are evicted, too.
    server.server().FindServed(cached)->AddLayer(std::make_unique<CacheLayer>(
        std::make_shared<LocalCache>(4096), cached, "m", CacheLayer::Options()));
    CHECK(server.Start(cached, ConfigOf(FloatIo(), 2, {8, {}, 0})).ok());
    opened = server.Open(&identity);
    CHECK(opened.ok());
    remote = opened.value();
    CHECK(timer.Start());
    const auto looked_up = server.server().FindServed(remote);
    looked_up->AddLayer(std::make_unique<CacheLayer>(std::make_shared<LocalCache>(0), remote, "m",
                                                     CacheLayer::Options{.shares_only = true}));
    looked_up->AddLayer(
        std::make_unique<RemoteLayer>(owner.cache, &timer, FloatIo(), std::string("m")));
    looked_up->Identify("m/1");
    CHECK(server.Start(remote, ConfigOf(FloatIo(), 2, {8, {}, 0})).ok());
    // Each third request is traced; what is written does not matter.
    TraceSetting::Options traces;
    traces.timestamps = traces.tensors = true;
    traces.rate = 3;
    traces.file = "/dev/null";
    CHECK(server.server().tracer().Set("", Tracer::Update{traces, false}).ok());
    if (!warm) return;
    PortClient client(server.shared());
    for (int i = 0; i < 3; i++) {
      for (const uint32_t uid : {fast, delayed, wide, ordered, levelled, held, halving,
                                 halving_ordered, mixed, cached, remote}) {
        for (int k = 0; k < 20; k++) client.Write(uid, 1, {{0, {1, 1}, "abcd"}});
      }
      client.Write(large, 0, {{0, {40'000}, std::string(160'000, 'z')}});
      client.Take(221);
    }
  }

  std::shared_ptr<Runs> runs = std::make_shared<Runs>();
  Timer timer;
  CacheOwner owner;
  IdentityBackend identity;
  std::unique_ptr<ScriptedBackend> wide_backend;
  std::unique_ptr<ScriptedBackend> held_backend;
  std::unique_ptr<ScriptedBackend> halving_backend;
  ServerBench server;
  int32_t last_sequence = 0;
  uint32_t fast = 0, delayed = 0, large = 0, wide = 0, ordered = 0, levelled = 0, held = 0;
  uint32_t halving = 0, halving_ordered = 0, mixed = 0, direct = 0, oldest = 0, cached = 0;
  uint32_t remote = 0;
};

// The life of an environment.
class Life {
 public:
  Life(Rig* rig, bool many) : rig_(rig), many_(many) {}

  // Sends sequences only, which all must be served.
  void Serve() {
    Attach();
    must_serve_ = true;
    WriteSequences();
    Submit(false);
    TakeAll();
    port_->Detach();
    port_.reset();
  }

  void Live() {
    Attach();
    if (!port_) return;
    for (int round = 0; round < 2; round++) {
      WriteGroup(rig_->fast, 20);
      WriteGroup(rig_->delayed, 3);
      WriteGroup(rig_->wide, 1);
      WriteGroup(rig_->wide, 1);
      for (int i = 0; i < 4; i++) WriteGroup(rig_->ordered, 1);
      WriteGroup(rig_->levelled, 10);
      for (int i = 0; i < 3; i++) WriteGroup(rig_->cached, 6);
      for (int i = 0; i < 3; i++) WriteGroup(rig_->remote, 6);
      WriteGroup(rig_->halving, 6);
      WriteGroup(rig_->halving_ordered, 6);
      for (int i = 0; i < 6; i++) WriteGroup(rig_->mixed, 2, 1 + i % 2);
      WriteSequences();
      WriteLarge(40'000);
      WriteLarge(20'000);
      Submit(round > 0);
      TakeAll();
    }
    if (many_) {
      // More responses than the reserved page can hold, before any is taken.
      for (int i = 0; i < 6000; i++) WriteGroup(rig_->fast, 1);
      Submit(false);
      const auto version = rig_->server.server().FindVersion(rig_->fast);
      CHECK(Eventually([&] { return version->drained(); }));
      TakeAll();
    }
    // Requests are cancelled while they wait and while one runs.
    rig_->runs->Shut();
    for (int i = 0; i < 5; i++) WriteGroup(rig_->held, 4);
    std::vector<int32_t> words;
    for (const auto& [slot, group] : written_) {
      words.insert(words.end(), {slot, group.generation, 0, 1 << 20});
    }
    Submit(false);
    {
      InEngine engine;
      port_->CancelMany(words.data(), words.size());
    }
    rig_->runs->Open();
    TakeAll();
    {
      InEngine engine;
      port_->Shrink();
    }
    // Detach with requests in flight.
    WriteGroup(rig_->fast, 10);
    WriteGroup(rig_->delayed, 3);
    WriteGroup(rig_->ordered, 1);
    WriteGroup(rig_->levelled, 3);
    WriteGroup(rig_->halving, 5);
    WriteGroup(rig_->halving_ordered, 5);
    WriteGroup(rig_->mixed, 3);
    WriteSequences();
    WriteLarge(40'000);
    Submit(false);
    InEngine engine;
    port_->Detach();
    port_.reset();
  }

 private:
  struct Group {
    int32_t generation = 0;
    uint32_t left = 0;
    std::vector<std::string> expected;  // by position; empty: not compared
    bool of_sequence = false;
  };

  void Attach() {
    {
      InEngine engine;
      port_ = rig_->server.server().Attach([] {});
    }
    if (!port_) return;
    Block* slab = nullptr;
    {
      InEngine engine;
      slab = port_->inputs().AddSlab();
    }
    if (slab) slab_ = static_cast<char*>(slab->data());
  }

  // More sequences than there are slots, each of a first, a second and a last request.
  void WriteSequences() {
    for (const uint32_t uid : {rig_->direct, rig_->oldest}) {
      for (int32_t i = 0; i < 3 && slab_; i++) {
        // Requests of two sequences share a group.
        const int32_t id = rig_->last_sequence + 1;
        rig_->last_sequence += 2;
        for (const int32_t flags : {layout::kSequenceStart, 0, layout::kSequenceEnd}) {
          const size_t record = words_.size();
          WriteGroup(uid, 2);
          written_.rbegin()->second.of_sequence = true;
          words_[record + 3] |= layout::kMarkedBit;
          words_.insert(words_.end(), {flags, id, 0, flags, id + 1, 0});
        }
      }
    }
  }

  void WriteGroup(uint32_t uid, int32_t count, int32_t width = 1) {
    if (!slab_) return;
    const int32_t slot = next_slot_++;
    Group& group = written_[slot];
    group.generation = ++generation_;
    group.left = static_cast<uint32_t>(count);
    const int32_t offset = slot * 128;
    for (int32_t i = 0; i < count; i++) {
      // Some of the requests of a cached model are equal.
      const bool equal = uid == rig_->cached || uid == rig_->remote;
      const int32_t value = equal ? slot % 4 * 10 + i % 3 : slot * 1000 + i;
      const std::string bytes = BytesOf(std::vector<int32_t>(static_cast<size_t>(width), value));
      std::memcpy(slab_ + offset + i * 4 * width, bytes.data(), bytes.size());
      const bool wide = uid == rig_->wide || uid == rig_->ordered;
      group.expected.push_back(wide ? std::string(100'000, 'x') : bytes);
    }
    words_.insert(words_.end(), {static_cast<int32_t>(uid), slot, group.generation, count, 1, 0, 1,
                                 0, layout::kSlab, 0, offset, 4 * width, 2, 1, width});
  }

  void WriteLarge(int32_t floats) {
    uint32_t id = 0;
    Block* block = nullptr;
    {
      InEngine engine;
      block = port_->inputs().Stage(static_cast<size_t>(floats) * 4, &id);
    }
    if (!block) return;
    const int32_t slot = next_slot_++;
    Group& group = written_[slot];
    group.generation = ++generation_;
    group.left = 1;
    group.expected.push_back(std::string(static_cast<size_t>(floats) * 4, static_cast<char>(slot)));
    std::memcpy(block->data(), group.expected[0].data(), group.expected[0].size());
    blocks_.push_back(id);
    words_.insert(words_.end(),
                  {static_cast<int32_t>(rig_->large), slot, group.generation, 1, 1, 0, 0, 0,
                   layout::kBlock, static_cast<int32_t>(id), 0, floats * 4, 1, floats});
  }

  void Submit(bool run) {
    Status status;
    {
      InEngine engine;
      status = port_->Submit(words_.data(), words_.size(), nullptr, run);
      if (!status.ok()) {
        for (const uint32_t id : blocks_) port_->inputs().Unstage(id);
      }
    }
    if (status.ok()) {
      pending_.merge(written_);
    } else {
      CHECK(status.code() == Code::kUnavailable);
    }
    written_.clear();
    words_.clear();
    blocks_.clear();
  }

  void TakeAll() {
    CHECK(Eventually([&] {
      std::array<CompletionPage*, 3> pages;
      size_t count = 0;
      {
        InEngine engine;
        count = port_->TakePages(pages);
      }
      std::vector<PortResponse> responses;
      for (CompletionPage* page : std::span(pages).first(count)) {
        ReadPage(*page, &responses);
        InEngine engine;
        port_->Recycle(page);
      }
      for (const PortResponse& response : responses) Check(response);
      return pending_.empty();
    }));
    if (!pending_.empty()) std::cout << pending_.size() << " groups did not end" << std::endl;
    pending_.clear();
  }

  void Check(const PortResponse& response) {
    const auto slot = static_cast<int32_t>(response.slot % PortClient::kPosition);
    const auto known = pending_.find(slot);
    CHECK(known != pending_.end());
    if (known == pending_.end()) return;
    Group& group = known->second;
    if (response.code == Code::kOk) {
      CHECK_EQ(response.outputs.size(), 1u);
      CHECK(response.outputs[0].bytes == group.expected[response.slot / PortClient::kPosition]);
    } else if (must_serve_) {
      CHECK_EQ(response.message, "a served sequence");
    } else if (group.of_sequence && response.code == Code::kInvalidArg) {
      // The first request of its sequence was refused.
      CHECK(Contains(response.message, "must have START"));
    } else if (response.code != Code::kUnavailable && response.code != Code::kCancelled &&
               response.message != kTogether) {
      CHECK_EQ(response.message, "a message of what was scarce");
    }
    if (--group.left == 0) pending_.erase(known);
  }

  Rig* const rig_;
  const bool many_;
  std::shared_ptr<Port> port_;
  char* slab_ = nullptr;
  std::vector<int32_t> words_;
  std::vector<uint32_t> blocks_;
  std::map<int32_t, Group> written_;
  std::map<int32_t, Group> pending_;
  bool must_serve_ = false;
  int32_t next_slot_ = 0;
  int32_t generation_ = 0;
};

// Plays a life. Returns whether any call failed.
bool Play(int number, const Scarcity& scarcity) {
  Rig rig(scarcity.warm);
  Arm(number, scarcity.for_good, scarcity.small);
  Life(&rig, scarcity.for_good).Live();
  // Requests in flight end even if nothing can be allocated.
  CHECK(Eventually([&] { return rig.server.server().in_flight_bytes() == 0; }));
  Disarm();
  // Later requests are served.
  const uint32_t uids[] = {rig.fast, rig.delayed, rig.ordered,         rig.levelled,
                           rig.held, rig.halving, rig.halving_ordered, rig.mixed};
  PortClient client(rig.server.shared());
  for (const uint32_t uid : uids) client.Write(uid, 1, {{0, {1, 1}, "abcd"}});
  for (const PortResponse& response : client.Take(std::size(uids)))
    CHECK(response.code == Code::kOk);
  Life(&rig, false).Serve();
  return CallsCounted() >= number;
}

}  // namespace

void Fail(const char* file, int line, const std::string& text) {
  const InTest test;
  std::cout << file << ":" << line << ": " << text << std::endl;
  failures++;
}

namespace {

// The next call to fail. The steps grow, because a life makes thousands of calls.
int After(int number) {
  return number + 1 + std::max(0, number - 200) / 30;
}

// Returns false if a check failed.
template <typename Play>
bool PlayAll(const char* what, int first, int last, const Scarcity& scarcity, const Play& play) {
  const std::string how = std::string(what) + (scarcity.small ? ", small ones too" : "") +
                          (scarcity.for_good ? ", and all after it" : "") +
                          (scarcity.warm ? ", with versions that have run" : "");
  int played = 0;
  for (int number = first; number <= last && play(number, scarcity); number = After(number)) {
    played++;
    if (failures == 0) continue;
    std::cout << "where call " << number << " fails in " << how << std::endl;
    return false;
  }
  std::cout << played << " times a call failed in " << how << std::endl;
  return failures == 0;
}

}  // namespace

}  // namespace tritonts::test

int main(int argc, char** argv) {
  using namespace tritonts::test;
  const InTest test;
  const int first = argc > 1 ? std::atoi(argv[1]) : 1;
  const int last = argc > 2 ? std::atoi(argv[2]) : INT_MAX;
  bool fine = true;
  for (const bool small : {false, true}) {
    for (const bool for_good : {true, false}) {
      for (const bool warm : {true, false}) {
        fine = fine && PlayAll("a port's life", first, last, {for_good, warm, small}, Play);
      }
      fine = fine && PlayAll("a server's life", first, last, {for_good, false, small}, PlayServer);
    }
  }
  return fine ? 0 : 1;
}
