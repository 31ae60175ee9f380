#include "leak.h"

#include <mutex>
#include <vector>

namespace tritonts {

void KeepForever(std::shared_ptr<const void> owner) {
  struct Kept {
    std::mutex mutex;  // guards owners
    std::vector<std::shared_ptr<const void>> owners;
  };
  // Never destroyed, and reachable, so that leak detectors know it for what it is.
  static auto* const kept = new Kept();
  std::lock_guard lock(kept->mutex);
  kept->owners.push_back(std::move(owner));
}

}  // namespace tritonts
