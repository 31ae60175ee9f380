// Waits on a word of memory that processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace tritonts::platform {

// Whether this system has these functions. If not, they do nothing.
bool HasFutex();

// Sleeps while the word is `expected`, for at most `timeout_ns`. May return early. Any thread of
// any process that has the memory may call it.
void FutexWait(const std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);

// Wakes all threads that sleep on the word. Any thread of any process that has the memory may call
// it.
void FutexWake(std::atomic<uint32_t>* word);

}  // namespace tritonts::platform
