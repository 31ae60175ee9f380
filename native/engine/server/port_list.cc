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

std::vector<PortList::Known> PortList::Ports() const {
  std::lock_guard lock(mutex_);
  std::vector<Known> ports;
  for (const Entry& entry : ports_) {
    if (auto port = entry.port.lock()) ports.push_back({std::move(port), entry.since});
  }
  return ports;
}

void PortList::Add(const std::shared_ptr<Port>& port) {
  std::lock_guard lock(mutex_);
  std::erase_if(ports_, [](const Entry& entry) { return entry.port.expired(); });
  ports_.push_back({port, epoch_});
  if (closed_) port->ShowClosed();
  port->ShowEpoch(epoch_);
}

// Under the lock, so that no port is shown an older epoch after a newer one.
void PortList::ShowChange() {
  std::vector<std::shared_ptr<Port>> shown;  // outlives the lock: a port may end with it
  std::lock_guard lock(mutex_);
  epoch_++;
  for (const Entry& entry : ports_) {
    if (auto port = entry.port.lock()) shown.push_back(std::move(port));
  }
  for (const auto& port : shown) port->ShowEpoch(epoch_);
}

void PortList::ShowClosed() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (const Known& known : Ports()) known.port->ShowClosed();
}

void PortList::Ask(uint32_t epoch) {
  {
    std::lock_guard lock(mutex_);
    if (IsAtLeast(asked_, epoch)) return;
    asked_ = epoch_;
  }
  for (const Known& known : Ports()) known.port->AskEpoch();
}

uint32_t PortList::epoch() const {
  std::lock_guard lock(mutex_);
  return epoch_;
}

bool PortList::HaveSeen(uint32_t epoch) const {
  const std::vector<Known> ports = Ports();
  return std::all_of(ports.begin(), ports.end(), [&](const Known& known) {
    return known.port->detached() || IsAtLeast(known.since, epoch) ||
           IsAtLeast(known.port->acknowledged(), epoch);
  });
}

}  // namespace tritonts
