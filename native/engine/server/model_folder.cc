#include "engine/server/model_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "platform/dynamic_library.h"
#include "platform/error_text.h"
#include "platform/file_stamp.h"
#include "platform/link.h"

namespace tritonts {

namespace {

namespace fs = std::filesystem;

struct Found {
  std::string name;
  fs::path path;
  bool is_link = false;
  fs::file_status status;  // of a link: the status of its target
};

// Thrown to end a walk, with the reason why the folder is refused.
struct Refused {
  std::string why;
};
// Thrown to end a walk at a link that ends outside of the roots.
struct LedOut {
  ModelFolder::OutsideLink link;
};
// Thrown to end a walk that was cancelled.
struct Cancelled {};

// The kind of a special file; null for files, folders and dangling links.
const char* SpecialKind(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return nullptr;
  }
}

// `f` with the size of a file, `d` for a folder, `-` for what leads nowhere.
std::string KindOf(const Found& found) {
  if (fs::is_directory(found.status)) return "d";
  if (!fs::is_regular_file(found.status)) return "-";
  std::error_code error;
  const uint64_t size = fs::file_size(found.path, error);
  return error ? "-" : "f" + std::to_string(size);
}

// Whether a path is a folder or lies in it. Both have no links in them.
bool IsInside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Walks a folder, and adds two texts for each entry to the stamp.
class Walk {
 public:
  Walk(const fs::path& root, const FolderLimits& limits, const std::function<bool()>& cancelled,
       std::string* stamp)
      : root_(root), limits_(limits), cancelled_(cancelled), stamp_(*stamp) {}

  // Lists a folder at this depth, sorted by the bytes of the names. Throws if the folder cannot be
  // read, is refused, or the walk is cancelled.
  std::vector<Found> List(const fs::path& folder, size_t depth) {
    if (depth > limits_.depth) {
      throw Refused{"'" + NameOf(folder) + "' lies more than " + std::to_string(limits_.depth) +
                    " folders deep"};
    }
    std::vector<Found> list;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (cancelled_()) throw Cancelled{};
      if (entries_++ == limits_.entries) {
        throw Refused{"it has more than " + std::to_string(limits_.entries) +
                      " files and folders, as far as '" + NameOf(folder) + "'"};
      }
      // Other errors are ignored: a dangling link, or an entry that was removed meanwhile, has no
      // status. A link may lead to where nobody may look.
      std::error_code error;
      list.push_back({platform::Utf8(entry.path().filename()), entry.path(),
                      platform::IsLink(entry), entry.status(error)});
      if (error == std::errc::permission_denied && !list.back().is_link) {
        throw fs::filesystem_error("", entry.path(), error);
      }
      if (const char* kind = SpecialKind(list.back().status.type())) {
        throw Refused{"'" + NameOf(entry.path()) + "' is " + kind};
      }
    }
    std::sort(list.begin(), list.end(),
              [](const Found& a, const Found& b) { return a.name < b.name; });
    return list;
  }

  // Adds the entries of a folder at this depth, and of its sub-folders.
  void Add(const std::vector<Found>& list, size_t depth) {
    for (const Found& found : list) {
      AddFile(found, depth);
      if (MayEnter(found)) Add(List(found.path, depth + 1), depth + 1);
    }
  }

  void AddFile(const Found& found, size_t depth) {
    stamp_ += std::string(depth, '/') + found.name;
    stamp_ += '\0';
    stamp_ += KindOf(found);
    stamp_ += platform::FileStamp(found.path, found.is_link);
    stamp_ += '\0';
    if (found.is_link && fs::is_regular_file(found.status)) file_links_.push_back(found.path);
  }

  // Links may form circles, so each of their targets is entered once. Throws if the target may not
  // be entered.
  bool MayEnter(const Found& found) {
    if (!fs::is_directory(found.status)) return false;
    if (!found.is_link) return true;
    const fs::path target = fs::canonical(found.path);
    Confine(found.path, target);
    return entered_.insert(target).second;
  }

  // Throws if a link ends outside of the roots.
  void Confine(const fs::path& link, const fs::path& target) {
    if (limits_.link_roots.empty()) return;
    if (!roots_) {
      roots_.emplace();
      for (const std::string& root : limits_.link_roots) {
        std::error_code error;
        fs::path real = fs::canonical(platform::NativePath(root), error);
        if (!error) roots_->push_back(std::move(real));
      }
    }
    for (const fs::path& root : *roots_) {
      if (IsInside(target, root)) return;
    }
    throw LedOut{{link == root_ ? "" : NameOf(link), platform::Utf8(target)}};
  }

  // Throws if a link to a file, of those that were added, ends outside of the roots.
  void ConfineFiles() {
    if (limits_.link_roots.empty()) return;
    for (const fs::path& link : file_links_) {
      if (cancelled_()) throw Cancelled{};
      std::error_code error;
      const fs::path target = fs::canonical(link, error);
      // It leads nowhere now.
      if (!error) Confine(link, target);
    }
  }

 private:
  std::string NameOf(const fs::path& path) const {
    return platform::Utf8(path.lexically_relative(root_));
  }

  const fs::path& root_;
  const FolderLimits& limits_;
  const std::function<bool()>& cancelled_;
  std::string& stamp_;
  std::set<fs::path> entered_;
  std::vector<fs::path> file_links_;
  // Those that exist, without links; empty: no link was met yet.
  std::optional<std::vector<fs::path>> roots_;
  size_t entries_ = 0;
};

void ReadConfig(const Found& found, uint64_t most_bytes, ModelFolder* folder) {
  const auto failed = [folder](const std::string& why) {
    folder->config_state = ModelFolder::Config::kFailed;
    folder->config = why;
  };
  const auto too_large = [folder](uint64_t size) {
    folder->config_state = ModelFolder::Config::kTooLarge;
    folder->config_size = size;
    folder->config.clear();
  };
  if (fs::is_directory(found.status)) return failed("it is a folder");
  if (!fs::exists(found.status)) return failed("it leads nowhere");
  if (!fs::is_regular_file(found.status)) return failed("it is no regular file");
  std::error_code error;
  const uint64_t size = fs::file_size(found.path, error);
  if (error) return failed(platform::ErrorText(error));
  if (size > most_bytes) return too_large(size);
  errno = 0;
  std::ifstream file(found.path, std::ios::binary);
  if (!file) return failed(std::generic_category().message(errno));
  // The file may grow meanwhile, or report no size. Reading one byte more than the size detects
  // that.
  std::string& content = folder->config;
  content.resize(static_cast<size_t>(size) + 1);
  size_t read = 0;
  while (true) {
    file.read(content.data() + read, static_cast<std::streamsize>(content.size() - read));
    read += static_cast<size_t>(file.gcount());
    if (file.bad()) return failed(std::generic_category().message(errno));
    if (read > most_bytes) return too_large(read);
    if (!file) break;
    content.resize(std::min<uint64_t>(2 * content.size(), most_bytes + 1));
  }
  content.resize(read);
  folder->config_state = ModelFolder::Config::kRead;
}

// Whether a folder of this name is a version: a number.
bool IsVersion(const std::string& name) {
  return !name.empty() && (name[0] != '0' || name.size() == 1) &&
         name.find_first_not_of("0123456789") == std::string::npos;
}

// Whether a file of this name was probably meant to be the configuration.
bool IsMisnamedConfig(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  for (const char* const known : {"config.pbtxt", "config.pbtxt.txt", "config.pbtx", "config.txt",
                                  "config.prototxt", "config.json", "config.pbtxt.json"}) {
    if (name == known) return true;
  }
  return false;
}

void Read(const fs::path& path, const FolderLimits& limits, const std::function<bool()>& cancelled,
          ModelFolder* folder) {
  Walk walk(path, limits, cancelled, &folder->stamp);
  // The folder itself may be a link that leads to another one now.
  std::error_code ignored;
  const bool is_link = platform::IsLink(fs::directory_entry(path, ignored));
  folder->stamp = platform::FileStamp(path, is_link) + '\0';
  if (is_link) walk.Confine(path, fs::canonical(path));
  const std::vector<Found> list = walk.List(path, 0);
  const Found* config = nullptr;
  for (const Found& found : list) {
    if (found.name == "config.pbtxt") config = &found;
    if (folder->misnamed_config.empty() && fs::is_regular_file(found.status) &&
        IsMisnamedConfig(found.name)) {
      folder->misnamed_config = found.name;
    }
    walk.AddFile(found, 0);
    if (!fs::is_directory(found.status)) continue;
    folder->folders.push_back(found.name);
    // The first version with any content shows what kind of model this is. Other folders have other
    // uses.
    const bool is_first = folder->first_entries.empty() && IsVersion(found.name);
    const bool enter = walk.MayEnter(found);
    if (!is_first && !enter) continue;
    const std::vector<Found> inside = walk.List(found.path, 1);
    if (is_first) {
      for (const Found& one : inside) {
        folder->first_entries.push_back({one.name, fs::is_directory(one.status)});
      }
    }
    if (enter) walk.Add(inside, 1);
  }
  if (folder->stamp != limits.checked_stamp) walk.ConfineFiles();
  if (!config) return;
  folder->misnamed_config.clear();
  ReadConfig(*config, limits.config_bytes, folder);
}

}  // namespace

ModelFolder ReadModelFolder(const std::string& path, const FolderLimits& limits,
                            const std::function<bool()>& cancelled) {
  ModelFolder folder;
  try {
    Read(platform::NativePath(path), limits, cancelled, &folder);
  } catch (const Refused& refused) {
    folder = {};
    folder.refusal = refused.why;
  } catch (const LedOut& led) {
    folder = {};
    folder.outside_link = led.link;
  } catch (const Cancelled&) {
    folder = {};
    folder.cancelled = true;
  } catch (const fs::filesystem_error& error) {
    folder = {};
    folder.fault = platform::ErrorText(error.code()) + ": '" + platform::Utf8(error.path1()) + "'";
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    folder = {};
    folder.fault = error.what();
  }
  return folder;
}

}  // namespace tritonts
