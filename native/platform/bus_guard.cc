#include "bus_guard.h"

#if !defined(_WIN32)
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#endif

namespace tritonts::platform {

#if defined(_WIN32)

BusGuard::BusGuard(void*, size_t) {}
BusGuard::~BusGuard() = default;
bool BusGuard::lost() const {
  return false;
}

#else

// A signal handler may take no lock and may not allocate. So it only reads atomics, in memory that
// is never freed.
struct BusGuard::Entry {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> lost{false};
  Entry* next_free = nullptr;  // guarded by the mutex
};

struct BusGuard::Entries {
  static constexpr size_t kCount = 256;
  Entry all[kCount];
  Entries* next = nullptr;  // set before the list is published
};

struct BusHandler {
  static std::mutex mutex;  // guards the following two
  static BusGuard::Entry* free;
  static bool installed;
  static std::atomic<BusGuard::Entries*> first;
  static struct sigaction before;  // written once, before the handler can run
  static size_t page;

  static void Install() {
    if (installed) return;
    page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    struct sigaction ours{};
    ours.sa_sigaction = &Handle;
    // An alternative stack, if the thread has one.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, nullptr, &before);
    installed = sigaction(SIGBUS, &ours, nullptr) == 0;
  }

  // On Linux without the function of the C library: sanitizers replace it by one that is not for
  // signal handlers, and that takes other threads' reads of the range for races.
  static bool MapZeros(void* place, size_t size, int kind) {
#if defined(__linux__) && defined(SYS_mmap)
    return syscall(SYS_mmap, place, size, PROT_READ | PROT_WRITE, kind, -1, 0) != -1;
#else
    return mmap(place, size, PROT_READ | PROT_WRITE, kind, -1, 0) != MAP_FAILED;
#endif
  }

  // Replaces the pages from the lost one to the end of its range with zeros. False: no guarded
  // range has this address.
  static bool Mend(uintptr_t address) {
    for (BusGuard::Entries* entries = first.load(std::memory_order_acquire); entries;
         entries = entries->next) {
      for (BusGuard::Entry& entry : entries->all) {
        const uintptr_t begin = entry.begin.load(std::memory_order_acquire);
        const uintptr_t end = entry.end.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= end) continue;
        const uintptr_t lost = address - address % page;
        const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address comes as a number
        void* const place = reinterpret_cast<void*>(lost);
        if (!MapZeros(place, end - lost, kind)) return false;
        entry.lost.store(true, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  static void Handle(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    // A signal that somebody sent has no address.
    const bool fault = info->si_code > 0;
    const bool mended = fault && Mend(reinterpret_cast<uintptr_t>(info->si_addr));
    errno = error;
    if (mended) return;
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else {
      // The same access, or the signal again, has its usual effect now.
      sigaction(signal, &before, nullptr);
      if (!fault) raise(signal);
    }
  }
};

std::mutex BusHandler::mutex;
BusGuard::Entry* BusHandler::free = nullptr;
bool BusHandler::installed = false;
std::atomic<BusGuard::Entries*> BusHandler::first{nullptr};
struct sigaction BusHandler::before{};
size_t BusHandler::page = 0;

BusGuard::BusGuard(void* begin, size_t size) {
  std::lock_guard lock(BusHandler::mutex);
  BusHandler::Install();
  if (!BusHandler::free) {
    auto* const more = new Entries;
    more->next = BusHandler::first.load(std::memory_order_relaxed);
    for (Entry& entry : more->all) {
      entry.next_free = BusHandler::free;
      BusHandler::free = &entry;
    }
    BusHandler::first.store(more, std::memory_order_release);
  }
  entry_ = BusHandler::free;
  BusHandler::free = entry_->next_free;
  const auto from = reinterpret_cast<uintptr_t>(begin);
  entry_->lost.store(false, std::memory_order_relaxed);
  entry_->end.store(from + size, std::memory_order_release);
  entry_->begin.store(from, std::memory_order_release);
}

BusGuard::~BusGuard() {
  std::lock_guard lock(BusHandler::mutex);
  entry_->begin.store(0, std::memory_order_release);
  entry_->end.store(0, std::memory_order_release);
  entry_->next_free = BusHandler::free;
  BusHandler::free = entry_;
}

bool BusGuard::lost() const {
  return entry_->lost.load(std::memory_order_acquire);
}

#endif

}  // namespace tritonts::platform
