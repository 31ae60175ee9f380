// The counter of bytes in flight.
#include "engine/request/budget.h"

#include <thread>
#include <vector>

#include "check.h"

namespace tritonts::test {

TEST(budget_reserves_up_to_its_limit) {
  Budget budget(100);
  CHECK(budget.Reserve(60));
  CHECK(!budget.Reserve(41));
  CHECK(budget.Reserve(40));
  CHECK(!budget.Reserve(1));
  CHECK(!budget.Reserve(UINT64_MAX));
  budget.Release(100);
  CHECK_EQ(budget.used(), 0u);
}

TEST(budget_counts_what_is_there_whatever_its_limit_and_refuses_meanwhile) {
  Budget budget(100);
  CHECK(budget.Reserve(60));
  budget.Exchange(500, 60);
  CHECK_EQ(budget.used(), 500u);
  CHECK(!budget.Reserve(1));
  CHECK(budget.Reserve(0));
  budget.Exchange(50, 500);
  CHECK(budget.Reserve(50));
}

TEST(budget_is_nobodys_more_than_its_limit_however_many_reserve) {
  Budget budget(1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&budget] {
      for (int round = 0; round < 20'000; round++) {
        if (budget.Reserve(400)) {
          CHECK(budget.used() <= 1000);
          budget.Release(400);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(budget.used(), 0u);
}

TEST(budget_takes_ranges_of_slabs_as_they_are_cut) {
  CHECK_EQ(RangeBytes(1), 64u);
  CHECK_EQ(RangeBytes(64), 64u);
  CHECK_EQ(RangeBytes(65), 128u);
  CHECK_EQ(RangeBytes(4096), 4096u);
  CHECK_EQ(RangeBytes(40'000), 65'536u);
}

}  // namespace tritonts::test
