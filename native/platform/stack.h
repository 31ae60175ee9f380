// The stack of the calling thread.
#pragma once

#include <cstddef>

namespace tritonts::platform {

// How many bytes the calling thread's stack can still grow by. 0: the system does not tell, or the
// thread is on a stack of its program's own, as a coroutine is. A thread asks the system once: a
// later change of the process' limit has no effect. Throws nothing.
size_t StackLeft() noexcept;

}  // namespace tritonts::platform
