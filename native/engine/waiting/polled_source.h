// Answers that come from elsewhere, such as another process, and that a thread of their own takes
// while nobody else looks for them.
//
// A JS thread that looks for responses (port/waker.h) polls the source that it has given work to
// last. So an answer needs neither a wake-up of the source's thread nor one of the JS thread.
#pragma once

#include <memory>

namespace tritonts {

// Any thread may call any function.
class PolledSource {
 public:
  virtual ~PolledSource() = default;
  // Whether answers may come. Others are not polled for.
  virtual bool has_work() const = 0;
  // From now until StopPolling the caller polls again and again, so the source's own thread may
  // sleep.
  virtual void StartPolling() = 0;
  // Takes what has come, unless another thread does.
  virtual void Poll() = 0;
  virtual void StopPolling() = 0;

  // Notes that this thread has given work to a source.
  static void Note(const std::shared_ptr<PolledSource>& source);
  // What this thread has given work to last; null: nothing, or it is gone.
  static std::shared_ptr<PolledSource> Last();
};

// What a thread polls while it looks. Owned and used by one thread.
class Polling {
 public:
  Polling() = default;
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;
  ~Polling() { Stop(); }

  void Poll();
  void Stop();

 private:
  std::shared_ptr<PolledSource> source_;
};

}  // namespace tritonts
