// What identifies the content of a file or folder without reading it.
#pragma once

#include <filesystem>
#include <string>

namespace tritonts::platform {

// A text that changes when the file or folder is written, replaced, or has its attributes set: its
// device, inode, size and times; of a link also those of the link. A program may set the time of
// a write, as rsync does, but not that of the change (ctime). Empty for what cannot be asked, such
// as an entry that was removed meanwhile. Throws std::bad_alloc.
std::string FileStamp(const std::filesystem::path& path, bool is_link);

}  // namespace tritonts::platform
