// Files of the C library.
#include "platform/file_stream.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#if !defined(_WIN32)
#include <fcntl.h>
#endif

#include "check.h"
#include "engine/base/clock.h"
#include "platform/dynamic_library.h"

namespace tritonts::test {

namespace {

namespace fs = std::filesystem;

// A folder that is removed by the destructor. Its name has letters that are not ASCII.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              platform::NativePath("tritonts-\u00fc\u75d5-" + std::to_string(NowNs()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return platform::Utf8(path_ / name); }

 private:
  const fs::path path_;
};

}  // namespace

TEST(file_stream_goes_beyond_what_a_long_holds_on_windows) {
  const Folder folder;
  const std::string path = folder / "file";
  std::FILE* const file = platform::OpenFile(path, "wb");
  CHECK(file != nullptr);
  // The file system allocates no more than the pages that are written.
  constexpr int64_t kFar = int64_t{5} << 30;
  CHECK(platform::SeekInFile(file, kFar));
  CHECK_EQ(std::fputc('x', file), 'x');
  CHECK(platform::SeekInFile(file, 0));
  CHECK_EQ(platform::SeekToEnd(file), kFar + 1);
#if !defined(_WIN32)
  CHECK((fcntl(fileno(file), F_GETFD) & FD_CLOEXEC) != 0);
#endif
  CHECK_EQ(std::fclose(file), 0);
}

TEST(file_stream_moves_over_a_file_that_has_the_name) {
  const Folder folder;
  std::ofstream(platform::NativePath(folder / "from")) << "new";
  std::ofstream(platform::NativePath(folder / "to")) << "old";
  CHECK(platform::MoveFileOver(folder / "from", folder / "to"));
  std::ifstream moved(platform::NativePath(folder / "to"));
  std::string content;
  moved >> content;
  CHECK_EQ(content, "new");
  CHECK(!fs::exists(platform::NativePath(folder / "from")));
  errno = 0;
  CHECK(!platform::MoveFileOver(folder / "gone", folder / "to"));
  CHECK_EQ(errno, ENOENT);
}

}  // namespace tritonts::test
