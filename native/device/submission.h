// A thread that enqueues jobs on a GPU, one after the other.
#pragma once

#include <condition_variable>
#include <mutex>

#include "../platform/thread.h"

namespace tritonts::device {

class Gpu;

class Submission {
 public:
  // A job. It belongs to its owner again when Enqueue is called.
  class Job {
   public:
    // Called on the submission thread, with the GPU's context current. Must not throw.
    virtual void Enqueue() = 0;

   protected:
    ~Job() = default;

   private:
    friend class Submission;
    Job* next_ = nullptr;
  };

  Submission() = default;
  ~Submission() { End(); }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Starts the thread, for a GPU that must outlive it. Returns false if the system has no thread.
  bool Start(const Gpu& gpu);
  // Thread-safe; does not block.
  void Submit(Job* job);
  // Joins the thread once it has enqueued all jobs. Submit must not be called any more.
  void End();

 private:
  void Run(const Gpu& gpu);

  std::mutex mutex_;  // guards the four below
  std::condition_variable changed_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  bool end_ = false;
  platform::Thread thread_;
};

}  // namespace tritonts::device
