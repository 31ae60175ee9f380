// Servers of this environment as plug-ins and native programs ask them (plugins/owner.h). JS thread
// only.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/server/server.h"
#include "plugins/log.h"
#include "setup.h"

namespace tritonts {

// The functions of JavaScript that answer for a server.
struct PluginAnswers {
  Napi::FunctionReference answer;
  Napi::FunctionReference log;
  std::shared_ptr<plugins::LogQueue> messages;  // shared with the threads that write
};

// Lets native threads ask JavaScript about a server, until ForgetPlugins. Arguments: whether it is
// ready only if all its models are; the levels that its log shows, as bits; the function that
// answers, and the one that logs. See src/addon/native/server.ts.
void OwnPlugins(const Napi::CallbackInfo& info, const Server& server);
// Ends that, and the questions under way. The log gets the last messages. Any server of this
// environment.
void ForgetPlugins(Napi::Env env, uint32_t server);

// The process exits: the logs of this environment's servers get the messages that wait. Later ones
// go to stderr.
void LogLastMessages(Napi::Env env);

// Defines the functions for plug-ins that are of no server.
void ExportPlugins(Napi::Env env, Napi::Object exports);

}  // namespace tritonts
