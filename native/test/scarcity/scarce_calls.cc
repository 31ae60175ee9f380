#include "scarce_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

// The number of the failing call, and whether all later ones fail, too. Calls are counted while
// armed.
std::atomic<bool> armed{false};
std::atomic<int> calls{0};
std::atomic<int> failing{0};
std::atomic<bool> for_good{false};
std::atomic<bool> everything{false};
// On whose behalf a thread makes calls. The test's own calls never fail.
enum class Whose { kEngine, kTest, kJs };
thread_local Whose whose = Whose::kEngine;

// Whether to print the stack of the first failed call, as addresses for addr2line.
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

void Arm(int first, bool good, bool small) {
  calls = 0;
  failing = first;
  for_good = good;
  everything = small;
  armed = true;
}
void Disarm() {
  armed = false;
}
int CallsCounted() {
  return calls;
}

InEngine::InEngine() {
  whose = Whose::kJs;
}
InEngine::~InEngine() {
  whose = Whose::kTest;
}
InTest::InTest() : before_(static_cast<int>(std::exchange(whose, Whose::kTest))) {}
InTest::~InTest() {
  whose = static_cast<Whose>(before_);
}

}  // namespace tritonts::test
