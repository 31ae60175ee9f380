// Converts the engine's values to and from JavaScript. JS thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/server/model_folder.h"
#include "engine/server/model_key.h"
#include "engine/statistics/statistics.h"
#include "engine/version/model_version.h"
#include "setup.h"

namespace tritonts {

// An error in the form that src/addon/native/status.ts expects: { code: number, message: string }.
Napi::Value ToJs(Napi::Env env, const Status& status);
Napi::Value ToJs(Napi::Env env, const ModelDescription& description);
Napi::Value ToJs(Napi::Env env, const ModelFolder& folder);
// As src/model-key.ts has it: { namespace: string, name: string }.
Napi::Value ToJs(Napi::Env env, const ModelKey& key);
Napi::Value ToJs(Napi::Env env, const Statistics& statistics);
Napi::Value ToJs(Napi::Env env, const VersionMetrics& metrics);
Napi::Value ToJs(Napi::Env env, const BatchHistory& history);
Napi::Value ToJs(Napi::Env env, const std::map<std::string, std::string>& map);

// Readers for values that TypeScript has checked. A wrong type yields an empty value, never a
// crash.
//
// While a worker is being terminated, its JavaScript may still run for some instructions. Then
// every access to an object fails and yields an empty value. Calling an object's method on an empty
// value aborts the process: check IsObject first, and use these readers.
//
// Returns an argument as a word; 0 for other types.
uint32_t WordOf(const Napi::CallbackInfo& info, size_t index);
// The bytes of a typed array; null for other values.
std::pair<const void*, size_t> ViewOf(const Napi::Value& value);
bool FlagOf(const Napi::Value& value);
std::string StringOf(const Napi::Value& value);
int64_t NumberOf(const Napi::Value& value);
// A whole number from 0 to 2^53 - 1; empty for other values.
std::optional<uint64_t> WholeOf(const Napi::Value& value);
ModelKey ModelKeyOf(const Napi::Value& value);
std::map<std::string, std::string> StringsOf(const Napi::Value& value);
// Converts microseconds to nanoseconds. Values that do not fit are capped.
uint64_t NanosecondsOf(const Napi::Value& value);
std::vector<int64_t> DimsOf(const Napi::Value& value);
// Absent: every request runs alone.
DynamicPolicy DynamicPolicyOf(const Napi::Value& value);
std::vector<TensorSpec> SpecsOf(const Napi::Value& value);
std::vector<double> DoublesOf(const Napi::Value& value);
// Reads a map of NativeBytes by path.
ModelFiles FilesOf(const Napi::Value& value);
LatencyPolicy LatencyPolicyOf(const Napi::Value& value);
platform::HostPolicy HostPolicyOf(const Napi::Value& value);
VersionConfig VersionConfigOf(const Napi::Object& object);
// Adds instances, and what they need of the gate.
void AddInstances(const Napi::Value& instances, VersionConfig* config);

// Creates an ArrayBuffer over `block`, which it keeps alive. Empty if the runtime forbids external
// buffers.
Napi::Value ExternalBuffer(Napi::Env env, Block* block);

}  // namespace tritonts
