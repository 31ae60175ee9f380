// Completion pages in isolation: owners, order, and charges.
#include "engine/port/pages.h"

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "check.h"

namespace tritonts::test {

namespace {

using Use = CompletionPages::Use;

struct PagesBench {
  PagesBench() : pages(&budget) { CHECK(pages.Prepare()); }

  // Writes `number` to a page, which is then full.
  void WriteFull(int32_t number) {
    CompletionPage* page = pages.PageWithRoom(layout::kPageBytes, Use::kResponses);
    CHECK_EQ(page->words, 0u);
    page->data()[page->words++] = number;
    pages.Publish(page);
  }
  std::vector<CompletionPage*> Take(size_t most) {
    std::vector<CompletionPage*> taken(most);
    taken.resize(pages.Take(taken));
    return taken;
  }

  Budget budget{1};
  CompletionPages pages;
};

}  // namespace

TEST(pages_that_are_not_taken_at_once_stay_and_are_taken_in_order) {
  PagesBench bench;
  for (int32_t i = 0; i < 10; i++) bench.WriteFull(i);
  int32_t next = 0;
  for (const size_t most : {3, 0, 1, 4, 5}) {
    for (CompletionPage* page : bench.Take(most)) {
      CHECK_EQ(page->data()[0], next++);
      // Further pages are written meanwhile.
      if (next < 8) bench.WriteFull(9 + next);
      bench.pages.Recycle(page);
    }
  }
  CHECK_EQ(next, 13);
  CHECK(bench.pages.any());
}

TEST(pages_that_are_open_take_more_until_they_are_taken) {
  PagesBench bench;
  for (int32_t i = 0; i < 3; i++) {
    CompletionPage* page = bench.pages.PageWithRoom(100, Use::kResponses);
    CHECK_EQ(page->words, static_cast<uint32_t>(i));
    page->data()[page->words++] = i;
    bench.pages.Publish(page);
  }
  CHECK_EQ(bench.Take(5).size(), 1u);
  CHECK(!bench.pages.any());
  CHECK_EQ(bench.pages.PageWithRoom(100, Use::kResponses)->words, 0u);
}

TEST(pages_are_found_by_their_ids_while_they_are_handed_out) {
  PagesBench bench;
  for (int32_t i = 0; i < 3; i++) bench.WriteFull(i);
  const auto taken = bench.Take(3);
  std::set<uint32_t> ids;
  for (CompletionPage* page : taken) {
    ids.insert(page->id);
    CHECK(bench.pages.handed(page->id) == page);
  }
  CHECK_EQ(ids.size(), 3u);
  bench.pages.Recycle(taken[1]);
  CHECK(bench.pages.handed(taken[1]->id) == nullptr);
  CHECK(bench.pages.handed(taken[2]->id) == taken[2]);
  bench.pages.Recycle(taken[2]);
  bench.pages.Recycle(taken[0]);
  CHECK(bench.pages.handed(taken[0]->id) == nullptr);
  CHECK(bench.pages.handed(1000) == nullptr);
}

TEST(pages_count_what_they_hold_until_they_come_back) {
  PagesBench bench;
  bench.budget.Exchange(500, 0);
  CompletionPage* page = bench.pages.PageWithRoom(100, Use::kResponses);
  page->words = 10;
  page->payload -= 64;
  page->range_bytes = 128;
  page->large.push_back({BlockRef::Share(page->memory.get()), page->data(), 1000});
  page->large_bytes = 1000;
  // This replaces the charge of its requests.
  bench.pages.Publish(page, 500);
  CHECK_EQ(bench.budget.used(), 40u + 64 + 128 + 1000);
  // The next response does not fit, so the first page is full and charged as a whole.
  CompletionPage* other = bench.pages.PageWithRoom(layout::kPageBytes, Use::kResponses);
  CHECK_EQ(bench.budget.used(), layout::kPageBytes + 128 + 1000);
  bench.pages.Publish(other);
  CHECK_EQ(bench.Take(2).size(), 2u);
  bench.pages.ReleaseLarge(page, 0);
  bench.pages.ReleaseLarge(page, 0);
  CHECK_EQ(bench.budget.used(), layout::kPageBytes + 128);
  bench.pages.Recycle(page);
  bench.pages.Recycle(other);
  CHECK_EQ(bench.budget.used(), 0u);
}

TEST(pages_that_nobody_reads_count_nothing) {
  Budget budget(1);
  {
    CompletionPages pages(&budget);
    CHECK(pages.Prepare());
    std::array<CompletionPage*, 1> taken;
    for (int i = 0; i < 3; i++) {
      CompletionPage* page = pages.PageWithRoom(layout::kPageBytes, Use::kResponses);
      page->words = 100;
      page->large.push_back({BlockRef::Share(page->memory.get()), page->data(), 1000});
      page->large_bytes = 1000;
      pages.Publish(page);
    }
    CHECK_EQ(pages.Take(taken), 1u);
    pages.ForgetHanded();
    pages.ReleaseLarge(taken[0], 0);
    pages.Discard();
    CHECK_EQ(budget.used(), 0u);
    CHECK(!pages.any());
    CompletionPage* page = pages.PageWithRoom(layout::kPageBytes, Use::kResponses);
    page->words = 100;
    pages.Publish(page);
    CHECK_EQ(budget.used(), 400u);
  }
  CHECK_EQ(budget.used(), 0u);
}

TEST(pages_of_a_burst_are_given_back) {
  PagesBench bench;
  for (int burst = 0; burst < 2; burst++) {
    for (int32_t i = 0; i < 40; i++) bench.WriteFull(i);
    size_t kept = 0;
    uint32_t most = 0;
    for (CompletionPage* page : bench.Take(50)) {
      most = std::max(most, page->id);
      if (bench.pages.Recycle(page)) kept++;
    }
    CHECK_EQ(kept, 17u);
    CHECK(most <= 40);  // including the reserved one
  }
  bench.pages.Shrink();
  bench.WriteFull(1);
  CHECK_EQ(bench.Take(1)[0]->data()[0], 1);
}

TEST(pages_come_to_their_reader_each_exactly_once_whoever_writes) {
  constexpr int32_t kWriters = 3;
  constexpr int32_t kEach = 20'000;
  PagesBench bench;
  std::vector<std::thread> writers;
  std::atomic<int> writing{kWriters};
  std::atomic<int32_t> ahead{0};
  for (int32_t writer = 0; writer < kWriters; writer++) {
    writers.emplace_back([&, writer] {
      uint64_t noise = static_cast<uint64_t>(writer) + 1;
      for (int32_t i = 0; i < kEach; i++) {
        while (ahead.load() > 500) std::this_thread::yield();
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        const size_t needed = (noise >> 60) == 0 ? layout::kPageBytes : 64;
        CompletionPage* page = bench.pages.PageWithRoom(needed, Use::kResponses);
        if (page->room() < needed) CHECK(!"there is room");
        page->data()[page->words++] = writer * kEach + i;
        page->payload -= 8;
        ahead++;
        bench.pages.Publish(page);
      }
      writing--;
    });
  }
  std::vector<uint8_t> seen(kWriters * kEach);
  size_t twice = 0;
  std::vector<CompletionPage*> held;
  uint64_t noise = 1;
  while (writing > 0 || bench.pages.any() || !held.empty()) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    for (CompletionPage* page : bench.Take(1 + (noise >> 62))) {
      for (uint32_t i = 0; i < page->words; i++) {
        ahead--;
        if (seen[static_cast<size_t>(page->data()[i])]++ != 0) twice++;
      }
      held.push_back(page);
    }
    // Some pages come back later than others.
    while (!held.empty() && (held.size() > 4 || (noise >> 33) % 3 > 0)) {
      const size_t which = (noise >> 40) % held.size();
      bench.pages.Recycle(held[which]);
      held.erase(held.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  for (std::thread& writer : writers) writer.join();
  CHECK_EQ(twice, 0u);
  CHECK_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<ptrdiff_t>(seen.size()));
  CHECK_EQ(bench.budget.used(), 0u);
}

}  // namespace tritonts::test
