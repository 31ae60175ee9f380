// Ranges of files that several processes map.
#include "platform/mapped_file.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "check.h"

#if !defined(_WIN32)
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

#endif

}  // namespace tritonts::test
