// A thread that enqueues work on a GPU, one job after the other.
#pragma once

#include <condition_variable>
#include <mutex>

#include "../platform/thread.h"

namespace tritonts::device {

class Gpu;

class Submission {
 public:
  // Something to enqueue. It is its owner's again when Enqueue is called.
  class Job {
   public:
    // Called on the thread, with the GPU's context current. It must not throw.
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

  // Starts the thread, for a GPU that outlives it. False: there is none.
  bool Start(const Gpu& gpu);
  // Any thread may call it; it does not wait.
  void Submit(Job* job);
  // Joins the thread when it has enqueued everything. Nothing may be submitted any more.
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
