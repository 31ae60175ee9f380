// A stamp that changes with the content of a file or folder, made without reading the content.
#pragma once

#include <filesystem>
#include <string>

namespace tritonts::platform {

// A text that changes when the file or folder is written, replaced, or has its attributes set. It
// consists of the device, inode, size and times; for a link also those of the link. A program may
// set the time of a write (mtime), as rsync does, but not that of the change (ctime). Empty if the
// entry's status cannot be read, for example because it was removed. Throws std::bad_alloc.
std::string FileStamp(const std::filesystem::path& path, bool is_link);

}  // namespace tritonts::platform
