// Whether a library's file is complete. The system ends the process if it maps one that is cut
// short, such as after a download that did not end.
#pragma once

#include <string>

namespace tritonts::platform {

// What is missing of the file at `path`, as a clause; "": nothing, or the file has another form
// than this system's libraries, about which the system says more.
std::string WhatIsMissing(const std::string& path);

}  // namespace tritonts::platform
