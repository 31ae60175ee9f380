#include "engine/base/abandon.h"

#include <mutex>
#include <utility>
#include <vector>

namespace tritonts {

void Abandon(std::shared_ptr<const void> owner) {
  struct Abandoned {
    std::mutex mutex;  // guards owners
    std::vector<std::shared_ptr<const void>> owners;
  };
  // Never destroyed, and reachable, so that leak detectors know it for what it is.
  static auto* const abandoned = new Abandoned();
  std::lock_guard lock(abandoned->mutex);
  abandoned->owners.push_back(std::move(owner));
}

}  // namespace tritonts
