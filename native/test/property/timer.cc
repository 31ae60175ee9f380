// The Timer of this program (engine/base/timer.h), in place of the engine's: it has no thread, and
// calls nobody back. Who drives the version asks when it is to be called, and does so.
#include "engine/base/timer.h"

#include "timer.h"

namespace tritonts {

TimerClient::TimerClient() = default;

Timer::~Timer() = default;

bool Timer::Start() {
  return true;
}

void Timer::Stop() {}

void Timer::Schedule(TimerClient* client, uint64_t at_ns) {
  test::ScheduledAt(client) = at_ns;
}

void Timer::Remove(TimerClient* client) {
  test::ScheduledAt(client) = 0;
}

}  // namespace tritonts
