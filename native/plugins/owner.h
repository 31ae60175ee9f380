// The environments that own servers, as native threads reach them: questions that only TypeScript
// can answer, such as to load a model, and messages for the log.
//
//   native thread: AskOwner --> Owner::post --> the owner's JS thread --> Answer --> AskOwner
//   returns
//
// Ownership: the list of owners shares each from AddOwner until RemoveOwner. Threads: any thread
// may call any function of this file, but Owner's functions say which. Functions throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/server/model_key.h"
#include "plugins/abi/types.h"

namespace tritonts::plugins {

struct Question {
  std::string kind;       // src/server/plugins/plugin-questions.ts has all
  std::string arguments;  // an object, as JSON
  // Files by their paths, for a load.
  std::vector<std::pair<std::string, std::string>> files = {};
  // The model whose load asks, on its thread; empty: none is known. AskOwner sets it.
  std::string asker = {};
};

struct Owner {
  uint32_t server = 0;
  std::thread::id thread;  // of its JavaScript
  bool strict = true;      // the server is ready only if all its models are
  uint32_t levels = 0;     // that its log shows, as bits (1 << TRITONSERVER_LogLevel)
  // Any thread: has the owner asked. The answer comes by Answer with this number, or never. False:
  // the environment ends.
  std::function<bool(uint64_t number, const Question& question)> post;
  // Its thread: asks at once. UNAVAILABLE: the answer takes longer than the call may.
  std::function<StatusOr<std::string>(const Question& question)> now;
  // Any thread: has the owner write to its log. False: the environment ends.
  std::function<bool(TRITONSERVER_LogLevel level, const std::string& message)> log;
};

// Notes that this thread runs JavaScript, which must not wait for what its own turn brings.
void NoteJsThread() noexcept;
bool OnJsThread() noexcept;

void AddOwner(std::shared_ptr<Owner> owner);
// Whether a server is ready only if all its models are, as its options say.
bool IsStrict(uint32_t server);
// Ends the questions to it with UNAVAILABLE.
void RemoveOwner(uint32_t server);
// The process exits: ends all questions to threads of JavaScript with UNAVAILABLE, and refuses
// later ones. What an owner's own thread asks is still answered.
void EndQuestions();

// Asks the owner of a server, and waits for the answer. A thread of JavaScript that is not the
// owner's is waited on, so the owner must not wait for it. A loader thread gives up its place
// meanwhile. UNAVAILABLE: the server closes, the owner's own thread asks what takes longer than the
// call may, or too many loads wait for others.
StatusOr<std::string> AskOwner(uint32_t server, Question question);
// The same, but `done` is called with the answer: once, on any thread, maybe within this call. It
// throws nothing. UNAVAILABLE: nobody answers any more, and `done` is not called. A failure of this
// function (std::bad_alloc) has no effect. The caller sets `asker`.
Status AskOwnerLater(uint32_t server, const Question& question,
                     std::function<void(const StatusOr<std::string>& answer)> done);
// The question that has a lazy model loaded.
Question WakeQuestion(const ModelKey& key);
// The answer to a question. Numbers that nobody waits for are ignored.
void Answer(uint64_t number, StatusOr<std::string> answer);

// The levels that the log shows which takes the messages of plug-ins, as bits. Takes no lock.
uint32_t LogLevels() noexcept;
// The owner whose log takes the messages of plug-ins, which belong to the process: that of the
// oldest open server. Null: there is none.
std::shared_ptr<Owner> LogOwner();

}  // namespace tritonts::plugins
