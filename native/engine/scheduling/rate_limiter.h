// The gate of a server whose instances share resources (Triton: --rate-limit=execution_count).
//
// An instance enters if the resources of its claim are free. If not, it waits. Those that wait are
// ordered by their turn, the smallest first: an instance's turn grows by its priority with each
// batch that ends. An instance that is first never waits for longer because of others: nobody
// behind it takes a resource that it lacks. Instances that need other resources pass it.
//
// An instance that has not come for a while does not make up for that: its turn begins at the
// present one. (In Triton, it would come in alone until it had as many batches as the others.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/scheduling/gate.h"

namespace tritonts {

class RateLimiter final : public Gate {
 public:
  // A resource that the server's options give (Triton: --rate-limit-resource).
  struct Given {
    std::string name;
    uint64_t count = 0;
    std::optional<int> device = {};  // nothing: each device has so many, or all share them
  };

  // Without `given`, there are as many units of a resource as the instance that needs the most.
  // With it, there is none of a resource that is not given.
  explicit RateLimiter(std::vector<Given> given) : given_(std::move(given)) {}

  Status Register(const std::shared_ptr<GateTicket>& ticket, const GateClaim& claim) override;
  void Unregister(const std::shared_ptr<GateTicket>& ticket) override;
  bool Enter(const std::shared_ptr<GateTicket>& ticket) override;
  void Leave(const std::shared_ptr<GateTicket>& ticket) override;
  void Admit(GateTickets* let_in) override;

  // A resource at this moment.
  struct Usage {
    std::string name;
    std::optional<int> device;  // nothing: global
    uint64_t count = 0;
    uint64_t in_use = 0;
    uint32_t waiting = 0;  // instances that wait, of those that need it
  };
  // All resources, by name and device. Thread-safe. Throws std::bad_alloc.
  std::vector<Usage> Resources() const;

 private:
  static constexpr int kGlobal = -1;
  using Key = std::pair<std::string, int>;  // the name, and the device or kGlobal

  struct Pool {
    uint64_t count = 0;
    uint64_t in_use = 0;
    uint32_t members = 0;    // instances that need it
    uint64_t lacked_at = 0;  // the pass in which somebody waited for it
  };
  struct Need {
    Pool* pool;
    uint64_t count;
  };
  struct Member {
    std::vector<Need> needs;
    std::vector<Key> keys;  // of the needs
    uint64_t priority = 1;
    uint64_t turn = 0;
    uint64_t came = 0;  // which of all that came it was
  };
  using Waiting = std::pair<Member*, std::shared_ptr<GateTicket>>;

  // The units that the options give; nothing: they give none at all.
  std::optional<uint64_t> GivenCount(const std::string& name, int device) const;
  // Why the claim can never be met; "": it can. `needs` are its resources, without repetition.
  std::string WhyNot(const std::map<Key, uint64_t>& needs) const;
  // Sets a pool's units to what its members need.
  void Count(Pool* pool);
  bool Fits(const Member& member) const;
  void Take(Member* member);
  void Give(Member* member);
  void LeaveLocked(const std::shared_ptr<GateTicket>& ticket, Member* member);
  // Whether `a` comes before `b`.
  static bool Before(const Member& a, const Member& b) {
    return std::pair(a.turn, a.came) < std::pair(b.turn, b.came);
  }

  const std::vector<Given> given_;
  mutable std::mutex mutex_;  // guards the rest, and the tickets
  std::map<Key, Pool> pools_;
  std::unordered_map<const GateTicket*, Member> members_;
  std::vector<Waiting> waiting_;  // has room for all members
  uint64_t turn_ = 0;             // of the last instance that entered
  uint64_t arrivals_ = 0;
  uint64_t passes_ = 0;
};

}  // namespace tritonts
