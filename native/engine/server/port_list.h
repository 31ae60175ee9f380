// The ports of a server, and the epoch: a number that grows with every change of what is published.
//
// A port sees each epoch as a word of its memory, and acknowledges it when its JavaScript thread
// has submitted all that it chose before. So what was replaced at an epoch may end as soon as every
// port has seen that.
//
// Any thread, and without memory, but for Add. Ports are asked, and let go of, with no lock held;
// to show them something is to store a word.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tritonts {

class Port;

class PortList {
 public:
  // Shows the port what the others were shown. Throws std::bad_alloc, and then did nothing.
  void Add(const std::shared_ptr<Port>& port);
  // Shows all ports a new epoch.
  void ShowChange();
  // Shows all ports, also those to come, that the server closes.
  void ShowClosed();
  // Asks all ports to acknowledge the epoch, where they were not asked to for this one or a later.
  void Ask(uint32_t epoch);
  uint32_t epoch() const;
  // Whether every port has acknowledged an epoch; what came later, or left, counts as if it had.
  bool HaveSeen(uint32_t epoch) const;

 private:
  struct Entry {
    std::weak_ptr<Port> port;
    uint64_t number = 0;
    uint32_t since = 0;  // the epoch when it came
  };
  // The next one that is there, of a number beyond `*after`, which becomes its number; null: there
  // is none. With the lock, after which `*port` is to be let go of.
  const Entry* Next(uint64_t* after, std::shared_ptr<Port>* port) const;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Entry> ports_;  // by number
  uint64_t last_number_ = 0;
  uint32_t epoch_ = 0;
  uint32_t asked_ = 0;  // for this epoch
  bool closed_ = false;
};

}  // namespace tritonts
