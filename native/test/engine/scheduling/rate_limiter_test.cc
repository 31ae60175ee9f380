// The rate limiter: who enters, who waits, in which order, and what can never be met.
#include "engine/scheduling/rate_limiter.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

class LimiterVisitor final : public GateVisitor {
 public:
  void OnGateOpen(uint32_t instance) noexcept override { open.push_back(instance); }
  std::vector<uint32_t> open;
};

// Instances at a rate limiter, without versions.
class LimiterBench {
 public:
  explicit LimiterBench(std::vector<RateLimiter::Given> given = {})
      : limiter(std::make_shared<RateLimiter>(std::move(given))),
        visitor(std::make_shared<LimiterVisitor>()) {}

  Status Add(const GateClaim& claim) {
    auto ticket = std::make_shared<GateTicket>();
    ticket->visitor = visitor;
    ticket->instance = static_cast<uint32_t>(tickets.size());
    const Status status = limiter->Register(ticket, claim);
    if (status.ok()) tickets.push_back(ticket);
    return status;
  }
  bool Enter(size_t i) { return limiter->Enter(tickets[i]); }
  // The instances that are let in.
  std::vector<uint32_t> Leave(size_t i) {
    limiter->Leave(tickets[i]);
    return Admit();
  }
  // The batch of the only instance that is inside ends, and it has another one, as all others have.
  // Returns who is inside then.
  uint32_t Turn(uint32_t inside) {
    limiter->Leave(tickets[inside]);
    if (Enter(inside)) return inside;
    const std::vector<uint32_t> next = Admit();
    CHECK_EQ(next.size(), 1u);
    return next[0];
  }
  std::vector<uint32_t> Remove(size_t i) {
    limiter->Unregister(tickets[i]);
    return Admit();
  }

  std::shared_ptr<RateLimiter> limiter;
  std::vector<std::shared_ptr<GateTicket>> tickets;

 private:
  std::vector<uint32_t> Admit() {
    visitor->open.clear();
    limiter->AdmitAndTell();
    return visitor->open;
  }

  std::shared_ptr<LimiterVisitor> visitor;
};

GateClaim Claim(const std::string& name, uint64_t count, uint32_t priority = 1, bool global = false,
                int device = 0) {
  return {{{name, global, count}}, priority, device};
}

using Instances = std::vector<uint32_t>;

}  // namespace

TEST(rate_limiter_has_as_many_units_as_the_largest_need) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Add(Claim("R", 2)).ok());
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK_EQ(bench.limiter->Resources()[0].count, 2u);
  CHECK(bench.Enter(0));
  CHECK(!bench.Enter(1));  // needs both units
  CHECK(!bench.Enter(2));  // may not overtake, though a unit is free
  CHECK_EQ(bench.limiter->Resources()[0].waiting, 2u);
  CHECK_EQ(bench.Leave(0), Instances{1});
  CHECK_EQ(bench.Leave(1), Instances{2});
  CHECK_EQ(bench.Leave(2), Instances{});
  CHECK_EQ(bench.limiter->Resources()[0].in_use, 0u);
  // The largest need goes away with its instance.
  CHECK_EQ(bench.Remove(1), Instances{});
  CHECK_EQ(bench.limiter->Resources()[0].count, 1u);
  (void)bench.Remove(0);
  (void)bench.Remove(2);
  CHECK(bench.limiter->Resources().empty());
}

TEST(rate_limiter_alternates_by_priority) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 1, 1)).ok());
  CHECK(bench.Add(Claim("R", 1, 2)).ok());
  CHECK(bench.Enter(0));
  CHECK(!bench.Enter(1));
  std::string order;
  for (uint32_t inside = 0; order.size() < 12; inside = bench.Turn(inside)) {
    order += static_cast<char>('a' + inside);
  }
  // As in Triton, a has two batches for one of b, once both have begun.
  CHECK_EQ(order, "ababaabaabaa");
}

TEST(rate_limiter_chooses_among_those_that_wait_by_their_turns) {
  LimiterBench bench;
  for (const uint32_t priority : {1, 1, 2}) CHECK(bench.Add(Claim("R", 1, priority)).ok());
  CHECK(bench.Enter(0));
  CHECK(!bench.Enter(1));
  CHECK(!bench.Enter(2));
  std::string order;
  for (uint32_t inside = 0; order.size() < 15; inside = bench.Turn(inside)) {
    order += static_cast<char>('a' + inside);
  }
  CHECK_EQ(order, "abcabcababcabab");
}

TEST(rate_limiter_lets_others_pass_that_need_something_else) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Add({{{"R", false, 1}, {"S", false, 1}}, 1, 0}).ok());
  CHECK(bench.Add(Claim("S", 1)).ok());
  CHECK(bench.Add(Claim("T", 1)).ok());
  CHECK(bench.Add(GateClaim()).ok());
  CHECK(bench.Enter(0));
  CHECK(!bench.Enter(1));  // lacks R, and nobody takes S from it
  CHECK(!bench.Enter(2));
  CHECK(bench.Enter(3));
  CHECK(bench.Enter(4));
  CHECK_EQ(bench.Leave(0), Instances{1});
  CHECK_EQ(bench.Leave(1), Instances{2});
}

TEST(rate_limiter_lets_in_all_that_fit) {
  LimiterBench bench({{"R", 4, {}}});
  CHECK(bench.Add(Claim("R", 4)).ok());
  for (int i = 0; i < 4; i++) CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Enter(0));
  for (size_t i = 1; i < 5; i++) CHECK(!bench.Enter(i));
  CHECK_EQ(bench.Leave(0), (Instances{1, 2, 3, 4}));
}

TEST(rate_limiter_counts_each_device_or_all_together) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 1, 1, false, 0)).ok());
  CHECK(bench.Add(Claim("R", 1, 1, false, 1)).ok());
  CHECK(bench.Add(Claim("G", 1, 1, true, 0)).ok());
  CHECK(bench.Add(Claim("G", 1, 1, true, 1)).ok());
  CHECK(bench.Enter(0));
  CHECK(bench.Enter(1));
  CHECK(bench.Enter(2));
  CHECK(!bench.Enter(3));
}

TEST(rate_limiter_refuses_what_can_never_be_met) {
  LimiterBench bench({{"R", 2, {}}, {"D", 1, {}}, {"D", 3, 1}});
  CHECK_EQ(bench.Add(Claim("R", 3)).message(),
           "Resource count for \"R\" is limited to 2 which will prevent scheduling of one or more "
           "model instances, the minimum required count is 3");
  // Of a resource that is not given there is none.
  CHECK(Contains(bench.Add(Claim("Q", 1)).message(), "limited to 0"));
  CHECK(bench.Add(Claim("Q", 0)).ok());
  CHECK(bench.Add(Claim("D", 3, 1, false, 1)).ok());
  CHECK(bench.Add(Claim("D", 3)).code() == Code::kInvalidArg);
  CHECK(bench.Add(Claim("R", 1, 1, true)).ok());
  CHECK_EQ(bench.Add(Claim("R", 1)).message(),
           "Resource \"R\" is present as both global and device-specific resource in the model "
           "configuration.");
  const GateClaim both{{{"X", true, 0}, {"X", false, 0}}, 1, 0};
  CHECK(bench.Add(both).code() == Code::kInvalidArg);
  CHECK_EQ(bench.limiter->Resources().size(), 3u);
}

TEST(rate_limiter_an_instance_that_was_away_does_not_make_up_for_it) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Add(Claim("R", 1)).ok());
  for (int i = 0; i < 1000; i++) {
    CHECK(bench.Enter(0));
    CHECK_EQ(bench.Leave(0), Instances{});
  }
  // From now on both always have a batch.
  CHECK(bench.Enter(1));
  CHECK(!bench.Enter(0));
  std::string order;
  for (uint32_t inside = 1; order.size() < 8; inside = bench.Turn(inside)) {
    order += static_cast<char>('a' + inside);
  }
  CHECK_EQ(order, "babababa");
}

TEST(rate_limiter_who_stops_waiting_or_is_forgotten_holds_nobody_up) {
  LimiterBench bench;
  CHECK(bench.Add(Claim("R", 2)).ok());
  CHECK(bench.Add(Claim("R", 2)).ok());
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Add(Claim("R", 1)).ok());
  CHECK(bench.Enter(2));
  CHECK(!bench.Enter(0));
  CHECK(!bench.Enter(3));
  CHECK_EQ(bench.Leave(0), Instances{3});
  CHECK(!bench.Enter(1));
  CHECK_EQ(bench.Remove(2), Instances{});
  CHECK_EQ(bench.Remove(3), Instances{1});
  CHECK_EQ(bench.Remove(3), Instances{});
}

TEST(rate_limiter_never_gives_more_than_there_is) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    LimiterBench bench({{"A", 1 + random() % 4, {}}, {"B", 1 + random() % 4, {}}});
    std::vector<GateClaim> claims;
    for (int i = 0; i < 8; i++) {
      GateClaim claim;
      if (random() % 2) claim.resources.push_back({"A", false, random() % 4});
      if (random() % 2) claim.resources.push_back({"B", true, random() % 4});
      claim.priority = random() % 4;
      if (bench.Add(claim).ok()) claims.push_back(claim);
    }
    std::vector<int> state(claims.size(), 0);  // 0 outside, 1 waits, 2 inside
    for (int step = 0; step < 300 && !claims.empty(); step++) {
      const size_t i = random() % claims.size();
      if (state[i] == 0) {
        state[i] = bench.Enter(i) ? 2 : 1;
      } else {
        state[i] = 0;
        for (const uint32_t open : bench.Leave(i)) {
          CHECK_EQ(state[open], 1);
          state[open] = 2;
        }
      }
      for (const RateLimiter::Usage& usage : bench.limiter->Resources()) {
        uint64_t used = 0;
        for (size_t k = 0; k < claims.size(); k++) {
          for (const ResourceNeed& need : claims[k].resources) {
            if (state[k] == 2 && need.name == usage.name) used += need.count;
          }
        }
        CHECK_EQ(usage.in_use, used);
        CHECK(usage.in_use <= usage.count);
      }
      // Somebody is inside if anybody waits.
      const bool waits = std::count(state.begin(), state.end(), 1) > 0;
      CHECK(!waits || std::count(state.begin(), state.end(), 2) > 0);
    }
  }
}

TEST(rate_limiter_versions_share_resources) {
  const auto limiter = std::make_shared<RateLimiter>(std::vector<RateLimiter::Given>());
  const auto runs = std::make_shared<Runs>();
  VersionConfig config = ConfigOf(FloatIo(), 2);
  config.gate = limiter;
  config.claims = {Claim("R", 1), Claim("R", 1)};
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  Script script;
  script.execute = [&](uint32_t instance, Run& run) {
    const int now = ++inside;
    if (now > most) most = now;
    runs->Execute(instance, run);
    inside--;
  };
  {
    VersionBench first(script, config);
    VersionBench second(script, config);
    for (int i = 0; i < 200; i++) {
      first.Send({static_cast<float>(i)});
      second.Send({static_cast<float>(i)});
    }
    CHECK(first.sink.Wait(200));
    CHECK(second.sink.Wait(200));
    CHECK_EQ(limiter->Resources()[0].count, 1u);
    CHECK_EQ(most.load(), 1);
  }
  CHECK(limiter->Resources().empty());
}

TEST(rate_limiter_a_version_that_can_never_run_does_not_start) {
  const auto limiter =
      std::make_shared<RateLimiter>(std::vector<RateLimiter::Given>{{"R", 1, std::nullopt}});
  VersionConfig config = ConfigOf(FloatIo(), 2);
  config.gate = limiter;
  config.claims = {Claim("R", 1), Claim("R", 2)};
  VersionBench bench(ScriptOf(std::make_shared<Runs>()));
  const Status status = bench.version().Start(std::move(config));
  CHECK(status.code() == Code::kInvalidArg);
  CHECK(Contains(status.message(), "limited to 1"));
  CHECK(limiter->Resources().empty());
}

}  // namespace tritonts::test
