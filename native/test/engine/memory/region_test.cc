// The table of regions, and ranges of a region.
#include "engine/memory/region.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "engine/base/clock.h"
#include "engine/memory/mapped_block.h"
#include "region_memory.h"

namespace tritonts::test {

TEST(region_gives_only_ranges_that_are_in_it) {
  RegionTable table;
  const BlockRef memory = RegionMemory::Make(64);
  auto id = table.Add("in", memory);
  CHECK(id.ok());
  const auto region = table.Find(id.value());
  CHECK(region != nullptr);
  auto all = region->Range(0, 64);
  CHECK(all.ok());
  CHECK(all.value().data == memory->data());
  CHECK_EQ(all.value().size, 64u);
  CHECK(all.value().owner.get() == memory.get());
  CHECK(region->Range(63, 1).ok());
  CHECK(region->Range(64, 0).ok());
  for (const auto& [offset, size] : std::vector<std::pair<uint64_t, uint64_t>>{
           {65, 0}, {0, 65}, {63, 2}, {1, UINT64_MAX}, {UINT64_MAX, 1}, {UINT64_MAX, UINT64_MAX}}) {
    const Status status = region->Range(offset, size).status();
    CHECK(status.code() == Code::kInvalidArg);
    CHECK_EQ(status.message(), "shared memory region 'in' has 64 bytes, but a request names " +
                                   std::to_string(size) + " bytes at offset " +
                                   std::to_string(offset));
  }
}

TEST(region_table_refuses_a_name_that_is_taken_and_memory_without_bytes) {
  RegionTable table;
  auto first = table.Add("in", RegionMemory::Make(8));
  CHECK(first.ok());
  CHECK(table.Add("in", RegionMemory::Make(8)).status().code() == Code::kAlreadyExists);
  CHECK(table.Add("none", RegionMemory::Make(0)).status().code() == Code::kInvalidArg);
  CHECK(table.Remove(first.value()));
  CHECK(!table.Remove(first.value()));
  CHECK(table.Find(first.value()) == nullptr);
  auto again = table.Add("in", RegionMemory::Make(8));
  CHECK(again.ok());
  CHECK(again.value() != first.value());
}

TEST(region_keeps_its_memory_until_the_last_user_has_dropped_it) {
  RegionTable table;
  std::atomic<bool> freed{false};
  auto id = table.Add("in", RegionMemory::Make(8, &freed));
  auto region = table.Find(id.value());
  Buffer range = region->Range(0, 8).take();
  CHECK(table.Remove(id.value()));
  region.reset();
  CHECK(!freed);
  range = Buffer();
  CHECK(freed);
}

TEST(region_that_is_in_use_is_listed_and_keeps_its_name) {
  RegionTable table;
  const auto add = [&](const char* name) {
    return table.Add(name, RegionMemory::Make(16), {}, {"key", 8, false, {}});
  };
  const uint32_t id = add("in").take();
  CHECK_EQ(table.Named("in"), id);
  CHECK_EQ(table.Named("none"), 0u);
  std::shared_ptr<const Region> used = table.Find(id);
  const Buffer kept = used->Range(0, 1).take();
  CHECK(table.Remove(id));
  CHECK_EQ(table.Named("in"), 0u);
  const std::vector<RegionEntry> all = table.All();
  CHECK_EQ(all.size(), 1u);
  CHECK(all[0].id == 0 && all[0].name == "in" && all[0].size == 16 && all[0].origin.offset == 8);
  CHECK(add("in").status().code() == Code::kAlreadyExists);
  // Only requests count, and not who else has its memory.
  used.reset();
  CHECK(table.All().empty());
  CHECK(add("in").ok());
  table.Close();
  CHECK(table.All().empty());
}

#if !defined(_WIN32)

TEST(region_removes_its_file_at_its_end_but_no_other_one_of_that_name) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tritonts-region-" + std::to_string(NowNs())))
          .string();
  for (const bool closes : {false, true}) {
    for (const bool same : {false, true}) {
      std::ofstream(path, std::ios::binary) << "bytes";
      platform::FileRange bytes;
      BlockRef memory = MappedBlock::Map(path, 0, 5, &bytes).take();
      RegionTable table;
      auto id = table.Add("in", std::move(memory), bytes, {"key", 0, true, path});
      CHECK(id.ok() && std::filesystem::exists(path));
      if (!same) {
        // The old file stays mapped, so the new one gets another number.
        std::filesystem::remove(path);
        std::ofstream(path, std::ios::binary) << "other";
      }
      if (closes) {
        table.Close();
      } else {
        CHECK(table.Remove(id.value()));
      }
      CHECK_EQ(std::filesystem::exists(path), !same);
      std::filesystem::remove(path);
    }
  }
}

#endif

TEST(region_table_is_used_by_many_threads) {
  RegionTable table;
  constexpr int kThreads = 4;
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; i++) {
        std::atomic<bool> freed{false};
        auto id = table.Add("r" + std::to_string(thread), RegionMemory::Make(16, &freed));
        const auto found = id.ok() ? table.Find(id.value()) : nullptr;
        if (!found || !found->Range(8, 8).ok() || !table.Remove(id.value()) || freed) faults++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(faults.load(), 0);
}

}  // namespace tritonts::test
