// How often a thread waits.
#pragma once

#include <cstdint>

namespace tritonts::platform {

// How often this thread gave up its core to wait, such as for a lock or a file. Always 0 on systems
// other than Linux.
uint64_t Sleeps();

}  // namespace tritonts::platform
