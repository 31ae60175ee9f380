// Reads a model's folder in one go, because each access to the file system from JavaScript costs a
// thread hop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tritonts {

struct ModelFolder {
  struct Entry {
    std::string name;
    bool is_folder = false;  // links are followed
  };
  enum class Config {
    kNone,      // there is no config.pbtxt
    kRead,      // `config` has its bytes
    kTooLarge,  // `config_size` is its size
    kFailed,    // `config` is the reason
  };

  // A link that ends outside of FolderLimits::link_roots.
  struct OutsideLink {
    std::string path;    // in the model's folder; empty for the folder itself
    std::string target;  // after all links are resolved
  };

  std::string fault;       // why the folder cannot be read; the rest is empty
  std::string refusal;     // why reading stopped: the folder has something that is not allowed
  bool cancelled = false;  // the caller cancelled; the rest is empty
  std::optional<OutsideLink> outside_link;  // why reading stopped; the rest is empty
  // The names of all files and folders in it, and for each of them and for the folder itself the
  // text of platform::FileStamp. The stamp changes when an entry is written, replaced, added or
  // removed, and when a link gets another target. Each text ends with a null byte, which no name
  // holds: that of the folder; then, for each entry, its depth in `/` and its name, and its kind
  // (`f` with the size, `d`, `-`) with its stamp. The entries of a folder follow it.
  std::string stamp;
  std::vector<std::string> folders;  // names of its sub-folders, sorted by their bytes
  std::vector<Entry> first_entries;  // entries of the first version with any content
  std::string misnamed_config;  // without config.pbtxt: a file that was probably meant to be it
  Config config_state = Config::kNone;
  std::string config;
  uint64_t config_size = 0;
};

// Limits of a walk, which must end even if a link leads to a large tree.
struct FolderLimits {
  uint64_t config_bytes = 1 << 20;
  size_t entries = 16384;  // over all folders
  size_t depth = 32;       // of nested folders
  // The folders in which links must end, such as the model's repository. Without any, links may end
  // anywhere.
  std::vector<std::string> link_roots;
  // The stamp of an earlier read with these roots: if it is the same now, links to files are not
  // resolved again.
  std::string checked_stamp;
};

// Reads the folder at `path`, and its config.pbtxt. Pipes,
// sockets and devices are refused wherever they lie, because reading one may never end. Links are
// followed, but each target folder is entered only once through links, and one outside of the roots
// is not entered. A link that leads nowhere is no fault. `cancelled` is called for
// each entry. Throws std::bad_alloc. Any thread may call it; it waits for the file system.
ModelFolder ReadModelFolder(
    const std::string& path, const FolderLimits& limits = {},
    const std::function<bool()>& cancelled = [] { return false; });

}  // namespace tritonts
