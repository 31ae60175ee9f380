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

// The list is never freed and stays reachable, so leak detectors do not report what is in it.
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
  // There was no memory for a list entry. A reference that is never dropped also keeps the owner.
  alignas(Owner) char kept[sizeof(Owner)];
  new (kept) Owner(std::move(owner));
}

}  // namespace tritonts
