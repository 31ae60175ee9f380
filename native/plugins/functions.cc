#include "plugins/functions.h"

#include <string>
#include <string_view>
#include <type_traits>

#include "plugins/error.h"

namespace tritonts::plugins {

namespace {

// Functions whose texts may be null, or that say themselves what they miss.
constexpr bool MayLackTexts(std::string_view name) {
  return name.starts_with("TRITONSERVER_ServerOptions") || name.starts_with("TRITONCACHE_") ||
         name.starts_with("TRITONREPOAGENT_") ||
         (name.ends_with("Parameter") && !name.starts_with("TRITONBACKEND_ResponseSet")) ||
         name.ends_with("HostPolicy") || name == "TRITONSERVER_LogMessage" ||
         name == "TRITONSERVER_MetricFamilyNew" ||
         name == "TRITONSERVER_InferenceTraceSetContext" ||
         name == "TRITONSERVER_InferenceTraceReportActivity" ||
         name == "TRITONSERVER_MessageNewFromSerializedJson" ||
         name == "TRITONBACKEND_ResponseOutput" ||
         name == "TRITONBACKEND_RequestOutputBufferProperties" ||
         name == "TRITONBACKEND_ModelInstanceReportResponseStatistics";
}

// Functions that are refused in any case.
constexpr bool IsRefused(std::string_view name) {
  return name.starts_with("TRITONSERVER_ServerOptions") || name == "TRITONSERVER_ServerNew" ||
         name == "TRITONSERVER_ServerDelete" || name == "TRITONSERVER_ServerStop" ||
         name == "TRITONSERVER_ServerSetExitTimeout";
}

// Looks for an argument that must not be null and is. The first one, an object or the place of a
// new one, must be there. So must the object that a new one is made of, and texts.
class NullSearch {
 public:
  constexpr explicit NullSearch(bool needs_texts) : needs_texts_(needs_texts) {}

  template <typename Argument>
  void Look(const Argument& argument) {
    position_++;
    if constexpr (std::is_pointer_v<Argument>) {
      using Pointed = std::remove_pointer_t<Argument>;
      constexpr bool is_text = std::is_same_v<Pointed, const char>;
      constexpr bool is_object = std::is_class_v<std::remove_const_t<Pointed>>;
      const bool needed =
          position_ == 1 || (is_text && needs_texts_) || (is_object && position_ == 2 && makes_);
      if (needed && !argument && found_ == 0) found_ = position_;
      makes_ = position_ == 1 && std::is_pointer_v<Pointed>;
    }
  }
  int found() const { return found_; }

 private:
  const bool needs_texts_;
  bool makes_ = false;
  int position_ = 0;
  int found_ = 0;  // 0: none
};

// A function as plug-ins call it: with its checks in front, if it can return an error.
template <typename Function, Function function, const char* name>
struct Entry {
  static constexpr Function kAddress = function;
};
template <typename... Arguments, TRITONSERVER_Error* (*function)(Arguments...) noexcept,
          const char* name>
struct Entry<TRITONSERVER_Error* (*)(Arguments...) noexcept, function, name> {
  static TRITONSERVER_Error* Call(Arguments... arguments) noexcept {
    if constexpr (sizeof...(Arguments) > 0 && !IsRefused(name)) {
      // Known when this is compiled, because backends call it for each request.
      constexpr bool needs_texts = !MayLackTexts(name);
      NullSearch search(needs_texts);
      (search.Look(arguments), ...);
      if (search.found() > 0) {
        // Nothing is deleted, as with `delete`.
        if (search.found() == 1 && std::string_view(name).ends_with("Delete")) return nullptr;
        return NullArgument(name, search.found());
      }
    }
    return function(arguments...);
  }
  static constexpr auto kAddress = &Call;
};

#define TRITONTS_NAME(returns, name, parameters, arguments) constexpr char k##name[] = #name;
TRITONTS_TRITON_FUNCTIONS(TRITONTS_NAME)
#undef TRITONTS_NAME

}  // namespace

const TritonFunctions& Functions() noexcept {
  static constexpr TritonFunctions functions = {
#define TRITONTS_ADDRESS(returns, name, parameters, arguments) \
  Entry<decltype(&name), &name, k##name>::kAddress,
      TRITONTS_TRITON_FUNCTIONS(TRITONTS_ADDRESS)
#undef TRITONTS_ADDRESS
  };
  return functions;
}

}  // namespace tritonts::plugins
