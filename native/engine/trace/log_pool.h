// Logs of traces that have been written, to be used again: a thread writes them, and another one
// would pay for freeing and allocating them.
//
// Of the process. Any thread may call the functions.
#pragma once

#include <memory>

#include "engine/trace/trace_log.h"

namespace tritonts {

// An empty log. Throws std::bad_alloc.
std::unique_ptr<TraceLog> TakeLog();
// Gives a log back; null does nothing. A large one is freed.
void PutBackLog(std::unique_ptr<TraceLog> log) noexcept;

}  // namespace tritonts
