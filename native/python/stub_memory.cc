// The stub's side of an instance's shared memory (python/protocol.h), for Python's ctypes.
//
// ctypes releases Python's lock while a function here runs, so that one thread may wait for a
// message while others run. Any thread may call any function, but only one waits in
// tritonts_next at a time.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <string>

#include "engine/base/clock.h"
#include "platform/futex.h"
#include "platform/pause.h"
#include "python/offset_heap.h"
#include "python/protocol.h"
#include "python/ring.h"

#define TRITONTS_EXPORT extern "C" __attribute__((visibility("default")))

namespace tritonts::python {

namespace {

// Waits are at most so long, so that nothing that is spoilt in the memory is waited for for ever.
constexpr uint64_t kSleepNs = 1'000'000'000;
// After so long without a message memory is given back.
constexpr uint64_t kIdleNs = 5'000'000'000;
// So many of the places that were lent are looked at at a time.
constexpr size_t kMostLooks = 32;

struct Stub {
  char* base = nullptr;
  size_t size = 0;
  int file = -1;
  RingReader down;
  uint64_t spin_ns = 0;
  bool last_was_short = true;
  uint64_t idle_since_ns = 0;  // 0: it is not idle
  uint64_t initial_bytes = 0;

  std::mutex write_mutex;  // guards the next ones
  RingWriter up;
  // Places to free once the other side has read so many messages, and gives back what it was lent.
  struct Sent {
    uint32_t number;
    uint64_t place;
    bool lent;
  };
  std::deque<Sent> sent;
  std::deque<uint64_t> lent;  // read, and not given back when it was last looked at

  std::mutex heap_mutex;  // guards the next ones
  OffsetHeap heap;
  std::string fault;
};

bool Refuse(char* fault, size_t room, const std::string& text) {
  std::snprintf(fault, room, "%s", text.c_str());
  return false;
}

// Maps the memory, and that of the version's inputs behind it.
void* Map(const ControlPage& page, int file, int inputs) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
  if (page.inputs_size == 0) return mmap(nullptr, page.size, kAccess, kFlags, file, 0);
  void* const all = mmap(nullptr, page.size + page.inputs_size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return all;
  void* const behind = static_cast<char*>(all) + page.size;
  if (mmap(all, page.size, kAccess, kFlags | MAP_FIXED, file, 0) == MAP_FAILED) return MAP_FAILED;
  if (mmap(behind, page.inputs_size, kAccess, kFlags | MAP_FIXED, inputs, 0) == MAP_FAILED) {
    return MAP_FAILED;
  }
  return all;
}

bool Open(Stub* stub, int file, int inputs, char* fault, size_t room) {
  ControlPage page{};
  if (pread(file, &page, sizeof(page), 0) != static_cast<ssize_t>(sizeof(page)) ||
      page.magic != kMagic) {
    return Refuse(fault, room, "the shared memory is not that of a server");
  }
  if (page.protocol != kProtocol) {
    return Refuse(fault, room,
                  "the server speaks protocol " + std::to_string(page.protocol) +
                      ", and this stub " + std::to_string(kProtocol));
  }
  void* const memory = Map(page, file, inputs);
  if (memory == MAP_FAILED) {
    return Refuse(fault, room,
                  "no addresses for " + std::to_string(page.size + page.inputs_size) +
                      " bytes of shared memory: " + std::strerror(errno));
  }
  stub->base = static_cast<char*>(memory);
  stub->size = page.size + page.inputs_size;
  stub->file = file;
  stub->spin_ns = page.spin_ns;
  stub->initial_bytes = page.initial_bytes;
  // Where pages could run out, the server must not touch one that was given back.
  const int seals = fcntl(file, F_GET_SEALS);
  const bool returns = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  stub->down = RingReader(stub->base + page.ring_down, page.ring_slots);
  stub->up = RingWriter(stub->base + page.ring_up, page.ring_slots);
  const auto commit = [file](uint64_t offset, uint64_t size, std::string* why) {
    const int error = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(size));
    if (error == 0) return true;
    *why = "no room for " + std::to_string(size) +
           " bytes of shared memory: " + std::strerror(error) + "; is /dev/shm too small?";
    return false;
  };
  stub->heap = OffsetHeap(page.heap_up, page.size, page.growth_bytes, commit,
                          [file, returns](uint64_t offset, uint64_t size) {
                            if (!returns) return;
                            (void)!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                             static_cast<off_t>(offset), static_cast<off_t>(size));
                          });
  return true;
}

// Where the other side says that it needs what begins at `place` no more.
std::atomic<uint32_t>* LentWord(const Stub* stub, uint64_t place) {
  return reinterpret_cast<std::atomic<uint32_t>*>(stub->base + place);
}

// With the locks. Throws std::bad_alloc.
void FreeRead(Stub* stub, OffsetHeap* heap) {
  const uint32_t read = stub->up.read();
  while (!stub->sent.empty() && static_cast<int32_t>(read - stub->sent.front().number) >= 0) {
    const Stub::Sent& first = stub->sent.front();
    if (first.lent) {
      stub->lent.push_back(first.place);
    } else {
      heap->Free(first.place);
    }
    stub->sent.pop_front();
  }
  // They come back in about the order in which they were lent.
  for (size_t i = std::min(stub->lent.size(), kMostLooks); i > 0; i--) {
    const uint64_t place = stub->lent.front();
    stub->lent.pop_front();
    if (LentWord(stub, place)->load(std::memory_order_acquire) != 0) {
      heap->Free(place);
    } else {
      stub->lent.push_back(place);
    }
  }
}

// Gives back what is free beyond what the heap begins with.
void Shrink(Stub* stub) {
  const std::lock_guard write_lock(stub->write_mutex);
  const std::lock_guard lock(stub->heap_mutex);
  FreeRead(stub, &stub->heap);
  stub->heap.Shrink(stub->initial_bytes);
}

bool LookFor(uint64_t until_ns, const auto& found) {
  do {
    for (int i = 0; i < 16; i++) {
      if (found()) return true;
      platform::Pause();
    }
  } while (NowNs() < until_ns);
  return found();
}

// Called before it sleeps.
void Nudge(Stub* stub) {
  const std::lock_guard lock(stub->write_mutex);
  stub->up.Nudge();
}

struct Watched {
  int socket;
  int server;  // a descriptor of the process; -1: the system has none
};

// Ends the process, and those that the model has started, when the server has gone, whatever Python
// does meanwhile.
void* Watch(void* argument) {
  const auto* const watched = static_cast<const Watched*>(argument);
  pollfd ends[] = {{watched->socket, POLLRDHUP, 0}, {watched->server, POLLIN, 0}};
  for (;;) {
    const int ready = poll(ends, 2, -1);
    if (ready < 0 && errno == EINTR) continue;
    const bool closed = (ends[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
    if (ready >= 0 && !closed && ends[1].revents == 0) continue;
    // Of a group of its own, in which this process is, too.
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    _exit(0);
  }
}

}  // namespace

}  // namespace tritonts::python

using namespace tritonts;
using namespace tritonts::python;

// Maps the memory of a descriptor. Null: `fault` says why not.
TRITONTS_EXPORT void* tritonts_open(int file, int inputs, char* fault, size_t room) try {
  auto* const stub = new Stub();
  if (Open(stub, file, inputs, fault, room)) return stub;
  delete stub;
  return nullptr;
} catch (const std::bad_alloc&) {
  Refuse(fault, room, "no memory");
  return nullptr;
}

TRITONTS_EXPORT uint64_t tritonts_base(Stub* stub) {
  return reinterpret_cast<uint64_t>(stub->base);
}

TRITONTS_EXPORT uint64_t tritonts_size(Stub* stub) {
  return stub->size;
}

// Takes the next message, for which it waits. 1: there is one; 0: not yet, ask again; -1: the ring
// is spoilt.
TRITONTS_EXPORT int tritonts_next(Stub* stub, Message* message) {
  const auto found = [&] { return stub->down.HasMessage(); };
  if (!found()) {
    const uint64_t began = NowNs();
    if (stub->spin_ns == 0 || !stub->last_was_short || !LookFor(began + stub->spin_ns, found)) {
      Nudge(stub);
      stub->down.Sleep(kSleepNs, [] { return false; });
    }
    stub->last_was_short = NowNs() - began < 2 * stub->spin_ns;
  }
  const RingReader::Result result = stub->down.Peek(message);
  if (result == RingReader::Result::kNone) {
    const uint64_t now = NowNs();
    if (stub->idle_since_ns == 0) stub->idle_since_ns = now;
    if (now - stub->idle_since_ns > kIdleNs) Shrink(stub);
    return 0;
  }
  stub->idle_since_ns = 0;
  if (result == RingReader::Result::kBroken) return -1;
  stub->down.Done();
  return 1;
}

// Sends a message. `frees`: a place that is free once the message was read, or with the bit 4 of an
// answer's word once it was given back; 0: none. Returns -1 if the ring is spoilt.
TRITONTS_EXPORT int tritonts_send(Stub* stub, uint32_t kind, uint32_t slot, uint64_t offset,
                                  uint64_t size, uint64_t word, uint64_t frees) try {
  const Message message{kind, slot, offset, size, word};
  const bool lent = kind == static_cast<uint32_t>(Kind::kAnswer) && (word & 4) != 0;
  if (lent) LentWord(stub, frees)->store(0, std::memory_order_relaxed);
  for (;;) {
    const std::lock_guard lock(stub->write_mutex);
    const RingWriter::Result result = stub->up.Write(message);
    if (result == RingWriter::Result::kBroken) return -1;
    if (result == RingWriter::Result::kWritten) {
      if (frees != 0) stub->sent.push_back({stub->up.written(), frees, lent});
      return 0;
    }
    stub->up.AwaitRoom(kSleepNs);
  }
} catch (const std::bad_alloc&) {
  return -1;
}

// The place of `size` bytes; 0: there is none, and tritonts_fault says why.
TRITONTS_EXPORT uint64_t tritonts_allocate(Stub* stub, uint64_t size) try {
  const std::lock_guard write_lock(stub->write_mutex);
  const std::lock_guard lock(stub->heap_mutex);
  FreeRead(stub, &stub->heap);
  return stub->heap.Allocate(size, &stub->fault);
} catch (const std::bad_alloc&) {
  return 0;
}

TRITONTS_EXPORT void tritonts_free(Stub* stub, uint64_t place) {
  const std::lock_guard lock(stub->heap_mutex);
  stub->heap.Free(place);
}

// Why there was no place.
TRITONTS_EXPORT void tritonts_fault(Stub* stub, char* fault, size_t room) {
  const std::lock_guard lock(stub->heap_mutex);
  Refuse(fault, room, stub->fault);
}

// Waits until a Reply has a state, and returns that; 0: not yet, ask again.
TRITONTS_EXPORT uint32_t tritonts_await(Stub* stub, uint64_t word) {
  const auto* const reply = reinterpret_cast<const Reply*>(stub->base + word);
  const auto found = [&] { return reply->state.load(std::memory_order_acquire) != 0; };
  if (!found() && (stub->spin_ns == 0 || !LookFor(NowNs() + stub->spin_ns, found))) {
    Nudge(stub);
    platform::FutexWait(&reply->state, 0, kSleepNs);
  }
  return reply->state.load(std::memory_order_acquire);
}

// Sets a Reply back, before it is asked for.
TRITONTS_EXPORT void tritonts_reset(Stub* stub, uint64_t word) {
  auto* const reply = reinterpret_cast<Reply*>(stub->base + word);
  reply->state.store(0, std::memory_order_relaxed);
}

// Ends this process when the server has gone: when `socket` is closed on its side, or when its
// process ends. Returns 0, or the error number.
TRITONTS_EXPORT int tritonts_watch(int socket, int server) {
  int process = -1;
#if defined(SYS_pidfd_open)
  process = static_cast<int>(syscall(SYS_pidfd_open, server, 0));
#endif
  // The system's own way ends this process alone.
  if (process < 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != server) _exit(0);
  auto* const watched = new (std::nothrow) Watched{socket, process};
  if (!watched) return ENOMEM;
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, Watch, watched);
  if (error == 0) {
    pthread_detach(thread);
  } else {
    delete watched;
  }
  return error;
}
