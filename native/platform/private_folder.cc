#include "platform/private_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>

#include "platform/dynamic_library.h"
#include "platform/error_text.h"

namespace tritonts::platform {

namespace fs = std::filesystem;

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

bool PrivateFolder::Make(std::string* fault) {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  std::random_device random;
  for (int tries = 0; !error && tries < 100; tries++) {
    fs::path path = place / ("tritonts-" + std::to_string(random()) + std::to_string(random()));
    // False without an error: there is such a folder, which may be another's.
    if (!fs::create_directory(path, error)) continue;
    path_ = std::move(path);
    fs::permissions(path_, fs::perms::owner_all, error);
    break;
  }
  if (!error && !path_.empty()) return true;
  *fault = "cannot make a temporary folder" + (error ? ": " + ErrorText(error) : std::string());
  return false;
}

bool PrivateFolder::Write(const std::string& name, const std::string& bytes, std::string* fault) {
  const fs::path relative = NativePath(name);
  const bool leads_outside = relative.empty() || relative.has_root_path() ||
                             std::any_of(relative.begin(), relative.end(),
                                         [](const fs::path& part) { return part == ".."; });
  if (leads_outside) {
    *fault = "expected the path of a file in the version's folder but received '" + name + "'";
    return false;
  }
  const fs::path file = path_ / relative;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (stream) return true;
  *fault = "cannot write '" + Utf8(file) + "', " + std::to_string(bytes.size()) + " bytes" +
           (errno != 0 ? ": " + std::generic_category().message(errno) : std::string());
  return false;
}

}  // namespace tritonts::platform
