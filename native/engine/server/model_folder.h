// What lies in a model's folder: read in one go, because each visit to the file system from
// JavaScript costs a thread hop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
    kUnread,    // the folder's stamp is the one that is known
    kRead,      // `config` has its bytes
    kTooLarge,  // `config_size` says how large
    kFailed,    // `config` says why
  };

  std::string fault;       // why the folder cannot be read; then there is nothing else
  std::string refusal;     // why it is not read to its end: what is in it that no model may have
  bool cancelled = false;  // somebody asked to end; then there is nothing else
  // Names, sizes and times of all files in it, also in sub-folders: another text when one of them
  // is changed, added or removed.
  std::string stamp;
  std::vector<std::string> folders;  // names of its sub-folders, ascending by their bytes
  std::vector<Entry> first_entries;  // what lies in the first of them
  Config config_state = Config::kNone;
  std::string config;
  uint64_t config_size = 0;
};

// How much of a folder is looked at. A link may lead to any tree, and a walk through one has to
// end.
struct FolderLimits {
  uint64_t config_bytes = 1 << 20;
  size_t entries = 16384;  // of all folders together
  size_t depth = 32;       // folders inside of each other
};

// Reads the folder at `path`, of which `known_stamp` is known, and its config.pbtxt. What is no
// file and no folder is refused wherever it lies, because it may have no end for whoever opens it:
// pipes, sockets, devices. Links are followed, each folder that they lead to once. `cancelled` is
// asked at each entry. Throws std::bad_alloc. Any thread; waits for the file system.
ModelFolder ReadModelFolder(
    const std::string& path, const std::string& known_stamp, const FolderLimits& limits = {},
    const std::function<bool()>& cancelled = [] { return false; });

}  // namespace tritonts
