// Retries an operation that must succeed until there is enough memory for it.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace tritonts {

// Calls `call` again and again while it throws std::bad_alloc, and returns its result. A call that
// throws must have changed nothing. Only threads that no request waits for may use this, and no
// lock may be held.
template <typename Call>
auto Insist(Call&& call) -> decltype(call()) {
  while (true) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      // Another thread may free some memory meanwhile.
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace tritonts
