// This program's Timer (engine/base/timer.h), which replaces the engine's: it has no thread, and
// calls no client. The player asks for the time and makes the call.
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
