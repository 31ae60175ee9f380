// The pool of threads for rows: every task once, whoever calls, also without threads.
#include "backends/fil/row_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"
#include "no_threads.h"

namespace tritonts::test {

namespace {

using fil::RowPool;

// Its threads never end, so it must live as long as the process.
RowPool& PoolOf(size_t threads) {
  return *new RowPool(threads);
}

// Runs tasks, and checks that each ran once, and that no worker had two at a time.
void CheckRun(RowPool* pool, size_t tasks, size_t workers) {
  std::vector<std::atomic<int>> ran(tasks);
  std::vector<std::atomic<int>> busy(workers);
  std::atomic<int> wrong{0};
  pool->Run(tasks, workers, [&](size_t worker, size_t task) {
    if (worker >= workers || busy[worker].fetch_add(1) != 0) wrong++;
    ran[task]++;
    busy[worker].fetch_sub(1);
  });
  for (const std::atomic<int>& count : ran) {
    if (count != 1) wrong++;
  }
  CHECK_EQ(wrong.load(), 0);
}

}  // namespace

TEST(FilRowPoolRunsEachTaskOnce) {
  RowPool& pool = PoolOf(3);
  for (size_t tasks = 0; tasks < 40; tasks++) {
    for (size_t workers = 1; workers < 6; workers++) CheckRun(&pool, tasks, workers);
  }
}

TEST(FilRowPoolServesConcurrentCallers) {
  RowPool& pool = PoolOf(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; i++) {
    callers.emplace_back([&pool, i] {
      for (size_t round = 0; round < 200; round++) {
        CheckRun(&pool, 1 + (round * 7 + static_cast<size_t>(i)) % 30, 1 + round % 5);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(FilRowPoolUsesItsThreads) {
  RowPool& pool = PoolOf(1);
  std::atomic<int> present{0};
  // Neither task ends before both have begun.
  pool.Run(2, 2, [&](size_t, size_t) {
    present++;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (present < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  CHECK_EQ(present.load(), 2);
}

TEST(FilRowPoolWithoutThreadsLeavesTheWorkToTheCaller) {
  if (kWatched) SKIP("sanitizers need memory at any time");
  RowPool& pool = PoolOf(3);
  std::atomic<int> elsewhere{0};
  {
    const NoThreads none;
    const std::thread::id caller = std::this_thread::get_id();
    pool.Run(10, 4, [&](size_t, size_t) {
      if (std::this_thread::get_id() != caller) elsewhere++;
    });
  }
  CHECK_EQ(elsewhere.load(), 0);
  // Later there are threads.
  CheckRun(&pool, 20, 4);
}

}  // namespace tritonts::test
