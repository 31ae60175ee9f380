// The TensorFlow library, opened once per file.
#pragma once

#include <memory>
#include <string>

#include "engine/base/status.h"
#include "platform/dynamic_library.h"
#include "table.h"

namespace tritonts::tensorflow {

// An open library: one per file, for the life of the process. Thread-safe.
class Library {
 public:
  // Opens libtensorflow or libtensorflow_cc at `path`, or returns the one that is open.
  // UNAVAILABLE, with the path and advice: the file does not exist, or is not a library, not
  // TensorFlow's, or too old.
  static StatusOr<Library*> Open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Table& table() const { return table_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

  // Opens a library of operators, which all models of the process can use then. It is never closed,
  // because the graphs of sessions refer to its operators. INTERNAL, with the path.
  Status LoadOperators(const std::string& path) const;

  StatusObject NewStatus() const { return StatusObject(table_, table_.NewStatus()); }
  // Makes a status of a function's result: INTERNAL with the library's text for most errors.
  Status Take(const StatusObject& result) const;

 private:
  Library(std::string path, std::string version, const Table& table)
      : path_(std::move(path)), version_(std::move(version)), table_(table) {}
  static StatusOr<std::unique_ptr<Library>> Make(const std::string& path,
                                                 const platform::DynamicLibrary& opened,
                                                 const std::string& key);

  const std::string path_;
  const std::string version_;
  const Table table_;
};

}  // namespace tritonts::tensorflow
