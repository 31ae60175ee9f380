// Carries flights from step to step on one thread (flight.h).
//
// A step that runs on this thread delivers within the call that submitted it, and its responses may
// make the next step ready. Therefore responses only add ready steps to the relay of their thread.
// The outermost call on the thread, which made that relay, then submits steps and answers flights
// until none is left. So the stack does not grow with the graph, and all steps that one delivery
// makes ready are submitted together.
//
// It lives on the stack of one thread and does not allocate.
#pragma once

#include <cstdint>

namespace tritonts {

struct InlineTime;
class Flight;
struct FlightStep;

class Relay {
 public:
  // Becomes the thread's relay, unless there is one. With `inline_time`, steps may run on this
  // thread.
  explicit Relay(InlineTime* inline_time = nullptr);
  // The outermost relay submits and answers everything.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The thread's relay. There must be one.
  static Relay& Current();

  // Hides the thread's relay while it lives, so that submissions and cancellations within a batch
  // are carried at once: the batch may wait for their responses.
  class Hidden {
   public:
    Hidden();
    ~Hidden();
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    Relay* const hidden_;
  };

  // Adds a step of a flight that can be submitted.
  void AddReady(FlightStep* step);
  // Adds a flight without remaining steps, whose requests are to be answered.
  void AddLanded(Flight* flight);

 private:
  void Carry();
  void SubmitReady();
  void AnswerLanded();

  Relay* const outer_;
  InlineTime* inline_time_;
  FlightStep* ready_ = nullptr;
  FlightStep* last_ready_ = nullptr;
  Flight* landed_ = nullptr;
  Flight* last_landed_ = nullptr;
};

}  // namespace tritonts
