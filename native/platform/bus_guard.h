// Keeps this process alive if a mapped file gets shorter. An access behind the end of the file
// raises SIGBUS, which ends a process. For a guarded range, the handler of this file puts zeros in
// the place of the lost pages, and the access goes on.
//
// The handler is installed with the first range, and calls the handler that was there before for
// all other faults. A program that installs its own handler for SIGBUS later takes the guard away.
// Windows: files that are mapped cannot be made shorter, and nothing is done.
#pragma once

#include <cstddef>

namespace tritonts::platform {

// Guards a mapped range, from its construction to its end. The range begins at a page and stays
// mapped meanwhile. Any thread may make one and end it, and read `lost`.
class BusGuard {
 public:
  // Throws std::bad_alloc.
  BusGuard(void* begin, size_t size);
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  // Whether pages were lost. Their bytes are zeros, and what is written to them reaches no one.
  bool lost() const;

 private:
  struct Entry;
  struct Entries;
  friend struct BusHandler;

  Entry* entry_ = nullptr;
};

}  // namespace tritonts::platform
