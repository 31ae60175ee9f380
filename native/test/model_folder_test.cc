// Reading a model's folder: what is told of it, the limits of what is read, and stamps.
#include "model_folder.h"

#include <filesystem>
#include <fstream>

#include "check.h"
#include "platform/dynamic_library.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

namespace fs = std::filesystem;
using Config = ModelFolder::Config;

// A folder that goes with its test.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path_ = fs::temp_directory_path() /
            ("tritonts-folder-" + std::to_string(NowNs()) + "-" + std::to_string(count++));
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::string path() const { return platform::Utf8(path_); }
  void Write(const std::string& name, const std::string& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  ModelFolder Read(uint64_t most_config_bytes = 100, const std::string& known = "") const {
    return ReadModelFolder(path(), most_config_bytes, known);
  }

 private:
  fs::path path_;
};

}  // namespace

TEST(model_folder_tells_sub_folders_and_what_lies_in_the_first) {
  const Folder folder;
  folder.Write("config.pbtxt", "text");
  folder.Write("10/b.onnx", "");
  folder.Write("10/a/weights", "");
  folder.Write("9/c.onnx", "");
  const ModelFolder read = folder.Read();
  CHECK_EQ(read.fault, "");
  CHECK_EQ(read.folders, (std::vector<std::string>{"10", "9"}));
  CHECK_EQ(read.first_entries.size(), 2u);
  CHECK_EQ(read.first_entries[0].name, "a");
  CHECK(read.first_entries[0].is_folder);
  CHECK_EQ(read.first_entries[1].name, "b.onnx");
  CHECK(!read.first_entries[1].is_folder);
  CHECK_EQ(read.config_state, Config::kRead);
  CHECK_EQ(read.config, "text");
}

TEST(model_folder_that_is_not_there_is_a_fault) {
  const ModelFolder read = ReadModelFolder("/no/such/folder", 100, "");
  CHECK(read.fault.find("/no/such/folder") != std::string::npos);
}

TEST(model_folder_reads_a_config_of_as_many_bytes_as_are_allowed) {
  const Folder folder;
  CHECK_EQ(folder.Read().config_state, Config::kNone);
  for (const char* content : {"", "a", "four"}) {
    folder.Write("config.pbtxt", content);
    const ModelFolder read = folder.Read(4);
    CHECK_EQ(read.config_state, Config::kRead);
    CHECK_EQ(read.config, content);
  }
  folder.Write("config.pbtxt", "fives");
  const ModelFolder read = folder.Read(4);
  CHECK_EQ(read.config_state, Config::kTooLarge);
  CHECK_EQ(read.config_size, 5u);
}

#if defined(__linux__)
TEST(model_folder_does_not_read_a_config_that_has_no_end_or_tells_no_size) {
  const Folder folder;
  fs::create_symlink("/dev/zero", folder / "config.pbtxt");
  CHECK_EQ(folder.Read().config_state, Config::kFailed);
  CHECK_EQ(folder.Read().config, "it is no regular file");
  fs::remove(folder / "config.pbtxt");
  fs::create_symlink("/proc/self/status", folder / "config.pbtxt");
  CHECK_EQ(folder.Read().config_state, Config::kTooLarge);
  const ModelFolder read = folder.Read(1 << 20);
  CHECK_EQ(read.config_state, Config::kRead);
  CHECK(read.config.size() > 100);
}
#endif

TEST(model_folder_does_not_read_the_config_where_its_stamp_is_known) {
  const Folder folder;
  folder.Write("config.pbtxt", "text");
  folder.Write("1/model.onnx", "abc");
  const std::string stamp = folder.Read().stamp;
  CHECK_EQ(folder.Read(100, stamp).config_state, Config::kUnread);
  folder.Write("1/sub/weights", "");
  const ModelFolder read = folder.Read(100, stamp);
  CHECK_EQ(read.config_state, Config::kRead);
  CHECK(read.stamp != stamp);
}

TEST(model_folder_ends_where_links_lead_in_circles) {
  const Folder folder;
  folder.Write("1/model.onnx", "abc");
  fs::create_directory_symlink(folder / "1", folder / "1/again");
  fs::create_directory_symlink(folder / ".", folder / "all");
  const ModelFolder read = folder.Read();
  CHECK_EQ(read.fault, "");
  CHECK_EQ(read.folders, (std::vector<std::string>{"1", "all"}));
}

TEST(server_reads_folders_on_its_loader_threads_until_it_closes) {
  const Folder folder;
  folder.Write("config.pbtxt", "text");
  ServerBench bench;
  const auto read = [&](std::string* config) {
    Event done;
    Status result;
    bench.server().ReadFolder("m", folder.path(), 100, "", [&](Status status, ModelFolder found) {
      result = std::move(status);
      *config = found.config;
      done.Set();
    });
    CHECK(done.Wait());
    return result;
  };
  std::string config;
  CHECK(read(&config).ok());
  CHECK_EQ(config, "text");
  Event returned;
  bench.server().ReturnMemory([&] { returned.Set(); });
  CHECK(returned.Wait());
  bench.Close(0);
  CHECK_EQ(read(&config).code(), Code::kCancelled);
  CHECK_EQ(config, "");
  Event refused;
  bench.server().ReturnMemory([&] { refused.Set(); });
  CHECK(refused.Wait());
}

}  // namespace tritonts::test
