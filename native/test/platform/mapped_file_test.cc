// Ranges of files that several processes map.
#include "platform/mapped_file.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace tritonts::test {

#if !defined(_WIN32)

TEST(mapped_file_is_shared_with_all_who_map_it) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tritonts-mapped-" + std::to_string(getpid())))
          .string();
  std::ofstream(path, std::ios::binary) << std::string(10'000, 'a');
  std::string fault;
  {
    // Neither range begins at a page.
    platform::MappedFile one;
    platform::MappedFile other;
    CHECK(one.Map(path, 5'000, 5'000, &fault));
    CHECK(other.Map(path, 5'010, 10, &fault));
    CHECK_EQ(one.size(), 5'000u);
    CHECK_EQ(one.data()[4'999], 'a');
    std::memcpy(one.data() + 10, "written to", 10);
    CHECK_EQ(std::string(other.data(), other.size()), "written to");
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  CHECK_EQ(bytes.size(), 10'000u);
  CHECK_EQ(bytes.substr(5'009, 12), "awritten toa");
  for (const auto& [offset, size] : {std::pair<uint64_t, uint64_t>{0, 0},
                                     {0, 10'001},
                                     {10'001, 1},
                                     {UINT64_MAX, 1},
                                     {1, UINT64_MAX}}) {
    platform::MappedFile none;
    CHECK(!none.Map(path, offset, size, &fault));
    CHECK_EQ(fault, "'" + path + "' has 10000 bytes, and so not " + std::to_string(size) +
                        " at offset " + std::to_string(offset));
  }
  std::filesystem::remove(path);
  platform::MappedFile none;
  CHECK(!none.Map(path, 0, 1, &fault));
  CHECK_EQ(fault, "cannot open '" + path + "': No such file or directory");
}

TEST(mapped_file_that_gets_shorter_reads_as_zeros) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tritonts-short-" + std::to_string(getpid())))
          .string();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::ofstream(path, std::ios::binary) << std::string(8 * page, 'a');
  std::string fault;
  platform::MappedFile whole;
  platform::MappedFile end;
  CHECK(whole.Map(path, 0, 8 * page, &fault));
  CHECK(end.Map(path, 6 * page + 5, 2 * page - 5, &fault));
  std::filesystem::resize_file(path, page);
  CHECK(!whole.lost() && !end.lost());
  // Two threads meet the lost pages of one range at once.
  std::vector<std::thread> threads;
  std::atomic<int> zeros{0};
  for (size_t first : {2 * page, 5 * page}) {
    threads.emplace_back([&, first] {
      for (size_t i = first; i < 8 * page; i += page) zeros += whole.data()[i] == 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(zeros.load(), 6 + 3);
  CHECK(whole.lost() && !end.lost());
  CHECK_EQ(whole.data()[page - 1], 'a');
  std::memset(end.data(), 'b', end.size());
  CHECK(end.lost());
  CHECK_EQ(end.data()[0], 'b');
  CHECK_EQ(whole.data()[6 * page + 5], '\0');
  // Ranges that are made later are guarded, too, and know nothing of earlier losses.
  std::filesystem::resize_file(path, 2 * page);
  platform::MappedFile again;
  CHECK(again.Map(path, page, page, &fault));
  CHECK(!again.lost());
  std::filesystem::remove(path);
}

TEST(mapped_file_is_no_pipe_and_no_link) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tritonts-pipe-" + std::to_string(getpid())))
          .string();
  CHECK_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string fault;
  platform::MappedFile none;
  CHECK(!none.Map(path, 0, 1, &fault));
  CHECK_EQ(fault, "'" + path + "' is no regular file");
  std::filesystem::remove(path);
  std::ofstream(path + "-target") << "secret";
  std::filesystem::create_symlink(path + "-target", path);
  CHECK(!none.Map(path, 0, 6, &fault));
  CHECK_EQ(fault, "cannot open '" + path + "': Too many levels of symbolic links");
  std::filesystem::remove(path);
  std::filesystem::remove(path + "-target");
}

#endif

}  // namespace tritonts::test
