// The ports of a server, and the epoch: a number that grows with every change of the published
// models.
//
// A port has the epoch as a word in its memory. It acknowledges an epoch when its JS thread has
// submitted every request that it prepared before it saw that epoch. So a version that was replaced
// at an epoch may end once every port has acknowledged that epoch.
//
// The server owns the list; the list does not own the ports. Any thread may call any function, and
// only Add allocates. Ports are called and dropped with no lock held, except to store their header
// words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tritonts {

class Port;

class PortList {
 public:
  // Adds a port and shows it the epoch. If it throws std::bad_alloc, nothing was added.
  void Add(const std::shared_ptr<Port>& port);
  // Shows all ports a new epoch.
  void ShowChange();
  // Shows all present and later ports that the server closes.
  void ShowClosed();
  // Asks all ports to acknowledge the current epoch, unless they were already asked for `epoch` or
  // a later one.
  void Ask(uint32_t epoch);
  // The next two take no lock. A server that closes shows that before the epoch moves.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // Whether every port has acknowledged an epoch. Ports that were added at that epoch or later, and
  // detached ports, do not count.
  bool HaveSeen(uint32_t epoch) const;

 private:
  struct Entry {
    std::weak_ptr<Port> port;
    uint64_t number = 0;
    uint32_t since = 0;  // the epoch when it was added
  };
  // The next living port with a number greater than `*after`, which is set to that number; null: no
  // such port. Called with the lock held. The caller drops `*port` after the lock is released.
  const Entry* Next(uint64_t* after, std::shared_ptr<Port>* port) const;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Entry> ports_;  // sorted by number
  uint64_t last_number_ = 0;
  std::atomic<uint32_t> epoch_{0};   // changed with the lock held
  uint32_t asked_ = 0;               // the last epoch that ports were asked to acknowledge
  std::atomic<bool> closed_{false};  // likewise
};

}  // namespace tritonts
