// A folder of this process alone, which is gone with its owner.
#pragma once

#include <filesystem>
#include <string>

namespace tritonts::platform {

// Not thread-safe. Removes the folder with all its files in the destructor, if the system allows
// it.
class PrivateFolder {
 public:
  PrivateFolder() = default;
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  // Makes the folder where the system has temporary files, for this user only. False: not possible;
  // `fault` has the reason. Call it once.
  bool Make(std::string* fault);
  // Writes a file, and folders for it. `name` is a relative path. False: the path leads outside, or
  // the file cannot be written; `fault` has the reason.
  bool Write(const std::string& name, const std::string& bytes, std::string* fault);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;  // empty: not made
};

}  // namespace tritonts::platform
