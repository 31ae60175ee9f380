// What lies in a model's folder: read in one go, because each visit to the file system from
// JavaScript costs a thread hop.
#pragma once

#include <cstdint>
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

  std::string fault;  // why the folder cannot be read; then there is nothing else
  // Names, sizes and times of all files in it, also in sub-folders: another text when one of them
  // is changed, added or removed.
  std::string stamp;
  std::vector<std::string> folders;  // names of its sub-folders, ascending by their bytes
  std::vector<Entry> first_entries;  // what lies in the first of them
  Config config_state = Config::kNone;
  std::string config;
  uint64_t config_size = 0;
};

// Reads the folder at `path`, of which `known_stamp` is known, and its config.pbtxt of at most
// `most_config_bytes`: never more than these, and never what is no regular file, which may have no
// end. Any thread; waits for the file system.
ModelFolder ReadModelFolder(const std::string& path, uint64_t most_config_bytes,
                            const std::string& known_stamp);

}  // namespace tritonts
