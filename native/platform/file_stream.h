// Files of the C library, by paths in UTF-8 and of any size. Processes that this one starts do not
// inherit them. Any thread may call these functions; errors are in errno.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tritonts::platform {

// As fopen, with a binary mode such as "wb".
std::FILE* OpenFile(const std::string& path, const char* mode);
// Moves to an offset from the start. False: it fails.
bool SeekInFile(std::FILE* file, int64_t offset);
// Moves to the end, and returns the size; -1: it fails.
int64_t SeekToEnd(std::FILE* file);
// Gives a file another name, in place of the file that has that name. False: it fails.
bool MoveFileOver(const std::string& from, const std::string& to);

}  // namespace tritonts::platform
