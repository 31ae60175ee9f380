// Opens plug-ins of Triton: backends, caches, repository agents.
//
// A plug-in needs a library with the name libtritonserver.so. The package's own library of that
// name (plugins/library/forward.cc) is opened first. It is bound to the functions of this program,
// and the system gives it to every plug-in that is opened later. Packages of Python rename the
// library that their plug-ins need (libtritonserver-717102f0.so), and carry a whole server under
// that name. So a private copy of our library gets each such name before the plug-in is opened.
//
// All that is opened stays open for the life of the process. Any thread may call the function.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "platform/dynamic_library.h"

namespace tritonts::plugins {

// Opens the plug-in at `path`. `own_library` is the path of the package's libtritonserver.so; the
// first call that succeeds decides which one serves. Opening a plug-in again returns the same
// library.
//
// UNSUPPORTED: not on this system. UNAVAILABLE: the plug-in, or `own_library`, cannot be opened.
StatusOr<platform::DynamicLibrary> OpenPlugin(const std::string& path,
                                              const std::string& own_library);

// Opens the package's library alone, for programs that call Triton's functions without being
// opened here. The first path that succeeds serves, as above. The same errors.
Status OpenOwnLibrary(const std::string& own_library);

}  // namespace tritonts::plugins
