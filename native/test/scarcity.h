// Lives that the scarcity program takes memory and threads away from.
#pragma once

namespace tritonts::test {

// What is wanting: one call fails, or all from it on; of versions that have run before, or not;
// calls for small memory too, or not (scarce_calls.h).
struct Scarcity {
  bool for_good = false;
  bool warm = false;
  bool small = false;
};

// A server from its start to its end, with loads and a request. Whether a call failed at all.
bool PlayServer(int number, const Scarcity& scarcity);

}  // namespace tritonts::test
