// A backend that calls every function that a server gives to backends, and checks what it gets.
//
// Input x (FP32) and, if the model has it, text (BYTES). Outputs: y = x; called: the names of all
// functions that the plug-in has called since the library was opened; faults: what was not as it
// must be; facts: what the tests know better, as `name=value`. All three are BYTES [-1].
//
// Parameter `calls`: a model with input x and output y, which each execution asks, too. Parameter
// `alone`: there is no server that could be asked.
#pragma once

#include <string>

#include "plugin.h"

namespace tritonts::plugin::every {

// Notes that a function is called.
void Note(const char* function);
void Fault(const std::string& text);
void Fact(const std::string& name, const std::string& value);
inline void Fact(const std::string& name, int64_t value) {
  Fact(name, std::to_string(value));
}
// A text that may be null.
inline void Fact(const std::string& name, const char* value) {
  Fact(name, std::string(value ? value : "(null)"));
}
// What is noted, as values of the outputs.
std::vector<std::string> Called();
std::vector<std::string> Faults();
std::vector<std::string> Facts();

// Takes an error that should not be. Returns whether there is none.
bool Good(const char* function, TRITONSERVER_Error* error);
// Takes an error that should be, of this code.
void Bad(const char* function, TRITONSERVER_Error* error, TRITONSERVER_Error_Code code);

template <typename A, typename B>
void Same(const char* what, const A& got, const B& expected) {
  if (!(got == expected)) Fault(std::string(what) + " differs from what was expected");
}

// What is called of each kind.
void Values();
void Refused();
void Numbers(const char* model);
void Ask(TRITONSERVER_Server* server, const char* model);
void AskServer(TRITONSERVER_Server* server, const char* model, uint64_t version);
void Trace(TRITONSERVER_InferenceTrace* trace);
void Read(TRITONBACKEND_Request* request);
// Answers the request, through both ways to a response.
void Answer(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, uint64_t start);

}  // namespace tritonts::plugin::every

// Calls a function, and notes it.
#define CALL(function, ...) (::tritonts::plugin::every::Note(#function), function(__VA_ARGS__))
// The same, of a function that must succeed.
#define GOOD(function, ...) ::tritonts::plugin::every::Good(#function, CALL(function, __VA_ARGS__))
#define BAD(code, function, ...) \
  ::tritonts::plugin::every::Bad(#function, CALL(function, __VA_ARGS__), TRITONSERVER_ERROR_##code)
#define SAME(got, expected) ::tritonts::plugin::every::Same(#got, (got), (expected))
