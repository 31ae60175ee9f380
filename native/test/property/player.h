// Plays a schedule against a version, and compares the results with the model.
//
// The backend follows the schedule: the calls of a run come from the steps, from within Execute and
// Deliver or after them, on the player's thread or on a blocking instance's thread. Only one of
// these threads acts at a time, so the result depends only on the schedule. Each call goes to the
// model first, which determines its results, and then to the version.
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
  ~Player();
  // Returns a description of the failure; empty on success.
  static std::string Play(const Schedule& schedule);

 private:
  class Sink;
  class PlayedBackend;
  class PlayedModel;
  class PlayedInstance;
  class Neighbour;

  // The data of requests that are submitted together and differ only in their bytes.
  struct Group {
    RequestHeader header;
    std::unique_ptr<float[]> input;  // the requests' bytes, concatenated
    uint32_t open = 0;               // number of requests not yet ended
  };
  // The memory of a request, reused for later requests.
  struct Slot {
    RequestHeader header;
    Request request;
    Group* group = nullptr;
    Life* life = nullptr;  // null: unused
    std::vector<float> place;
    bool held = false;  // an abandoned run may use it forever
  };
  // The engine's side of a model's run.
  struct PlayedRun {
    ModelRun* model = nullptr;
    Run* run = nullptr;   // invalid once the run is over
    RunRef reference;     // only for some runs; such a run may be used after its end
    bool parked = false;  // Execute waits on the instance's thread for the next task
    bool leaves = false;
    bool throws = false;
    std::function<void()> task;
  };

  // The longest wait for other threads.
  static constexpr auto kPatience = std::chrono::seconds(60);

  explicit Player(const Schedule& schedule);
  bool Start();
  std::string Run();
  // Ends the version's requests and destroys it.
  void End();
  // Leaks a version that must never be destroyed.
  void Leave();

  // --- Steps (player_steps.cc).
  void Do(const Step& step);
  // Does the steps that belong inside the current call.
  void DoInside();
  void Submit(const Step& step);
  void Cancel(const Step& step);
  void Respond(PlayedRun* played, const Step& step);
  void RespondToAll(PlayedRun* played, const Step& step);
  // Responds to all, with outputs that differ in shape.
  static void RespondToEach(PlayedRun* played, const Status& status, bool final, bool open,
                            const std::vector<std::vector<float>>& values,
                            const std::vector<std::vector<float>>& kept);
  void Late(const Step& step);
  void MeetNeighbour();
  void Advance(const Step& step);
  void Return(PlayedRun* played, bool throws);
  void Abandon();
  void FireTimer();
  // Adds and removes instances.
  void ChangeInstances(const Step& step);
  // Destroys the removed instances for which nothing is left.
  void RemoveLeft();
  // Picks a run that can be called; with `parked`, only runs whose Execute waits.
  PlayedRun* PickRun(uint32_t number, bool parked = false);
  void On(PlayedRun* played, bool its_thread, const std::function<void()>& task);

  // --- Requests (player_requests.cc): all access to their fields.
  //
  // Makes requests, with a shared header or one each.
  std::vector<Life*> Prepare(const Step& step, uint32_t count);
  Group* MakeGroup(uint32_t hash, uint32_t count);
  Life* MakeLife(Group* group, uint32_t position, uint32_t hash);
  // Makes the group's request one of a sequence.
  static uint32_t IdOf(const Request& request);
  // Overwrites a request's bytes, which must not be read any more.
  static void Spoil(const Slot& slot);
  Slot* SlotOf(const Life& life);
  void CheckInputs(const PlayedRun& played);
  void CheckInput(const Life& life);
  // Checks that the inputs of the batch are gathered as one ragged input.
  void CheckRagged(const PlayedRun& played);
  // Checks the states of sequences.
  void CheckStates(const PlayedRun& played);
  // Checks the control tensors of sequences.
  void CheckControls(const PlayedRun& played);
  void CheckResponse(const Response& response, const Life& life, const Expected& expected);
  void GiveBack(Slot* slot, bool abandoned);
  std::vector<float> Values(const Life& life, uint32_t salt) const;

  // --- What the version calls (player_calls.cc). Any thread.
  void OnExecute(uint32_t instance, tritonts::Run& run);
  void OnDeliver(std::span<const Response> responses);

  // --- Comparing (player.cc).
  void Fail(const std::string& what);
  // Waits for other threads, and compares the observable state.
  void Settle();
  std::string Difference();

  const Schedule schedule_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::shared_ptr<SchedulerView> view_ = std::make_shared<SchedulerView>();
  std::shared_ptr<CountingGate> gate_;  // null: no gate
  Timer timer_;
  std::unique_ptr<Sink> sinks_[2];
  std::shared_ptr<ModelVersion> version_;
  std::shared_ptr<Tracer> tracer_;        // null: nothing is traced
  uint64_t traces_before_ = 0;            // of abandoned schedules
  std::unique_ptr<Neighbour> neighbour_;  // null: no gate
  std::atomic<int> drained_{0};
  std::atomic<uint32_t> terminations_{0};
  std::atomic<bool> told_left_{false};  // RemoveLeft is to be called

  std::mutex failure_mutex_;  // guards failure_
  std::string failure_;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // guards all members below if instances have threads
  std::condition_variable changed_;
  VersionModel model_;
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::map<const ModelRun*, std::unique_ptr<PlayedRun>> played_;
  std::vector<PlayedRun*> visible_;                 // runs that steps may pick, in order
  std::vector<std::vector<PlayedRun*>> executing_;  // by instance
  std::set<uint32_t> instances_;                    // the engine's, by number

  // Used only on the player's thread.
  size_t next_ = 0;                      // step
  int depth_ = 0;                        // nested calls of the version
  std::vector<PlayedRun*> inner_;        // the runs whose Execute these calls are
  std::multiset<const ModelRun*> busy_;  // runs with a response in progress that is not final
};

}  // namespace tritonts::test
