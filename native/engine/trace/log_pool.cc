#include "engine/trace/log_pool.h"

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "engine/base/spin_lock.h"

namespace tritonts {

namespace {

constexpr size_t kMostLogs = 1024;
constexpr size_t kMostBytes = 4096;  // of a log that is kept

struct Pool {
  SpinLock lock;
  size_t count = 0;
  std::array<std::unique_ptr<TraceLog>, kMostLogs> logs;
};

// Never destroyed: traces may end while the process exits.
Pool& ThePool() {
  static auto* const pool = new Pool();
  return *pool;
}

}  // namespace

std::unique_ptr<TraceLog> TakeLog() {
  Pool& pool = ThePool();
  {
    const std::lock_guard lock(pool.lock);
    if (pool.count > 0) return std::move(pool.logs[--pool.count]);
  }
  auto log = std::make_unique<TraceLog>();
  log->events.reserve(8);
  return log;
}

void PutBackLog(std::unique_ptr<TraceLog> log) noexcept {
  if (!log || log->bytes > kMostBytes) return;
  log->context.clear();
  log->wall_ns = 0;
  log->events.clear();
  log->requests.clear();
  log->texts.clear();
  log->tensors.clear();
  log->bytes = 0;
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.lock);
  if (pool.count < kMostLogs) pool.logs[pool.count++] = std::move(log);
}

}  // namespace tritonts
