// The backends of this program.
//
// A backend is a folder with a file backend.cc. The folder's name is the backend's, and backend.cc
// defines `Backend* tritonts::<name>::MakeBackend()`, which is called once, on any thread. The
// table owns the backend and never destroys it, because threads may still run at exit.
//
// CMake finds the folders and writes a table of them (backend_table.h.in), for each program its
// own: test programs have the folders of test/support/backends/, too. So each program compiles
// find_backend.cc itself.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// Returns the backend with this name, or null. Borrowed.
Backend* FindBackend(const std::string& name);

// The names of all backends, in the order of the alphabet.
std::vector<std::string> BackendNames();

}  // namespace tritonts
