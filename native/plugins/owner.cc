#include "plugins/owner.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "c_api/wake.h"
#include "engine/base/json_text.h"
#include "engine/server/loaders.h"
#include "engine/server/server.h"
#include "plugins/batcher.h"

namespace tritonts::plugins {

namespace {

using Done = std::function<void(const StatusOr<std::string>&)>;

// A question under way.
struct Waiting {
  uint32_t server = 0;
  std::optional<StatusOr<std::string>> answer;
  Done done = nullptr;  // is called with the answer, and nobody waits; null: a thread waits
};

// Never destroyed, because threads may outlive static destructors.
struct Owners {
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::map<uint32_t, std::shared_ptr<Owner>> all;  // by the id of the server: the oldest first
  std::map<uint64_t, Waiting> waiting;
  uint64_t last = 0;
  bool exits = false;  // the process exits: no thread of JavaScript answers any more
};
Owners& AllOwners() {
  static auto* const owners = new Owners();
  return *owners;
}

// Without a server, warnings and errors are shown.
constexpr uint32_t kOwnLevels = 1 << TRITONSERVER_LOG_WARN | 1 << TRITONSERVER_LOG_ERROR;
std::atomic<uint32_t> log_levels{kOwnLevels};

// The lock is held.
void SetLogLevels(const Owners& owners) {
  log_levels.store(owners.all.empty() ? kOwnLevels : owners.all.begin()->second->levels,
                   std::memory_order_relaxed);
}

Status OwnerIsGone() {
  return Status::Unavailable(Reason::kClosed, "the server is closed");
}

// A question under way. Its number is forgotten at the end.
class Asked {
 public:
  explicit Asked(uint32_t server) {
    Owners& owners = AllOwners();
    const std::lock_guard lock(owners.mutex);
    number_ = ++owners.last;
    owners.waiting[number_].server = server;
    ended_ = owners.exits;
  }
  ~Asked() {
    Owners& owners = AllOwners();
    const std::lock_guard lock(owners.mutex);
    owners.waiting.erase(number_);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  uint64_t number() const { return number_; }
  // Nobody answers any more.
  bool ended() const { return ended_; }
  // Waits until there is an answer, or the server closes.
  StatusOr<std::string> Wait(uint32_t server) {
    constexpr auto kLook = std::chrono::milliseconds(50);
    Owners& owners = AllOwners();
    std::unique_lock lock(owners.mutex);
    std::optional<StatusOr<std::string>>& answer = owners.waiting[number_].answer;
    while (!answer) {
      owners.changed.wait_for(lock, kLook);
      if (answer) break;
      lock.unlock();
      const std::shared_ptr<Server> engine = Server::Find(server);
      const bool closes = !engine || engine->closing();
      lock.lock();
      if (closes && !answer) return OwnerIsGone();
    }
    return std::move(*answer);
  }

 private:
  uint64_t number_ = 0;
  bool ended_ = false;
};

std::shared_ptr<Owner> FindOwner(uint32_t server) {
  Owners& owners = AllOwners();
  const std::lock_guard lock(owners.mutex);
  const auto known = owners.all.find(server);
  return known == owners.all.end() ? nullptr : known->second;
}

// Ends the questions to a server, or to all (null).
void EndWaiting(Owners* owners, std::unique_lock<std::mutex>* lock, const uint32_t* server) {
  for (auto one = owners->waiting.begin(); one != owners->waiting.end();) {
    const auto at = one++;
    if (server && at->second.server != *server) continue;
    if (!at->second.done) {
      if (!at->second.answer) at->second.answer = OwnerIsGone();
      continue;
    }
    const Done done = std::move(at->second.done);
    owners->waiting.erase(at);
    lock->unlock();
    done(OwnerIsGone());
    lock->lock();
    // Others may have changed the list meanwhile.
    one = owners->waiting.begin();
  }
  owners->changed.notify_all();
}

thread_local bool is_js_thread = false;

}  // namespace

void NoteJsThread() noexcept {
  is_js_thread = true;
}

bool OnJsThread() noexcept {
  return is_js_thread;
}

void AddOwner(std::shared_ptr<Owner> owner) {
  Owners& owners = AllOwners();
  const std::lock_guard lock(owners.mutex);
  const uint32_t server = owner->server;
  owners.all[server] = std::move(owner);
  SetLogLevels(owners);
}

void RemoveOwner(uint32_t server) {
  Owners& owners = AllOwners();
  std::unique_lock lock(owners.mutex);
  owners.all.erase(server);
  SetLogLevels(owners);
  EndWaiting(&owners, &lock, &server);
}

void EndQuestions() {
  Owners& owners = AllOwners();
  std::unique_lock lock(owners.mutex);
  owners.exits = true;
  EndWaiting(&owners, &lock, nullptr);
}

bool IsStrict(uint32_t server) {
  const std::shared_ptr<Owner> owner = FindOwner(server);
  return !owner || owner->strict;
}

StatusOr<std::string> AskOwner(uint32_t server, Question question) {
  if (FormsBatch()) return NotWhileBatching("a function of the server");
  const std::shared_ptr<Owner> owner = FindOwner(server);
  if (!owner) return OwnerIsGone();
  if (owner->thread == std::this_thread::get_id()) return owner->now(question);
  question.asker = LoaderWait::model();
  const LoaderWait place;
  if (!place.allowed()) {
    return Status::Unavailable(Reason::kNotReady,
                               "model '" + question.asker +
                                   "': too many loads wait for other loads: none is left for what "
                                   "this one asks for");
  }
  Asked asked(server);
  if (asked.ended() || !owner->post(asked.number(), question)) return OwnerIsGone();
  return asked.Wait(server);
}

Status AskOwnerLater(uint32_t server, const Question& question, Done done) {
  Owners& owners = AllOwners();
  std::shared_ptr<Owner> owner;
  uint64_t number = 0;
  {
    // With one lock, so that the removal of the owner finds the question.
    const std::lock_guard lock(owners.mutex);
    const auto known = owners.all.find(server);
    if (known == owners.all.end() || owners.exits) return OwnerIsGone();
    owner = known->second;
    number = ++owners.last;
    owners.waiting[number] = {server, {}, std::move(done)};
  }
  // False: `done` was called already.
  const auto forget = [&] {
    const std::lock_guard lock(owners.mutex);
    return owners.waiting.erase(number) > 0;
  };
  try {
    if (!owner->post(number, question) && forget()) return OwnerIsGone();
  } catch (const std::bad_alloc&) {
    if (forget()) throw;
  }
  return Status::Ok();
}

Question WakeQuestion(const ModelKey& key) {
  return {"wake", "{\"model\":" + JsonText(key.name) +
                      ",\"namespace\":" + JsonText(key.model_namespace) + "}"};
}

void Answer(uint64_t number, StatusOr<std::string> answer) {
  Owners& owners = AllOwners();
  Done done;
  {
    const std::lock_guard lock(owners.mutex);
    const auto known = owners.waiting.find(number);
    if (known == owners.waiting.end() || known->second.answer) return;
    if (known->second.done) {
      done = std::move(known->second.done);
      owners.waiting.erase(known);
    } else {
      known->second.answer = std::move(answer);
      owners.changed.notify_all();
    }
  }
  if (done) done(answer);
}

uint32_t LogLevels() noexcept {
  return log_levels.load(std::memory_order_relaxed);
}

std::shared_ptr<Owner> LogOwner() {
  Owners& owners = AllOwners();
  const std::lock_guard lock(owners.mutex);
  return owners.all.empty() ? nullptr : owners.all.begin()->second;
}

}  // namespace tritonts::plugins

tritonts::Status tritonts::c_api::HaveLoaded(uint32_t server, const ModelKey& key,
                                             std::function<void(const Status&)> done) {
  plugins::Question question = plugins::WakeQuestion(key);
  // A load that asks for what waits for it gets an error.
  question.asker = LoaderWait::model();
  return plugins::AskOwnerLater(
      server, question,
      [done = std::move(done)](const StatusOr<std::string>& answer) { done(answer.status()); });
}
