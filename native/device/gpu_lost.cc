// The list of lost GPUs, so that their versions can be taken out of service.
#include <algorithm>
#include <new>

#include "gpu.h"

namespace tritonts::device {

namespace {

// Never destroyed, because GPUs may still exist when the process ends.
struct LostGpus {
  std::mutex mutex;  // guards all
  std::vector<std::pair<const void*, Gpu::Lost>> all;
};
LostGpus& LostUntilNow() {
  static auto* const known = new LostGpus();
  return *known;
}

}  // namespace

std::vector<Gpu::Lost> Gpu::AllLost() {
  LostGpus& known = LostUntilNow();
  const std::lock_guard lock(known.mutex);
  std::vector<Lost> lost;
  for (const auto& [gpu, one] : known.all) lost.push_back(one);
  return lost;
}

// Requires the lock of the tickets.
void Gpu::NoteLost(const Tickets& tickets) try {
  LostGpus& known = LostUntilNow();
  const std::lock_guard lock(known.mutex);
  known.all.emplace_back(&tickets, Lost{tickets.id, tickets.fault.message()});
} catch (const std::bad_alloc&) {
  // The device's versions then stay in service, and each of their requests fails.
}

void Gpu::ForgetLost(const Tickets& tickets) {
  LostGpus& known = LostUntilNow();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.all, [&](const auto& entry) { return entry.first == &tickets; });
}

}  // namespace tritonts::device
