#include "engine/server/port_list.h"

#include <algorithm>
#include <utility>

#include "engine/port/port.h"

namespace tritonts {

namespace {

// Epochs may wrap around.
bool IsAtLeast(uint32_t epoch, uint32_t other) {
  return static_cast<int32_t>(epoch - other) >= 0;
}

}  // namespace

const PortList::Entry* PortList::Next(uint64_t* after, std::shared_ptr<Port>* port) const {
  auto next =
      std::upper_bound(ports_.begin(), ports_.end(), *after,
                       [](uint64_t number, const Entry& entry) { return number < entry.number; });
  for (; next != ports_.end(); ++next) {
    *after = next->number;
    *port = next->port.lock();
    if (*port) return &*next;
  }
  return nullptr;
}

void PortList::Add(const std::shared_ptr<Port>& port) {
  std::lock_guard lock(mutex_);
  std::erase_if(ports_, [](const Entry& entry) { return entry.port.expired(); });
  ports_.push_back({port, last_number_ + 1, epoch_});
  last_number_++;
  if (closed_) port->ShowClosed();
  port->ShowEpoch(epoch_);
}

void PortList::ShowChange() {
  {
    std::lock_guard lock(mutex_);
    epoch_++;
  }
  for (uint64_t after = 0;;) {
    std::shared_ptr<Port> port;  // dropped after the lock is released: it may be the last reference
    std::lock_guard lock(mutex_);
    if (!Next(&after, &port)) return;
    // Store the word under the lock, so that no port sees an older epoch after a newer one.
    port->ShowEpoch(epoch_);
  }
}

void PortList::ShowClosed() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (uint64_t after = 0;;) {
    std::shared_ptr<Port> port;
    std::lock_guard lock(mutex_);
    if (!Next(&after, &port)) return;
    port->ShowClosed();
  }
}

void PortList::Ask(uint32_t epoch) {
  {
    std::lock_guard lock(mutex_);
    if (IsAtLeast(asked_, epoch)) return;
    asked_ = epoch_;
  }
  for (uint64_t after = 0;;) {
    std::shared_ptr<Port> port;
    {
      std::lock_guard lock(mutex_);
      if (!Next(&after, &port)) return;
    }
    port->AskEpoch();
  }
}

bool PortList::HaveSeen(uint32_t epoch) const {
  for (uint64_t after = 0;;) {
    std::shared_ptr<Port> port;
    std::lock_guard lock(mutex_);
    const Entry* const entry = Next(&after, &port);
    if (!entry) return true;
    if (!port->detached() && !IsAtLeast(entry->since, epoch) &&
        !IsAtLeast(port->acknowledged(), epoch)) {
      return false;
    }
  }
}

}  // namespace tritonts
