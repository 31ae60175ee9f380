#include "engine/trace/log_pool.h"

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "engine/base/spin_lock.h"

namespace tritonts {

namespace {

constexpr size_t kMostLogs = 4096;
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

LogStock::~LogStock() {
  PutBackLogs(logs_);
}

std::unique_ptr<TraceLog> LogStock::Take(size_t expected) {
  if (logs_.empty()) {
    logs_.reserve(expected);
    Pool& pool = ThePool();
    const std::lock_guard lock(pool.lock);
    while (logs_.size() < expected && pool.count > 0) {
      logs_.push_back(std::move(pool.logs[--pool.count]));
    }
  }
  if (!logs_.empty()) {
    auto log = std::move(logs_.back());
    logs_.pop_back();
    return log;
  }
  auto log = std::make_unique<TraceLog>();
  log->events.reserve(8);
  return log;
}

void PutBackLogs(std::span<std::unique_ptr<TraceLog>> logs) noexcept {
  for (std::unique_ptr<TraceLog>& log : logs) {
    if (!log) continue;
    if (log->bytes > kMostBytes) {
      log.reset();
      continue;
    }
    log->context.clear();
    log->wall_ns = 0;
    log->events.clear();
    log->requests.clear();
    log->texts.clear();
    log->tensors.clear();
    log->bytes = 0;
  }
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.lock);
  for (std::unique_ptr<TraceLog>& log : logs) {
    if (log && pool.count < kMostLogs) pool.logs[pool.count++] = std::move(log);
  }
}

}  // namespace tritonts
