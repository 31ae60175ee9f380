// A source of answers from elsewhere, such as another process. The source's own thread receives the
// answers while no other thread polls for them.
//
// A JS thread that spins for responses (port/waker.h) polls the source to which it gave work last.
// So an answer needs no wake-up of the source's thread or of the JS thread.
#pragma once

#include <memory>

namespace tritonts {

// Any thread may call any function.
class PolledSource {
 public:
  virtual ~PolledSource() = default;
  // Whether answers may come. Sources without work are not polled.
  virtual bool has_work() const = 0;
  // Until StopPolling the caller polls repeatedly, so the source's own thread may sleep.
  virtual void StartPolling() = 0;
  // Receives the answers that have come, unless another thread is receiving them.
  virtual void Poll() = 0;
  virtual void StopPolling() = 0;

  // Notes that the calling thread has given work to a source.
  static void Note(const std::shared_ptr<PolledSource>& source);
  // The source to which the calling thread gave work last; null: none, or it is gone.
  static std::shared_ptr<PolledSource> Last();
};

// The source that a thread polls while it spins. Owned and used by one thread.
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
