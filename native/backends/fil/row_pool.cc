#include "row_pool.h"

#include <algorithm>
#include <new>

#include "platform/cores.h"
#include "platform/host_policy.h"
#include "platform/thread.h"

namespace tritonts::fil {

RowPool& RowPool::OfProcess() {
  static auto* const pool = new RowPool(platform::AvailableCores() - 1);
  return *pool;
}

void RowPool::Run(size_t tasks, size_t workers, const Task& task) {
  // The pool's threads are not bound, so an instance that is bound does not use them.
  const size_t most = platform::IsThreadBound() ? 1 : most_workers();
  const size_t threads = std::min({workers, tasks, most});
  if (threads <= 1) {
    for (size_t i = 0; i < tasks; i++) task(0, i);
    return;
  }
  StartThreads(threads - 1);
  Job job{task, tasks, threads - 1};
  std::unique_lock lock(mutex_);
  Job** end = &first_;
  while (*end) end = &(*end)->next;
  *end = &job;
  for (size_t i = 1; i < threads; i++) opened_.notify_one();
  while (job.next_task < tasks) {
    const size_t own = job.next_task++;
    lock.unlock();
    task(0, own);
    lock.lock();
  }
  Remove(&job);
  job.left.wait(lock, [&] { return job.at_work == 0; });
}

void RowPool::StartThreads(size_t wanted) {
  wanted = std::min(wanted, most_threads_);
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (threads_ >= wanted) return;
      threads_++;
    }
    bool started = false;
    try {
      platform::Thread thread;
      started = thread.Start([this] { Work(); });
      if (started) thread.Detach();
    } catch (const std::bad_alloc&) {
      // Handled below like a system that has no thread.
    }
    if (started) continue;
    // A later call tries again.
    std::lock_guard lock(mutex_);
    threads_--;
    return;
  }
}

void RowPool::Work() {
  platform::NameThread("tritonts rows");
  platform::UnbindThread();
  platform::UseLongSlices();
  std::unique_lock lock(mutex_);
  while (true) {
    Job* const job = OpenJob();
    if (!job) {
      opened_.wait(lock);
      continue;
    }
    job->open_workers--;
    job->at_work++;
    const size_t worker = job->next_worker++;
    while (job->next_task < job->tasks) {
      const size_t own = job->next_task++;
      lock.unlock();
      job->task(worker, own);
      lock.lock();
    }
    // The caller may return as soon as the lock is released, so the job is not touched after that.
    if (--job->at_work == 0) job->left.notify_one();
  }
}

RowPool::Job* RowPool::OpenJob() {
  for (Job* job = first_; job; job = job->next) {
    if (job->open_workers > 0 && job->next_task < job->tasks) return job;
  }
  return nullptr;
}

void RowPool::Remove(Job* job) {
  Job** at = &first_;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
}

}  // namespace tritonts::fil
