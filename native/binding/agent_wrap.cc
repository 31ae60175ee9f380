#include "agent_wrap.h"

#include <array>
#include <functional>
#include <utility>

#include "addon.h"
#include "awaited.h"
#include "convert.h"
#include "engine/base/exit.h"

namespace tritonts {

namespace {

Status NoThread() {
  return Status::Unavailable(Reason::kNoMemory, "the system has no thread for the agent's call");
}

std::array<napi_value, 1> ToArguments(Napi::Env env, const Status& status) {
  return {ToJs(env, status)};
}

}  // namespace

Napi::Function AgentWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"open", &AgentWrap::Open},
      {"act", &AgentWrap::Act},
      {"end", &AgentWrap::End},
      {"leave", &AgentWrap::Leave},
  };
  return DefineWrapped(env, "NativeAgentModel", kMethods);
}

Napi::Value AgentWrap::Create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  TRITONREPOAGENT_AgentModel::Facts facts;
  if (!info[2].IsObject()) return env.Undefined();
  const Napi::Object given = info[2].As<Napi::Object>();
  facts.location = StringOf(given.Get("path"));
  facts.is_remote = FlagOf(given.Get("isRemote"));
  facts.config = StringOf(given.Get("config"));
  facts.folder = StringOf(given.Get("folder"));
  for (auto& [name, value] : StringsOf(given.Get("parameters"))) {
    facts.parameters.emplace_back(name, value);
  }
  const Napi::Object object =
      Wrap(DataOf(env).agent_class,
           std::make_unique<AgentWrap>(StringOf(info[0]), StringOf(info[1]), std::move(facts),
                                       std::chrono::milliseconds(NumberOf(given.Get("limitMs")))));
  if (object.IsEmpty()) return env.Undefined();  // the environment is ending
  return object;
}

AgentWrap::AgentWrap(std::string path, std::string own_library,
                     TRITONREPOAGENT_AgentModel::Facts facts, std::chrono::milliseconds limit)
    : shared_(std::make_shared<Shared>(
          Shared{std::move(path), std::move(own_library), std::move(facts), limit, nullptr})) {}

AgentWrap::~AgentWrap() {
  // A thread that is in a call has a share, and ends the model when it returns.
  if (shared_.use_count() > 1 || !shared_->model) return;
  // Without a thread the plug-in is called here.
  (void)plugins::RunApart([model = std::exchange(shared_->model, nullptr)] {});
}

void AgentWrap::UnderWay::End() {
  if (state_.exchange(State::kEnded) == State::kLeft) CountAbandonedCalls(-1);
}

void AgentWrap::UnderWay::Leave() {
  State runs = State::kRuns;
  if (state_.compare_exchange_strong(runs, State::kLeft)) CountAbandonedCalls(1);
}

template <typename Task, typename Done>
void AgentWrap::Apart(Task call, Done done) {
  // What is told is kept, so that telling it again without memory does not call the plug-in again.
  const auto told = std::make_shared<Status>();
  const auto called = std::make_shared<bool>(false);
  const auto under_way = under_way_ = std::make_shared<UnderWay>();
  const bool started = plugins::RunApart([call = std::move(call), done, told, called, under_way] {
    if (!*called) {
      *told = MakeStatus(call);
      under_way->End();
    }
    *called = true;
    done(*told);
  });
  if (started) return;
  under_way->End();
  done(NoThread());
}

void AgentWrap::Open(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 0, Awaited::Keeps::kNothing);
  Apart(
      [shared = shared_]() -> Status {
        auto opened = plugins::AgentModel::Open(shared->path, shared->own_library, shared->facts,
                                                shared->limit);
        if (opened.ok()) shared->model = opened.take();
        return opened.status();
      },
      awaited.Then(ToArguments));
  awaited.Taken();
}

void AgentWrap::Act(const Napi::CallbackInfo& info) {
  const auto action = static_cast<TRITONREPOAGENT_ActionType>(NumberOf(info[0]));
  const auto moved_to = std::make_shared<std::string>();
  Awaited awaited(info, 1, Awaited::Keeps::kNothing);
  Apart(
      [shared = shared_, action, moved_to] {
        if (!shared->model) return Status::Internal("the agent's model has ended");
        Status status = shared->model->Act(action);
        *moved_to = shared->model->MovedTo();
        return status;
      },
      awaited.Then([moved_to](Napi::Env env, const Status& status) {
        return std::array<napi_value, 2>{ToJs(env, status), Napi::String::New(env, *moved_to)};
      }));
  awaited.Taken();
}

void AgentWrap::End(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 0, Awaited::Keeps::kNothing);
  Apart(
      [shared = shared_] {
        shared->model = nullptr;
        return Status::Ok();
      },
      awaited.Then(ToArguments));
  awaited.Taken();
}

void AgentWrap::Leave(const Napi::CallbackInfo&) {
  if (!under_way_) return;
  under_way_->Leave();
  plugins::LeaveAgentAlone(shared_->path);
}

}  // namespace tritonts
