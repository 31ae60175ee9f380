// Memory that is given up on purpose: what a run that never came back may still use.
#pragma once

#include <memory>

namespace tritonts {

// Keeps `owner` for the life of the process. Any thread.
void KeepForever(std::shared_ptr<const void> owner);

}  // namespace tritonts
