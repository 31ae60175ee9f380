// The threads of the process that share the rows of large batches. They sleep while there is no
// work. A caller works along, and waits only for tasks that a thread has begun.
//
// There is one pool for all models, because more threads than cores would only get in each other's
// way. It is never destroyed: its threads sleep, or work for a caller that waits, when the process
// ends.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace tritonts::fil {

class RowPool {
 public:
  // Called with the number of a worker, less than the `workers` of Run, and of a task. Two tasks at
  // a time have different workers. Must not throw.
  using Task = std::function<void(size_t worker, size_t task)>;

  // The pool of the process, with a thread for each core but the caller's.
  static RowPool& OfProcess();

  // Starts no thread before Run needs it. The pool must live as long as the process: its threads
  // never end.
  explicit RowPool(size_t most_threads) : most_threads_(most_threads) {}
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  // The workers that a call of Run can have, the caller included.
  size_t most_workers() const { return most_threads_ + 1; }

  // Runs `tasks` tasks on at most `workers` threads, of which the caller is one, and returns when
  // all have ended. If the system has no threads, the caller runs all. Any thread may call it, also
  // while others do, but no task may.
  void Run(size_t tasks, size_t workers, const Task& task);

 private:
  // A call of Run. It lives on the caller's stack.
  struct Job {
    const Task& task;
    const size_t tasks;
    size_t open_workers;  // threads that may still join
    size_t next_worker = 1;
    size_t next_task = 0;
    size_t at_work = 0;  // threads of the pool
    Job* next = nullptr;
    std::condition_variable left{};  // no thread is at work any more
  };

  void StartThreads(size_t wanted);
  void Work();
  // The first job that a thread can join; null: none.
  Job* OpenJob();
  void Remove(Job* job);

  const size_t most_threads_;
  std::mutex mutex_;  // guards all below, and all jobs
  std::condition_variable opened_;
  Job* first_ = nullptr;
  size_t threads_ = 0;  // started, or about to be
};

}  // namespace tritonts::fil
