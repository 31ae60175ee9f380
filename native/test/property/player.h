// Plays a schedule with a version, and compares all it does with the model's.
//
// The backend is the schedule: what a run is to be told comes from the steps, from within Execute
// and Deliver or after them, on the player's thread or on that of a blocking instance. Only one of
// them does something at a time, so that what happens depends on nothing but the schedule. Each
// call is first made of the model, which says what must come of it, and then of the version.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "clocked_scheduler.h"
#include "counting_gate.h"
#include "engine/version/model_version.h"
#include "fake_device.h"
#include "model.h"
#include "schedule.h"

namespace tritonts::test {

class Player {
 public:
  // What went wrong; empty: nothing.
  static std::string Play(const Schedule& schedule);

 private:
  class Sink;
  class PlayedBackend;
  class PlayedModel;
  class PlayedInstance;

  // What requests have in common that are submitted together and differ in their bytes alone.
  struct Group {
    RequestHeader header;
    std::unique_ptr<float[]> input;  // their bytes, one after the other
    uint32_t open = 0;               // how many have not ended
  };
  // A request's memory, used for one request after the other.
  struct Slot {
    RequestHeader header;
    Request request;
    Group* group = nullptr;
    Life* life = nullptr;  // null: nobody uses it
    std::vector<float> place;
    bool held = false;  // an abandoned run may use it for ever
  };
  // The engine's side of a model's run.
  struct PlayedRun {
    ModelRun* model = nullptr;
    Run* run = nullptr;   // not to be used when it is over
    RunRef reference;     // not of all: then it may be
    bool parked = false;  // Execute waits, on the instance's thread, for one of these
    bool leaves = false;
    bool throws = false;
    std::function<void()> task;
  };

  // How long what is on its way on another thread may take.
  static constexpr auto kPatience = std::chrono::seconds(60);

  explicit Player(const Schedule& schedule);
  bool Start();
  std::string Run();
  // Lets the version run out of requests, and destroys it.
  void End();
  // Lets go of a version that is never to be destroyed.
  void Leave();

  // --- Steps (player_steps.cc).
  void Do(const Step& step);
  // Those that are to be done within the call that has just come.
  void DoInside();
  void Submit(const Step& step);
  void Cancel(const Step& step);
  void Respond(PlayedRun* played, const Step& step);
  void RespondToAll(PlayedRun* played, const Step& step);
  void Late(const Step& step);
  void Advance(const Step& step);
  void Return(PlayedRun* played, bool throws);
  void Abandon();
  void FireTimer();
  // Runs of which something may be said; with `parked`, only those whose Execute waits.
  PlayedRun* PickRun(uint32_t number, bool parked = false);
  void On(PlayedRun* played, bool its_thread, const std::function<void()>& task);

  // --- Requests (player_requests.cc): whatever touches their fields.
  // Makes requests, which share a header or have one each.
  std::vector<Life*> Prepare(const Step& step, uint32_t count);
  Group* MakeGroup(uint32_t hash, uint32_t count);
  Life* MakeLife(Group* group, uint32_t position, uint32_t hash);
  static uint32_t IdOf(const Request& request);
  // Nobody may read a request's bytes any more.
  static void Spoil(const Slot& slot);
  Slot* SlotOf(const Life& life);
  void CheckInputs(const PlayedRun& played);
  void CheckInput(const Life& life);
  void CheckResponse(const Response& response, const Life& life, const Expected& expected);
  void GiveBack(Slot* slot, bool abandoned);
  std::vector<float> Values(const Life& life, uint32_t salt) const;

  // --- What the version calls (player_calls.cc). Any thread.
  void OnExecute(uint32_t instance, tritonts::Run& run);
  void OnDeliver(std::span<const Response> responses);

  // --- Comparing (player.cc).
  void Fail(const std::string& what);
  // Waits for what is on its way on other threads, and compares what is to be seen.
  void Settle();
  std::string Difference();

  const Schedule schedule_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::shared_ptr<SchedulerView> view_ = std::make_shared<SchedulerView>();
  std::shared_ptr<CountingGate> gate_;  // null: there is none
  Timer timer_;
  std::unique_ptr<Sink> sinks_[2];
  std::shared_ptr<ModelVersion> version_;
  std::atomic<int> drained_{0};
  std::atomic<uint32_t> terminations_{0};

  std::mutex failure_mutex_;  // guards failure_
  std::string failure_;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // guards all below where there are threads of instances
  std::condition_variable changed_;
  VersionModel model_;
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::map<const ModelRun*, std::unique_ptr<PlayedRun>> played_;
  std::vector<PlayedRun*> visible_;                 // those that steps may pick, in order
  std::vector<std::vector<PlayedRun*>> executing_;  // by instance

  // The player's thread.
  size_t next_ = 0;                      // step
  int depth_ = 0;                        // calls of the version within each other
  std::vector<PlayedRun*> inner_;        // whose Execute these are
  std::multiset<const ModelRun*> busy_;  // with a response that is not final
};

}  // namespace tritonts::test
