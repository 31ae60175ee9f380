// The scenarios from which the scarcity program takes memory and threads away.
#pragma once

namespace tritonts::test {

// What fails: one call, or all from it on; with versions that have run before, or not; with calls
// for small memory, or not (scarce_calls.h).
struct Scarcity {
  bool for_good = false;
  bool warm = false;
  bool small = false;
};

// Plays a server from its start to its end, with loads and a request. Returns whether a call failed
// at all.
bool PlayServer(int number, const Scarcity& scarcity);

}  // namespace tritonts::test
