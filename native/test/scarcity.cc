// What happens where the system has no memory or no thread: this program takes both away, at the
// first call that asks for some, at the second, and so on, once or from then on for good, while
// requests go through a port. It must see coded errors and right answers only, an end of every
// request, and nothing counted as in flight afterwards.
//
//   tritonts_scarcity [--everything] [first [last]]    numbers of the calls that fail
//
// Two ways: one call fails, of those that a JS thread makes or that are for blocks, pages and
// threads; or all calls for blocks and pages do, from one on. With --everything also small memory
// that runs ask for on their own threads, and a timer, which the engine does not endure yet.
//
// Linux only: functions of the C library are defined here, in front of its own.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "port_client.h"
#include "server_fixture.h"

namespace {

// The call that fails, and all after it; counted while it is armed.
std::atomic<bool> armed{false};
std::atomic<int> calls{0};
std::atomic<int> failing{0};
std::atomic<bool> for_good{false};
bool everything = false;
// The test's own calls never fail. A thread of the engine's is neither's own.
enum class Whose { kEngine, kTest, kJs };
thread_local Whose whose = Whose::kEngine;

// Whether to tell where the first one failed: addresses for addr2line.
const bool trace = std::getenv("TRITONTS_TRACE") != nullptr;

bool Fails(bool is_small = false) {
  if (whose == Whose::kTest || !armed.load(std::memory_order_relaxed)) return false;
  if (is_small && !everything && (for_good || whose == Whose::kEngine)) return false;
  const int call = ++calls;
  if (call == failing && trace) {
    const Whose before = std::exchange(whose, Whose::kTest);
    void* frames[24];
    backtrace_symbols_fd(frames, backtrace(frames, 24), 2);
    whose = before;
  }
  return for_good ? call >= failing : call == failing;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void* AllocateOrNull(size_t size, size_t alignment) {
  if (Fails(true)) return nullptr;
  void* memory = nullptr;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return posix_memalign(&memory, least, size ? size : 1) == 0 ? memory : nullptr;
}
void* Allocate(size_t size, size_t alignment) {
  void* memory = AllocateOrNull(size, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#define SCARCE extern "C" __attribute__((visibility("default")))

SCARCE void* aligned_alloc(size_t alignment, size_t size) noexcept {
  static auto* const next = Next<void*(size_t, size_t)>("aligned_alloc");
  return Fails() ? nullptr : next(alignment, size);
}
SCARCE void* mmap(void* at, size_t size, int protection, int flags, int file,
                  off_t offset) noexcept {
  static auto* const next = Next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (!Fails()) return next(at, size, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
SCARCE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) noexcept {
  static auto* const next =
      Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return Fails() ? EAGAIN : next(thread, attributes, run, argument);
}

namespace tritonts::test {

namespace {

std::atomic<int> failures{0};

// While it lives, what this thread asks for may fail.
class InEngine {
 public:
  InEngine() { whose = Whose::kJs; }
  ~InEngine() { whose = Whose::kTest; }
};

// A server with versions of all kinds, made while nothing is scarce.
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
    // Outputs that last as long as the run only.
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
    held_backend = std::make_unique<ScriptedBackend>(ScriptOf(runs));
    held = serve(held_backend.get(), ConfigOf(FloatIo(), 1, {1, {}, 0}));
    if (!warm) return;
    PortClient client(server.shared());
    for (int i = 0; i < 3; i++) {
      for (const uint32_t uid : {fast, delayed, wide, held}) {
        for (int k = 0; k < 20; k++) client.Write(uid, 1, {{0, {1, 1}, "abcd"}});
      }
      client.Write(large, 0, {{0, {40'000}, std::string(160'000, 'z')}});
      client.Take(81);
    }
  }

  std::shared_ptr<Runs> runs = std::make_shared<Runs>();
  IdentityBackend identity;
  std::unique_ptr<ScriptedBackend> wide_backend;
  std::unique_ptr<ScriptedBackend> held_backend;
  ServerBench server;
  uint32_t fast = 0, delayed = 0, large = 0, wide = 0, held = 0;
};

// One environment's life.
class Life {
 public:
  explicit Life(Rig* rig) : rig_(rig) {}

  void Live() {
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
    for (int round = 0; round < 2; round++) {
      WriteGroup(rig_->fast, 20);
      if (everything) WriteGroup(rig_->delayed, 3);
      WriteGroup(rig_->wide, 1);
      WriteGroup(rig_->wide, 1);
      WriteLarge(40'000);
      WriteLarge(20'000);
      Submit(round > 0);
      TakeAll();
    }
    if (for_good) {
      // More answers than the reserved page takes, before any is taken.
      for (int i = 0; i < 6000; i++) WriteGroup(rig_->fast, 1);
      Submit(false);
      const auto version = rig_->server.server().FindVersion(rig_->fast);
      CHECK(Eventually([&] { return version->drained(); }));
      TakeAll();
    }
    // Cancelled while they wait and while one runs.
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
    // It leaves with requests in flight.
    WriteGroup(rig_->fast, 10);
    if (everything) WriteGroup(rig_->delayed, 3);
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
  };

  void WriteGroup(uint32_t uid, int32_t count) {
    if (!slab_) return;
    const int32_t slot = next_slot_++;
    Group& group = written_[slot];
    group.generation = ++generation_;
    group.left = static_cast<uint32_t>(count);
    const int32_t offset = slot * 128;
    for (int32_t i = 0; i < count; i++) {
      const std::string bytes = BytesOf<int32_t>({slot * 1000 + i});
      std::memcpy(slab_ + offset + i * 4, bytes.data(), 4);
      group.expected.push_back(uid == rig_->wide ? std::string(100'000, 'x') : bytes);
    }
    words_.insert(words_.end(), {static_cast<int32_t>(uid), slot, group.generation, count, 1, 0, 1,
                                 0, layout::kSlab, 0, offset, 4, 2, 1, 1});
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
      std::vector<PortAnswer> answers;
      for (CompletionPage* page : std::span(pages).first(count)) {
        PortClient::Read(*page, &answers);
        InEngine engine;
        port_->Recycle(page);
      }
      for (const PortAnswer& answer : answers) Check(answer);
      return pending_.empty();
    }));
    if (!pending_.empty()) std::cout << pending_.size() << " groups did not end" << std::endl;
    pending_.clear();
  }

  void Check(const PortAnswer& answer) {
    const auto slot = static_cast<int32_t>(answer.slot % PortClient::kPosition);
    const auto known = pending_.find(slot);
    CHECK(known != pending_.end());
    if (known == pending_.end()) return;
    Group& group = known->second;
    if (answer.code == Code::kOk) {
      CHECK_EQ(answer.outputs.size(), 1u);
      CHECK(answer.outputs[0].bytes == group.expected[answer.slot / PortClient::kPosition]);
    } else if (answer.code != Code::kUnavailable && answer.code != Code::kCancelled) {
      CHECK_EQ(answer.message, "a message of what was scarce");
    }
    if (--group.left == 0) pending_.erase(known);
  }

  Rig* const rig_;
  std::shared_ptr<Port> port_;
  char* slab_ = nullptr;
  std::vector<int32_t> words_;
  std::vector<uint32_t> blocks_;
  std::map<int32_t, Group> written_;
  std::map<int32_t, Group> pending_;
  int32_t next_slot_ = 0;
  int32_t generation_ = 0;
};

// Whether a call failed at all.
bool Play(int number, bool good, bool warm) {
  Rig rig(warm);
  calls = 0;
  failing = number;
  for_good = good;
  armed = true;
  Life(&rig).Live();
  // What is in flight still ends while nothing can be had.
  CHECK(Eventually([&] { return rig.server.server().in_flight_bytes() == 0; }));
  armed = false;
  return calls >= number;
}

}  // namespace

void Fail(const char* file, int line, const std::string& text) {
  std::cout << file << ":" << line << ": " << text << std::endl;
  failures++;
}

// False where a check failed.
bool PlayAll(int first, int last, bool good, bool warm) {
  int number = first;
  while (number <= last && Play(number, good, warm)) {
    if (failures > 0) {
      std::cout << "where call " << number << (good ? " and all after it fail" : " fails")
                << (warm ? ", with versions that have run" : "") << std::endl;
      return false;
    }
    number++;
  }
  std::cout << number - first << " calls failed, one a life" << (good ? ", and all after it" : "")
            << (warm ? ", with versions that have run" : "") << std::endl;
  return failures == 0;
}

}  // namespace tritonts::test

int main(int argc, char** argv) {
  using tritonts::test::PlayAll;
  whose = Whose::kTest;
  int at = 1;
  if (argc > 1 && std::string(argv[1]) == "--everything") everything = at++ > 0;
  const int first = argc > at ? std::atoi(argv[at]) : 1;
  const int last = argc > at + 1 ? std::atoi(argv[at + 1]) : INT_MAX;
  const bool fine = PlayAll(first, last, true, true) && PlayAll(first, last, true, false) &&
                    PlayAll(first, last, false, true) &&
                    (!everything || PlayAll(first, last, false, false));
  return fine ? 0 : 1;
}
