// Reading a model's folder: its contents, the limits, and stamps.
#include "engine/server/model_folder.h"

#include <filesystem>
#include <fstream>
#include <functional>

#if defined(__linux__)
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#endif

#include "check.h"
#include "platform/dynamic_library.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

namespace fs = std::filesystem;
using Config = ModelFolder::Config;

// A folder that is removed by the destructor.
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
  ModelFolder Read(uint64_t most_config_bytes = 100) const {
    FolderLimits limits;
    limits.config_bytes = most_config_bytes;
    return ReadModelFolder(path(), limits);
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
  const ModelFolder read = ReadModelFolder("/no/such/folder");
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
TEST(model_folder_with_a_pipe_a_socket_or_a_device_is_refused_wherever_that_lies) {
  for (const std::string place : {"config.pbtxt", "1/model.onnx", "1/data/weights", "more/thing"}) {
    const Folder folder;
    folder.Write("1/model.onnx", "abc");
    folder.Write("1/data/other", "");
    folder.Write("more/other", "");
    const fs::path path = folder / place;
    fs::remove(path);
    CHECK_EQ(mkfifo(path.c_str(), 0600), 0);
    CHECK_EQ(folder.Read().refusal, "'" + place + "' is a pipe");
    fs::remove(path);
    // The target of a link decides, so the test needs no device of its own.
    fs::create_symlink("/dev/zero", path);
    CHECK_EQ(folder.Read().refusal, "'" + place + "' is a device");
    CHECK_EQ(folder.Read().config_state, Config::kNone);
    fs::remove(path);
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    CHECK_EQ(folder.Read().refusal, "'" + place + "' is a socket");
    close(file);
    fs::remove(path);
    CHECK_EQ(folder.Read().refusal, "");
  }
}

TEST(model_folder_does_not_read_a_config_that_tells_no_size_to_its_end) {
  const Folder folder;
  fs::create_symlink("/proc/self/status", folder / "config.pbtxt");
  CHECK_EQ(folder.Read().config_state, Config::kTooLarge);
  const ModelFolder read = folder.Read(1 << 20);
  CHECK_EQ(read.config_state, Config::kRead);
  CHECK(read.config.size() > 100);
}
#endif

TEST(model_folder_has_a_stamp_that_a_new_file_changes) {
  const Folder folder;
  folder.Write("config.pbtxt", "text");
  folder.Write("1/model.onnx", "abc");
  const std::string stamp = folder.Read().stamp;
  CHECK_EQ(folder.Read().stamp, stamp);
  folder.Write("1/sub/weights", "");
  CHECK(folder.Read().stamp != stamp);
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

TEST(model_folder_of_more_entries_than_are_looked_at_is_refused) {
  const Folder folder;
  folder.Write("1/model.onnx", "abc");
  folder.Write("1/data/a", "");
  folder.Write("1/data/b", "");
  FolderLimits limits;
  limits.entries = 5;
  CHECK_EQ(ReadModelFolder(folder.path(), limits).refusal, "");
  limits.entries = 4;
  const ModelFolder read = ReadModelFolder(folder.path(), limits);
  CHECK_EQ(read.refusal, "it has more than 4 files and folders, as far as '1/data'");
  CHECK(read.folders.empty());
  CHECK_EQ(read.stamp, "");
}

TEST(model_folder_that_a_link_leads_out_of_ends_at_the_limit) {
  const Folder tree;
  std::string path;
  for (int i = 0; i < 200; i++) tree.Write("many/" + std::to_string(i), "");
  for (int i = 0; i < 40; i++) path += "deep/";
  tree.Write(path + "file", "");
  const Folder folder;
  folder.Write("1/model.onnx", "abc");
  fs::create_directory_symlink(tree / "many", folder / "1/data");
  CHECK_EQ(folder.Read().refusal, "");
  FolderLimits limits;
  limits.entries = 100;
  CHECK_EQ(ReadModelFolder(folder.path(), limits).refusal,
           "it has more than 100 files and folders, as far as '1/data'");
  fs::remove(folder / "1/data");
  fs::create_directory_symlink(tree / "deep", folder / "1/data");
  const std::string refusal = folder.Read().refusal;
  CHECK(refusal.starts_with("'1/data/deep/deep/"));
  CHECK(refusal.ends_with("/deep' lies more than 32 folders deep"));
}

TEST(model_folder_with_a_link_out_of_the_roots_is_refused_and_not_entered) {
  const Folder folder;
  const Folder other;
  other.Write("deep/file", "text");
  folder.Write("1/model.onnx", "");
  const auto read = [&](const std::vector<std::string>& roots, const std::string& checked = "") {
    FolderLimits limits;
    limits.link_roots = roots;
    limits.checked_stamp = checked;
    return ReadModelFolder(folder.path(), limits);
  };
  const std::vector<std::string> own = {"/no/such/folder", folder.path()};
  const auto refused = [&](const std::string& link, const fs::path& target) {
    const ModelFolder found = read(own);
    CHECK(found.outside_link.has_value());
    CHECK_EQ(found.outside_link->path, link);
    CHECK_EQ(found.outside_link->target, platform::Utf8(fs::canonical(target)));
    CHECK_EQ(found.stamp, "");
    // Without roots, and with that of the target, links are followed.
    CHECK(!read({}).outside_link);
    CHECK(!read({folder.path(), other.path()}).outside_link);
  };
  fs::create_symlink(other / "deep/file", folder / "1/weights");
  refused("1/weights", other / "deep/file");
  // Links to files are resolved only where the stamp has changed.
  const std::string stamp = read({}).stamp;
  CHECK(!read(own, stamp).outside_link);
  CHECK(read(own, stamp + "x").outside_link.has_value());
  fs::remove(folder / "1/weights");
  fs::create_directory_symlink(other / "deep", folder / "1/data");
  refused("1/data", other / "deep");
  CHECK(read(own, read({}).stamp).outside_link.has_value());
  fs::remove(folder / "1/data");
  fs::create_symlink("/no/such/file", folder / "nothing");
  fs::create_symlink(folder / "1/model.onnx", folder / "inside");
  fs::create_directory_symlink(folder / "1", folder / "again");
  CHECK(!read(own).outside_link);
  CHECK_EQ(read(own).fault, "");
}

TEST(model_folder_may_be_a_link_inside_of_the_roots) {
  const Folder folder;
  const Folder other;
  folder.Write("real/1/model.onnx", "");
  fs::create_directory_symlink("real", folder / "link");
  FolderLimits limits;
  limits.link_roots = {folder.path()};
  const std::string link = platform::Utf8(folder / "link");
  CHECK_EQ(ReadModelFolder(link, limits).folders, std::vector<std::string>{"1"});
  limits.link_roots = {other.path()};
  const ModelFolder found = ReadModelFolder(link, limits);
  CHECK(found.outside_link.has_value());
  CHECK_EQ(found.outside_link->path, "");
  CHECK_EQ(found.outside_link->target, platform::Utf8(fs::canonical(folder / "real")));
}

TEST(model_folder_is_read_no_further_when_that_is_cancelled) {
  const Folder folder;
  for (int i = 0; i < 20; i++) folder.Write("1/" + std::to_string(i), "");
  int asked = 0;
  const ModelFolder read = ReadModelFolder(folder.path(), {}, [&asked] { return ++asked == 10; });
  CHECK(read.cancelled);
  CHECK_EQ(asked, 10);
  CHECK_EQ(read.stamp, "");
}

TEST(server_that_gives_up_loads_or_closes_responds_for_folders_that_are_being_read) {
  const Folder folder;
  // Reading this many takes longer than the call that cancels it.
  for (int i = 0; i < 4000; i++) folder.Write("1/" + std::to_string(i), "");
  ServerBench bench;
  const auto read_until = [&](const std::function<void()>& end) {
    Event done;
    Status result;
    bench.server().ReadFolder("m", folder.path(), FolderLimits(), [&](Status status, ModelFolder) {
      result = std::move(status);
      done.Set();
    });
    end();
    CHECK(done.Wait());
    return result;
  };
  CHECK(read_until([] {}).ok());  // also checks that the thread is free for others
  int cancelled = 0;
  for (int i = 0; i < 20; i++) {
    const Status status = read_until([&] { bench.server().CancelLoads(); });
    if (!status.ok()) {
      cancelled++;
      CHECK_EQ(status.code(), Code::kCancelled);
      CHECK_EQ(status.message(), "model 'm': loading was cancelled");
    }
  }
  // Some may end first if this thread was preempted.
  CHECK(cancelled >= 15);
  CHECK(read_until([] {}).ok());
  CHECK_EQ(read_until([&] { bench.Close(0); }).code(), Code::kCancelled);
}

TEST(server_reads_folders_on_its_loader_threads_until_it_closes) {
  const Folder folder;
  folder.Write("config.pbtxt", "text");
  ServerBench bench;
  const auto read = [&](std::string* config) {
    Event done;
    Status result;
    bench.server().ReadFolder("m", folder.path(), FolderLimits(),
                              [&](Status status, ModelFolder found) {
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
