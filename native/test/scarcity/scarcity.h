// The scenarios of the scarcity program.
#pragma once

namespace tritonts::test {

// Which calls fail: a single one, or all from it on (`for_good`); with versions that have run
// before
// (`warm`); also small allocations (`small`, see scarce_calls.h).
struct Scarcity {
  bool for_good = false;
  bool warm = false;
  bool small = false;
};

// Plays a server from its start to its end, with loads and a request. Returns whether any call
// failed.
bool PlayServer(int number, const Scarcity& scarcity);

}  // namespace tritonts::test
