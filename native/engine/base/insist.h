// For what must be done, and needs memory that may be wanting: it is done when there is some.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace tritonts {

// What `call` returns, which is made again and again while it throws std::bad_alloc; that it then
// has changed nothing is the caller's promise. For threads that no request waits for, and with no
// lock held.
template <typename Call>
auto Insist(Call&& call) -> decltype(call()) {
  while (true) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      // Somebody may give some back.
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace tritonts
