// The pool: which blocks return, which are kept, and blocks that outlive their pool.
#include "engine/memory/pool.h"

#include <cstring>
#include <thread>

#include "check.h"
#include "units.h"

namespace tritonts::test {

namespace {}  // namespace

TEST(pool_blocks_are_aligned_and_at_least_as_large_as_asked_for) {
  BlockPool pool(0);
  for (const size_t size : {size_t{0}, size_t{1}, 4 * kKiB, 4 * kKiB + 1, 5 * kKiB, 5 * kKiB + 1,
                            8 * kKiB, 8 * kKiB + 1, kMiB - 1, 3 * kMiB + 7}) {
    const BlockRef block = pool.Acquire(size);
    CHECK(block->size() >= size);
    CHECK_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0u);
    std::memset(block->data(), 1, block->size());
  }
}

TEST(pool_wastes_at_most_a_fifth_of_a_large_block) {
  BlockPool pool(0);
  for (size_t size = 4 * kKiB + 1; size < 2 * kMiB; size += size / 7) {
    const BlockRef block = pool.Acquire(size);
    CHECK((block->size() - size) * 5 <= block->size());
  }
}

TEST(pool_hands_a_block_out_again_when_its_last_reference_went) {
  BlockPool pool(kMiB);
  BlockRef first = pool.Acquire(10 * kKiB);
  const void* memory = first->data();
  BlockRef second = first;
  first.reset();
  CHECK(pool.Acquire(10 * kKiB)->data() != memory);
  second.reset();
  const BlockRef one = pool.Acquire(10 * kKiB);
  const BlockRef two = pool.Acquire(10 * kKiB);
  CHECK(one->data() == memory || two->data() == memory);
}

TEST(pool_keeps_no_more_idle_bytes_than_it_may) {
  BlockPool pool(64 * kKiB);
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 10; i++) blocks.push_back(pool.Acquire(16 * kKiB));
  CHECK_EQ(pool.idle_bytes(), 0u);
  blocks.clear();
  CHECK_EQ(pool.idle_bytes(), 64 * kKiB);
  const BlockRef block = pool.Acquire(16 * kKiB);
  CHECK_EQ(pool.idle_bytes(), 48 * kKiB);
}

TEST(pool_keeps_none_of_the_huge_blocks) {
  BlockPool pool(size_t{1} << 40);
  pool.Acquire(size_t{300} << 20);
  CHECK_EQ(pool.idle_bytes(), 0u);
}

TEST(pool_refuses_what_no_system_has) {
  BlockPool pool(0);
  CHECK(!pool.Acquire(size_t{1} << 62));
}

TEST(pool_gives_up_idle_blocks_of_a_size_that_is_asked_for_no_more) {
  BlockPool pool(64 * kKiB);
  {
    std::vector<BlockRef> small;
    for (int i = 0; i < 8; i++) small.push_back(pool.Acquire(8 * kKiB));
  }
  CHECK_EQ(pool.idle_bytes(), 64 * kKiB);
  BlockRef large = pool.Acquire(32 * kKiB);
  const void* memory = large->data();
  large.reset();
  CHECK(pool.Acquire(32 * kKiB)->data() == memory);
}

TEST(pool_blocks_outlive_the_pool) {
  BlockRef block;
  {
    BlockPool pool(kMiB);
    block = pool.Acquire(10 * kKiB);
    pool.Acquire(20 * kKiB);
  }
  std::memset(block->data(), 1, block->size());
}

TEST(pool_takes_blocks_back_from_other_threads_also_while_it_goes) {
  for (int round = 0; round < 50; round++) {
    auto pool = std::make_unique<BlockPool>(kMiB);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; thread++) {
      std::vector<BlockRef> blocks;
      for (int i = 0; i < 20; i++) blocks.push_back(pool->Acquire(4 * kKiB));
      threads.emplace_back([blocks = std::move(blocks)]() mutable {
        for (BlockRef& block : blocks) {
          std::memset(block->data(), 1, 64);
          block.reset();
        }
      });
    }
    for (int i = 0; i < 20; i++) std::memset(pool->Acquire(4 * kKiB)->data(), 2, 64);
    if (round % 2 == 0) pool.reset();
    for (std::thread& thread : threads) thread.join();
    if (pool) CHECK(pool->idle_bytes() <= kMiB);
  }
}

}  // namespace tritonts::test
