// Carries flights from step to step on one thread (flight.h).
//
// A step that runs on this thread delivers within the call that submitted it, and its responses may
// make the next step ready. So that the stack does not grow with the graph, and so that all that
// one delivery makes ready is submitted together, responses only note what is ready in the relay of
// their thread. The outermost call on the thread, which made that relay, then submits and answers
// until nothing is left.
//
// It lives on the stack of one thread and does not allocate.
#pragma once

#include <cstdint>

namespace tritonts {

struct InlineTick;
class Flight;
struct FlightStep;

class Relay {
 public:
  // Becomes the thread's relay, unless there is one. With `tick`, steps may run on this thread.
  explicit Relay(InlineTick* tick = nullptr);
  // The outermost one carries everything.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The thread's relay. There must be one.
  static Relay& Current();

  // A step of a flight can be submitted.
  void AddReady(FlightStep* step);
  // A flight has no step left: its requests are to be answered.
  void AddLanded(Flight* flight);

 private:
  void Carry();
  void SubmitReady();
  void AnswerLanded();

  Relay* const outer_;
  InlineTick* tick_;
  FlightStep* ready_ = nullptr;
  FlightStep* last_ready_ = nullptr;
  Flight* landed_ = nullptr;
  Flight* last_landed_ = nullptr;
};

}  // namespace tritonts
