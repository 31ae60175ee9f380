// The OpenVINO library, opened once per file.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "platform/dynamic_library.h"
#include "table.h"

namespace tritonts::openvino {

// An open library: one per file, for the life of the process. Thread-safe.
class Library {
 public:
  // Opens libopenvino_c at `path`, or returns the one that is open. UNAVAILABLE, with the path and
  // advice: the file does not exist, or is not a library, not OpenVINO's, or too old.
  static StatusOr<Library*> Open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Table& table() const { return table_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }
  // The core that all models without extensions share. Never freed, as threads of it may outlive
  // this addon's use.
  const OvCore* core() const { return core_; }

  // The library's number of an element type; -1: it has none. The numbers differ between versions.
  int ElementOf(DataType type) const { return elements_[static_cast<size_t>(type)]; }
  // kInvalid: the type has no counterpart.
  DataType TypeOf(int element) const;

  // Called after the library has done something for the first time, such as reading a kind of file.
  // It then may have opened more libraries, with exit handlers, before which the engine's must run.
  void Did(const std::string& what) const;

  // Sets what every core needs.
  Status PrepareCore(const OvCore* core) const;

  // Makes a status of a function's result: INTERNAL with the library's text for an error.
  Status Take(int result) const;

 private:
  Library(std::string path, std::string version, const Table& table)
      : path_(std::move(path)), version_(std::move(version)), table_(table) {}
  static StatusOr<std::unique_ptr<Library>> Make(const std::string& path,
                                                 const platform::DynamicLibrary& opened,
                                                 const std::string& key);
  // Creates the core and reads the numbers of element types.
  Status Prepare();

  const std::string path_;
  const std::string version_;
  const Table table_;
  OvCore* core_ = nullptr;
  std::array<int, 16> elements_{};
  mutable std::mutex mutex_;  // guards done_
  mutable std::set<std::string> done_;
};

}  // namespace tritonts::openvino
