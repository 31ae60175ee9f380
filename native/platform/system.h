// Which system this is, where that changes no more than a value.
#pragma once

namespace tritonts::platform {

#if defined(_WIN32)
inline constexpr bool kWindows = true;
#else
inline constexpr bool kWindows = false;
#endif

}  // namespace tritonts::platform
