// While this object lives, the system cannot start threads: no stack fits into the process' memory
// limit, and the stacks cached by the C library are in use.
#pragma once

#include <vector>

#include "engine_fixture.h"
#include "platform/thread.h"

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace tritonts::test {

// Whether a sanitizer is active: it needs memory at any time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

#if defined(__linux__)
class NoThreads {
 public:
  NoThreads() {
    threads_.reserve(kMost);
    getrlimit(RLIMIT_AS, &before_);
    rlimit none = before_;
    none.rlim_cur = 1 << 20;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    while (threads_.size() < kMost) {
      platform::Thread thread;
      if (!thread.Start([this] { over_.Wait(); })) break;
      threads_.push_back(std::move(thread));
    }
    CHECK(threads_.size() < kMost);
  }
  ~NoThreads() {
    CHECK(setrlimit(RLIMIT_AS, &before_) == 0);
    over_.Set();
    for (platform::Thread& thread : threads_) thread.Join();
  }

 private:
  static constexpr size_t kMost = 1000;
  rlimit before_;
  Event over_;
  std::vector<platform::Thread> threads_;
};
#else
class NoThreads {};
#endif

}  // namespace tritonts::test
