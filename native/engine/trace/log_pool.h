// Logs of traces that have been written, to be used again: a thread writes them, and another one
// would pay for freeing and allocating them.
//
// Of the process. Any thread may call the functions.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/trace/trace_log.h"

namespace tritonts {

// Empty logs, which a thread takes together for the requests of a header. The destructor gives back
// those that are left. Not thread-safe.
class LogStock {
 public:
  LogStock() = default;
  ~LogStock();
  LogStock(const LogStock&) = delete;
  LogStock& operator=(const LogStock&) = delete;

  // An empty log. If there is none, the stock gets as many as `expected` from the pool first.
  // Throws std::bad_alloc.
  std::unique_ptr<TraceLog> Take(size_t expected = 1);

 private:
  std::vector<std::unique_ptr<TraceLog>> logs_;
};

// Gives logs back, of which any may be null. Large ones are freed.
void PutBackLogs(std::span<std::unique_ptr<TraceLog>> logs) noexcept;

}  // namespace tritonts
