// Values of the engine to and from JavaScript. JS thread only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/server/model_folder.h"
#include "engine/statistics/statistics.h"
#include "engine/version/model_version.h"
#include "setup.h"

namespace tritonts {

// An error as src/addon/native/status.ts expects it: { code: number, message: string }.
Napi::Value ToJs(Napi::Env env, const Status& status);
Napi::Value ToJs(Napi::Env env, const ModelDescription& description);
Napi::Value ToJs(Napi::Env env, const ModelFolder& folder);
Napi::Value ToJs(Napi::Env env, const Statistics& statistics);
Napi::Value ToJs(Napi::Env env, const VersionMetrics& metrics);
Napi::Value ToJs(Napi::Env env, const BatchHistory& history);
Napi::Value ToJs(Napi::Env env, const std::map<std::string, std::string>& map);

// Readers for what TypeScript checked already; a wrong type gives an empty value, never a crash.
//
// While a worker is being terminated its JavaScript may still run for some instructions, in which
// whatever looks into objects fails and gives an empty value. Methods of an empty value that are
// not made for it abort the process: ask IsObject first, and use these.
// An argument as a word; 0 for anything else.
uint32_t WordOf(const Napi::CallbackInfo& info, size_t index);
// The bytes that a typed array shows; null for anything else.
std::pair<const void*, size_t> ViewOf(const Napi::Value& value);
bool FlagOf(const Napi::Value& value);
std::string StringOf(const Napi::Value& value);
int64_t NumberOf(const Napi::Value& value);
std::map<std::string, std::string> StringsOf(const Napi::Value& value);
std::vector<TensorSpec> SpecsOf(const Napi::Value& value);
std::vector<double> DoublesOf(const Napi::Value& value);
// Files of NativeBytes by path.
ModelFiles FilesOf(const Napi::Value& value);
LatencyPolicy LatencyPolicyOf(const Napi::Value& value);
VersionConfig VersionConfigOf(const Napi::Object& object);

// An ArrayBuffer over `block`, which it keeps. Empty where the runtime forbids external buffers.
Napi::Value ExternalBuffer(Napi::Env env, Block* block);

}  // namespace tritonts
