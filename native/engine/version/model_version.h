// A loaded version of a model: an executor that has a scheduler, instances and statistics.
//
//          Start             Close             no requests left           Destroy
//   made ---------> serving --------> closing -----------------> drained ---------> destroyed
//     |                                ^   |
//     '------------- Close ------------'   |  Abandon: runs did not return
//                                          '----------------------------> abandoned
//
// While it is closing, Abort ends waiting requests and asks runs to end, so that it drains.
//
// Requests are accepted while it is serving. Every accepted request ends with a final response to
// its sink. Only the server's reaper and destroyer call Destroy and Abandon, except that the reaper
// may leave a version to a start that does not return (LeaveToStart).
//
// Ownership: the version owns its model, instances, dispatcher (with the scheduler) and pool of
// runs. It refers to the backend and the timer, which outlive it.
//
// Locking: `mutex_` is taken once for a submission, once when a run ends (which also picks the next
// batch), once by a thread that wakes, and once for a cancellation or a timer. A run of an
// asynchronous instance takes it when the instance is free, and when the run is done. While it is
// held, only the scheduler, the gate and the timer are called: no backend and no sink, and no
// thread is started.
//
// Memory: a request's memory is allocated when the request is submitted and when its run is made.
// If there is none, the request ends as UNAVAILABLE, with a status that was made when the version
// was loaded. Only the constructor, `statistics` and `metrics` throw.
//
// Any thread may call any function, unless its comment says otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/timer.h"
#include "engine/batch/instance.h"
#include "engine/scheduling/batch_rule.h"
#include "engine/scheduling/queue_policy.h"
#include "engine/scheduling/sequence_policy.h"
#include "engine/statistics/batch_log.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"
#include "engine/version/dispatcher.h"
#include "engine/version/served.h"
#include "engine/version/warmup.h"

namespace tritonts {

class Budget;

// What Start needs: the complete configuration, which TypeScript has checked (src/scheduling/).
struct VersionConfig {
  ModelIo io;
  std::string json = "{}";  // the configuration as in Model::Configure
  DynamicPolicy policy;
  // Absent: one queue without limits, which ignores the priorities and time-outs of requests.
  std::optional<QueuePolicies> queue = {};
  bool preserve_ordering = false;  // responses leave in the order of their requests
  bool rerun_in_halves = false;    // of batches that fail as a whole, if the model may run again
  bool decoupled = false;          // a request gets any number of responses
  // Whether its responses are cached (Triton: response_cache), if the server has a cache.
  bool cached = false;
  // Stands for the content of the version (Layer::Identify); empty: it is not known.
  std::string identity = {};
  std::vector<InstanceSpec> instances;
  // The samples that each instance runs before the version serves.
  std::vector<WarmupSample> warmup = {};
  // The time budget of each tick for batches that run on the JS thread that submits them; 0: no
  // batch runs there.
  uint64_t inline_budget_ns = 0;
  // The same for guests, on the threads of other instances (inline_time.h). The default is about
  // the cost of waking a thread. Longer batches gain more by running in parallel.
  uint64_t guest_budget_ns = 25'000;
  LatencyPolicy latencies = {};
  // The gate that batches pass before they start, shared with other versions; null: no gate.
  std::shared_ptr<Gate> gate = {};
  // What each instance needs of the gate; instances beyond its end need nothing.
  std::vector<GateClaim> claims = {};
  // The sequence batcher's policy; absent: the model has no sequences.
  std::optional<SequencePolicy> sequences = {};
  // Charged with the states of sequences; null: they are not counted. It outlives the version.
  Budget* budget = nullptr;
  // How long a retirement waits for accepted requests (Served::unload_wait_ns).
  uint64_t unload_wait_ns = Served::kWaitsForAll;
  // Makes the scheduler, for tests; empty: the scheduler is made from the policy.
  std::function<std::unique_ptr<Scheduler>()> scheduler = {};
};

// Owned by shared pointers: a run shares ownership of its version until it is done.
class ModelVersion final : public Served,
                           public TimerClient,
                           public RunOwner,
                           public GateVisitor,
                           public std::enable_shared_from_this<ModelVersion> {
 public:
  // `on_drained` is called when a closed version has no request and no run left. It is called on
  // any thread, with no lock held. Throws std::bad_alloc.
  ModelVersion(uint32_t uid, std::string name, int64_t version, Backend* backend,
               std::unique_ptr<Model> model, Timer* timer, std::function<void()> on_drained);
  ~ModelVersion() override;

  uint32_t uid() const override { return uid_; }
  const std::string& name() const override { return name_; }
  std::shared_ptr<CallPlaces> call_places() const override { return call_places_; }
  BlockRef InputBlock(size_t size) override { return model_->InputBlock(size); }
  int64_t version() const { return version_; }
  // Facts about the runtime (Model::Info). Empty if the model is gone or throws.
  std::map<std::string, std::string> Info() const override;
  const ModelIo& io() const override { return io_; }
  bool Takes(uint32_t input, MemoryKind kind, int device) const override;
  bool RunsOn(int device) const override { return device >= 0 && device == only_device_; }
  bool decoupled() const override { return context_.decoupled; }
  bool alone() const override { return alone_; }
  // The output bytes of a request of `rows` rows, at most kMostBytes. Outputs with variable dims
  // count 0 bytes.
  uint64_t KnownOutputBytes(uint64_t rows) const override;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 46;
  // Inputs are taken from the memory of the first kMostDevices devices only.
  static constexpr int kMostDevices = 64;

  // Creates the instances, warms them up and begins to serve. It is called once, on a loader
  // thread, or on a JS thread if the version starts_at_once and has no warm-up. Returns CANCELLED
  // after Close, or when `cancelled` returns true between two runs of the warm-up. `spin_cores`:
  // how many cores the instances' threads may spin on (spin.h).
  Status Start(VersionConfig config, uint32_t spin_cores = 0,
               const std::function<bool()>& cancelled = {});
  // Changes the instances of a version that serves: removes those with these numbers, and adds
  // others. Requests and sequences go on: those of a removed instance end there, and it is
  // destroyed by RemoveLeft when nothing is left for it. The numbers of `added` are ignored.
  // `numbers` gets those that they have. It is called on a loader thread, by one thread at a time.
  //
  // Not ok, and then nothing has changed: CANCELLED after Close; the error of an instance that
  // could not be made; UNSUPPORTED for instances that are asynchronous, or on a device, and if none
  // would be left.
  Status ChangeInstances(std::span<const uint32_t> removed, std::vector<InstanceSpec> added,
                         std::shared_ptr<Gate> gate, const std::vector<GateClaim>& claims,
                         std::vector<uint32_t>* numbers);
  // Destroys the removed instances for which nothing is left. Called on a loader thread.
  void RemoveLeft();
  // RemoveLeft is not called after all. OnLeft's function is called again at the next event.
  void KeepLeft();
  // `told` is called on any thread, with no lock held, when RemoveLeft is to be called. It returns
  // false, and is called again later, if there is no memory. Set before Start.
  void OnLeft(std::function<bool()> told) { on_left_ = std::move(told); }
  // Whether Start takes only microseconds (Model::starts_at_once).
  bool starts_at_once() const { return starts_at_once_; }
  // Whether Start is under way. Until it has returned, the version may be closed, but not destroyed
  // or abandoned.
  bool starting() const override { return starting_.load(std::memory_order_acquire); }
  // Whether Start is warming up the instances. Then Abort and Abandon may be called, too.
  bool warming() const override { return warming_.load(std::memory_order_acquire); }
  // Whether Start succeeded. Only then may requests be prepared for the version.
  bool started() const override { return started_.load(std::memory_order_acquire); }

  // --- Requests.
  void SetQueueKeys(RequestHeader* header) const override;
  // Counts every request whose final response was delivered, including those of runs under way.
  // Throws std::bad_alloc.
  Statistics statistics() const override;
  VersionMetrics metrics(std::span<const double> quantiles) const override;
  // What is known of the last sequence of an id.
  SequenceFate FateOf(const SequenceId& id) const;
  // How the last batches were formed and run. Throws std::bad_alloc.
  BatchHistory batches() const;
  void OnTimer(uint64_t now_ns) override;

  // --- Ending. These are for the server's reaper and destroyer, except Terminate.
  // Refuses requests from now on. A caller that is about to call Abort passes Abort's status as the
  // reason, so that requests submitted between the two calls end alike. Any thread may call it.
  void Close(const Status& reason = {}) override;
  // Asks runs under way to end. No further run begins. Any thread may call it.
  void Terminate();
  // Joins the threads and frees instances and model. The version must be drained.
  void Destroy() override;
  // Abandons runs that did not return: their requests end with INTERNAL. The caller must abandon
  // the version, too, with its threads, instances and model (abandon.h).
  void Abandon() override;
  // Whether Abandon was called.
  bool abandoned() const;
  // Leaves the version to the thread that is in Start, which is to call Destroy if Start returns
  // after all. False: Start has returned. The caller must abandon the version, as with Abandon.
  bool LeaveToStart() override;
  uint64_t unload_wait_ns() const override {
    return unload_wait_ns_.load(std::memory_order_relaxed);
  }
  // Whether LeaveToStart returned true. The caller of Start asks this when Start has returned.
  bool left_to_start() const;

  // --- Calls from the version's runs (RunOwner).
  std::shared_ptr<RunOwner> Share() override { return shared_from_this(); }
  void OnInstanceFree(InstanceRunner* runner, PooledRun* done) override;
  void OnDone(PooledRun* run) override;
  void OnReschedule(Request* request) override;
  void OnGateOpen(uint32_t instance) noexcept override;

 private:
  void Accept(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override;
  void CancelAccepted(std::span<Request* const> requests) noexcept override;
  // Ends all waiting requests with `status`, and asks runs under way to end.
  void AbortAccepted(const Status& status) override;
  bool idle() const override;
  Status CreateInstances(VersionConfig config);
  std::unique_ptr<Scheduler> MakeScheduler(VersionConfig* config);

  // --- Warm-up (model_version_warmup.cc).
  Status WarmUp(const std::vector<WarmupSample>& samples, const std::function<bool()>& cancelled);
  Status RunSamples(const std::vector<WarmupSample>& samples,
                    const std::function<bool()>& cancelled);
  // Runs a sample once on an instance. Not ok: the first error of its requests, or there is no
  // memory, or the run was abandoned.
  Status RunSample(InstanceRunner* runner, const std::shared_ptr<WarmupRequests>& sample);
  bool MayWarm(const std::function<bool()>& cancelled) const;
  void SetWarming(bool warming);

  // Makes an instance, and registers it at the gate. Throws std::bad_alloc.
  StatusOr<std::unique_ptr<InstanceRunner>> MakeRunner(const InstanceSpec& spec,
                                                       const std::shared_ptr<Gate>& gate,
                                                       const GateClaim& claim);
  void NoteSizes();
  // Notes, for each input, the devices whose memory all of these instances take it from.
  void NoteDevices(std::span<InstanceRunner* const> runners);

  // --- Running (model_version_run.cc).
  void RunInstance(InstanceRunner* runner);
  enum class Ran { kIdle, kHasNext, kAbandoned };
  // Runs the batch `*run` on a blocking instance and picks the next batch. If this thread is to run
  // the next batch, too, `*run` is set to it, and kHasNext is returned. Otherwise only the runner's
  // own thread may touch the runner afterwards. With `inline_time`, this is the submitting thread,
  // and a next batch that does not fit the rest of the budget goes to the runner's thread. `lock`
  // is of the version's mutex and not held on entry. On the runner's thread it may be held on
  // return of kIdle.
  Ran RunBatch(InstanceRunner* runner, PooledRun** run, InlineTime* inline_time,
               std::unique_lock<std::mutex>* lock);
  // Calls Execute of an asynchronous instance as long as there are batches for it.
  void HandOver(InstanceRunner* runner);
  static PooledRun* TakeAnother(InstanceRunner* runner);
  // Moves the requests of a failed run to its halves, unless the version is ending (halves.cc).
  void Halve(PooledRun* run);
  void StartThread(InstanceRunner* runner);
  void Execute(InstanceRunner* runner, PooledRun* run, uint64_t now_ns);

  // Gives batches to free instances, first to `awake`. Under the lock.
  void Dispatch(uint64_t now_ns, InstanceRunner* awake, Orders* orders);
  // Queues submitted requests. Adds refused requests, with the reasons, to `refusals`, to which the
  // caller responds. Under the lock.
  struct Refusals;
  void TakeIn(std::span<Request* const> requests, uint64_t now_ns, Refusals* refusals,
              Orders* orders);
  Statistics StatisticsLocked() const;
  // Adds a finished run to the statistics. Under the lock.
  void AccountLocked(PooledRun* run);
  // Notes in `orders` whether the version is closed and drained, and notifies a warm-up when its
  // run is done. Under the lock, as the last step.
  // Frees an instance, or starts the half of a failed batch that it has left. Under the lock.
  void FreeLocked(InstanceRunner* runner, uint64_t now_ns, Orders* orders);
  void NoteDrained(Orders* orders);
  // Notes in `orders` whether removed instances have nothing left to do. Under the lock.
  void NoteLeft(Orders* orders);
  // Has RemoveLeft called. No lock is held.
  void TellLeft();
  bool DrainedLocked() const { return in_flight_ == 0 && (!dispatcher_ || dispatcher_->idle()); }
  // Carries out the orders that were noted under the lock. No lock is held.
  void Carry(Orders* orders);

  // Delivers `like` as the final response to requests that are in no run. No lock is held.
  void Respond(std::span<Request* const> requests, const Response& like) const;
  void Respond(RequestChain* requests, const Response& like) const;
  // Counts accepted requests that end without a run, and delivers their final response. No lock is
  // held.
  void Fail(RequestChain* requests, const Status& status);
  // Marks the start of a call of the model or an instance. Destroy waits for EndCall. Under the
  // lock.
  void BeginCall() const { calls_++; }
  void EndCall() const;

  const uint32_t uid_;
  const std::string name_;
  const int64_t version_;
  Backend* const backend_;
  std::unique_ptr<Model> model_;
  const bool starts_at_once_;
  const std::shared_ptr<CallPlaces> call_places_;  // null: the model makes no calls
  Timer* const timer_;
  // The statuses of requests that end without a run, made beforehand.
  const Status exits_;
  const Status expired_;
  const Status no_thread_;
  const Status broken_;
  const Status did_not_return_;
  ModelIo io_;
  RunContext context_;
  uint64_t known_output_bytes_ = 0;  // of one row
  uint32_t spin_cores_ = 0;
  // By input: the part of it that is in the shape keys of requests.
  enum class Keyed : uint8_t { kNothing, kDims, kValues };
  std::vector<Keyed> keyed_inputs_;
  // By input: the devices whose memory all instances take it from, one bit each.
  std::vector<uint64_t> input_devices_;
  int only_device_ = -1;  // on which all instances are; -1: there is none
  bool alone_ = false;    // the model has sequences
  bool has_optional_ = false;
  bool keyed_ = false;  // requests may differ in shape, in which inputs they have, or in values
  std::shared_ptr<const QueuePolicies> queue_policies_;  // null: there are none
  std::atomic<uint64_t> unload_wait_ns_{kWaitsForAll};   // set by Start
  std::atomic<bool> starting_{false};
  std::atomic<bool> warming_{false};
  std::atomic<bool> started_{false};

  std::function<bool()> on_left_;

  mutable std::mutex mutex_;  // guards all below, and the members named in instance.h
  // By number. Null: the instance was removed.
  std::vector<std::unique_ptr<InstanceRunner>> runners_;
  std::unique_ptr<Dispatcher> dispatcher_;  // null until it serves
  // All statistics except those in gpus_.
  Statistics statistics_;
  std::unique_ptr<Latencies> latencies_;          // made with the dispatcher, kept until the end
  std::vector<std::unique_ptr<GpuTotals>> gpus_;  // of the instances on GPUs; likewise
  uint64_t in_flight_ = 0;                        // accepted requests that have not ended
  uint64_t timer_at_ns_ = 0;  // the latest time of the timer's next call; 0: none is scheduled
  Status refusal_;            // the status of requests submitted after Close
  Status aborted_;            // not ok: no request is queued any more, for this reason
  bool closed_ = false;
  bool stop_ = false;        // instances' threads return when they have no batch
  bool terminated_ = false;  // no run begins any more
  bool abandoned_ = false;
  bool left_to_start_ = false;
  bool destroyed_ = false;          // Destroy was called
  uint32_t leaving_ = 0;            // instances that are to be removed
  bool told_left_ = false;          // on_left_ was called, and RemoveLeft was not yet
  std::condition_variable warmed_;  // a run of the warm-up is done, or abandoned
  // Calls of the model or an instance, and starts of threads, that are under way without the lock.
  // Destroy waits for them.
  mutable uint32_t calls_ = 0;
  uint32_t starts_ = 0;
  mutable std::condition_variable calls_changed_;
};

}  // namespace tritonts
