// Entries of a folder that lead elsewhere: symbolic links, and on Windows also junctions.
#pragma once

#include <filesystem>

namespace tritonts::platform {

// Whether the entry is a link. False if its status cannot be read. Any thread may call it.
bool IsLink(const std::filesystem::directory_entry& entry);

}  // namespace tritonts::platform
