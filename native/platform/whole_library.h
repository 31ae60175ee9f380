// What a library's file says before the system opens it: whether it is complete, and what it needs.
// The system ends the process if it maps a file that is cut short, such as after a download that
// did not end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritonts::platform {

// What is missing of the file at `path`, as a clause; "": nothing, or the file has another form
// than this system's libraries, about which the system says more.
std::string WhatIsMissing(const std::string& path);

// The names of the libraries that the one at `path` needs, in their order there. Empty: it needs
// none, or the file has another form than this system's libraries, about which the system says
// more.
std::vector<std::string> NamesNeeded(const std::string& path);

// Whether a function that the library at `path` has, or needs of another one, has `part` in its
// name. True if its names cannot be read.
bool MayName(const std::string& path, std::string_view part);

}  // namespace tritonts::platform
