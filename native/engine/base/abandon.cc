#include "engine/base/abandon.h"

#include <mutex>
#include <new>
#include <utility>

namespace tritonts {

namespace {

struct Abandoned {
  std::shared_ptr<const void> owner;
  Abandoned* next = nullptr;
};

// Never freed, and reachable, so that leak detectors know it for what it is.
struct List {
  std::mutex mutex;  // guards all below
  Abandoned* first = nullptr;
};

}  // namespace

void Abandon(std::shared_ptr<const void> owner) noexcept {
  using Owner = std::shared_ptr<const void>;
  static constinit List list;
  if (auto* one = new (std::nothrow) Abandoned{std::move(owner)}) {
    std::lock_guard lock(list.mutex);
    one->next = std::exchange(list.first, one);
    return;
  }
  // A reference that is never given back keeps it as well.
  alignas(Owner) char kept[sizeof(Owner)];
  new (kept) Owner(std::move(owner));
}

}  // namespace tritonts
