// The ports of a server, and the epoch: a number that grows with every change of what is published.
//
// A port sees each epoch as a word of its memory, and acknowledges it when its JavaScript thread
// has submitted all that it chose before. So what was replaced at an epoch may end as soon as every
// port has seen that.
//
// Any thread. Ports are asked, and let go of, with no lock held; to show them something is to store
// a word.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tritonts {

class Port;

class PortList {
 public:
  // Shows the port what the others were shown.
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
    uint32_t since = 0;  // the epoch when it came
  };
  struct Known {
    std::shared_ptr<Port> port;
    uint32_t since = 0;
  };
  // Those that are there.
  std::vector<Known> Ports() const;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Entry> ports_;
  uint32_t epoch_ = 0;
  uint32_t asked_ = 0;  // for this epoch
  bool closed_ = false;
};

}  // namespace tritonts
