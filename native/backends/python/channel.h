// One instance of a Python model, on this process' side: between the inbox that the engine pushes
// batches to (backends/javascript/inbox.h) and the stub, the process that runs the model.
//
//              gate: who pumps                     the channel's thread, or a JS thread that looks
//   Push --> inbox --Pump: write, send--> | ring down | stub | ring up | --Serve: respond--> run
//
// Whoever pushes a batch pumps: it writes the batch into shared memory and wakes the stub, so that
// a batch takes no way over another thread of this process. Only large batches are left to the
// channel's thread, because the one that pushes is mostly a JS thread. What the stub sends is taken
// by a JS thread that looks for responses (Poll), and by the channel's thread while none does.
//
// Ownership: shared by the environment's wrap, the inbox' wake-up, its thread and its calls. The
// memory (segment.h) lives as long as the channel, and as long as somebody holds outputs that lie
// in it. Calls own their requests (python_call.h).
//
// Locking: `taking_` is held by whoever takes what the stub sends, and responds. `gate_` is held
// while batches are taken and sent, but never while something is responded to. The segment's mutex
// guards what is placed in the heap down, briefly; nothing is called with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/javascript/inbox.h"
#include "backends/python/offset_heap.h"
#include "backends/python/protocol.h"
#include "backends/python/ring.h"
#include "backends/python/segment.h"
#include "backends/python/shared_inputs.h"
#include "engine/backend.h"
#include "engine/version/inline_tick.h"
#include "engine/waiting/polled_source.h"
#include "engine/waiting/spin.h"
#include "platform/thread.h"

namespace tritonts {

class Server;

namespace python {

class PythonCall;

struct ChannelOptions {
  std::string memory_name = "tritonts";
  uint32_t queue_size = 1000;
  // Of each heap.
  uint64_t initial_bytes = uint64_t{1} << 20;
  uint64_t growth_bytes = uint64_t{1} << 20;
  // Addresses to reserve.
  uint64_t most_bytes = uint64_t{16} << 30;
  // On how many cores of the process threads may spin.
  uint32_t cores = 0;
  platform::SharedMemory::Place place = platform::SharedMemory::Place::kAny;
  // The memory of its version's inputs; null: all inputs are copied.
  std::shared_ptr<SharedInputs> inputs = nullptr;
};

class Channel final : public PolledSource, public std::enable_shared_from_this<Channel> {
 public:
  // The server is where calls go. Null, and `fault` says why: there is no memory for it.
  static std::shared_ptr<Channel> Create(const ChannelOptions& options,
                                         std::shared_ptr<Inbox> inbox, std::weak_ptr<Server> server,
                                         std::string* fault);
  ~Channel() override;

  // --- For a JS thread that looks for responses.
  bool has_work() const override { return under_way_.load() > 0; }
  void StartPolling() override;
  void Poll() override;
  void StopPolling() override;

  // The descriptor of the memory, for the stub. This process keeps the memory without it.
  int descriptor() const { return segment_->memory.descriptor(); }
  // That of the memory of the version's inputs; -1: there is none.
  int inputs_descriptor() const { return options_.inputs ? options_.inputs->descriptor() : -1; }
  void CloseDescriptor() { segment_->memory.CloseDescriptor(); }

  // --- One thread at a time calls these. Begins. `on_broken` is called on the channel's thread, at
  // most once, when the stub has sent what no stub sends; the channel then does nothing more.
  // kClosed: another one has the inbox, or it is closed.
  enum class Started { kYes, kClosed, kNoThread };
  Started Start(std::function<void(const std::string& reason)> on_broken);
  // The stub takes batches.
  void Up();
  // Asks the stub to finalize and to end, after what it has.
  void AskToEnd();
  // Asks the stub whether its model is ready, after what it has.
  void AskReady();
  // Ends: the stub is gone, or must not matter any more. What it has not answered fails.
  void Stop();

  // --- For calls. Any thread. Copies an answer to the heap down and returns its place, which the
  // stub gives back; 0: there is no memory, and `fault` says why.
  uint64_t Place(std::vector<uint64_t> words, std::span<const OutputTensor> outputs,
                 std::string_view text, std::string* fault);
  // Fills in the Reply at `word`, which was checked.
  void Tell(uint64_t word, uint32_t state, uint64_t offset = 0, uint64_t size = 0);
  // A call has had its last response and was told so.
  void Forget(uint64_t word);
  // Counts memory of calls, until Uncharge. False: they have too much.
  bool ChargeCall(uint64_t bytes);
  void UnchargeCall(uint64_t bytes) { call_bytes_.fetch_sub(bytes); }
  const std::string& model() const { return inbox_->model(); }

 private:
  // A batch that the stub has.
  struct Batch {
    uint32_t slot = 0;     // in the inbox
    BlockRef memory = {};  // a BatchMemory; empty: there is no such batch
    uint64_t size = 0;     // words
    uint64_t bytes = 0;    // of what lies in the heap down
    uint32_t requests = 0;
    // How many messages the stub has read when it has read this one; unset: it was not sent.
    std::optional<uint32_t> seen_at;
  };
  // The batches that the stub has not seen are queued again with Detach.
  void UntakeUnread();
  // The engine's number for calls of a request of a batch; 0: it has ended.
  uint32_t CallerOf(uint32_t number, uint32_t position);
  struct Failed {
    uint32_t number = 0;  // 0: the stub's memory has nothing of it
    uint32_t slot = 0;
    Status status;
  };

  Channel(const ChannelOptions& options, std::shared_ptr<Inbox> inbox,
          std::weak_ptr<Server> server);
  bool Prepare(std::string* fault);

  // Takes batches and sends them. `copies`: also large ones.
  void Pump(bool copies);
  void PumpOnce(bool copies);
  // With the gate.
  void Write(uint32_t slot, Run* run);
  // Gives the batch a number, as soon as the stub's memory has something of it.
  Status WriteBatch(uint32_t slot, const Run& run, uint32_t* number);
  RingWriter::Result WriteDown(const Message& message);
  void Send(const Message& message);
  void SendAlone(Kind kind);
  void Wake();

  // On the channel's thread.
  void Serve();
  void Wait(uint64_t idle_since_ns);
  void GiveBackIdle(uint64_t now_ns, uint64_t idle_since_ns);
  Spin Look(const SpinCore& core, uint64_t until_ns);

  // A new tick for the calling thread (inline_tick.h). Short batches that calls make run there: the
  // stub waits for them, and two ways over another thread cost more. On the channel's thread they
  // are guests. On a JS thread they are inline runs, as far as the model allows these.
  static InlineTick* TickHere(bool of_instance);
  // With `taking_`. Returns whether there was something.
  bool TakeMessages(InlineTick* tick);
  bool TakePokes();
  bool Handle(const Message& message);
  bool OnAnswer(const Message& message);
  bool OnPart(const Message& message);
  bool OnCall(const Message& message);
  bool OnCallMessage(const Message& message);
  bool OnAskCancelled(const Message& message);
  bool OnAskRoom(const Message& message);
  void RespondFailed();
  void TakeReaders();
  void AnswerRoom(uint32_t slot, uint32_t request);
  // Nobody reads what a batch sends that has ended.
  void EndRooms(uint32_t number);
  bool Break(const char* reason);
  // Copies the words of a body. False: there is no such body.
  bool TakeBody(const Message& message);
  // Whether a range lies in the heap up.
  bool IsUp(uint64_t offset, uint64_t size);
  bool IsReply(uint64_t word);
  // The address of a place that was checked, of the segment or of the version's inputs.
  const char* At(uint64_t place) const {
    // What has no bytes may lie at the end.
    return place <= size_ ? segment_->memory.data() + place
                          : options_.inputs->data() + (place - size_);
  }
  // Of a number that the stub may have made up.
  Batch BatchOf(uint32_t number);
  // Null: there is no such batch, or it was ended from outside.
  Run* Enter(const Batch& batch) { return batch.memory ? inbox_->Enter(batch.slot) : nullptr; }
  static uint64_t PlaceOf(const Batch& batch) {
    return static_cast<const BatchMemory*>(batch.memory.get())->place();
  }
  // Whether a chunk lies where the stub sees it already.
  bool IsShared(const Buffer& chunk) const {
    return options_.inputs && chunk.owner && options_.inputs->OffsetOf(chunk.data, chunk.size) >= 0;
  }
  // Bytes of a batch that are to be copied.
  size_t CopiedBytes(const Run& run) const;
  void FreeBatch(uint32_t number);

  struct Answers;  // reads the words of answers (answers.cc)
  friend struct Answers;

  const ChannelOptions options_;
  const std::shared_ptr<Inbox> inbox_;
  const std::weak_ptr<Server> server_;
  const std::shared_ptr<Segment> segment_ = std::make_shared<Segment>();
  uint64_t heap_up_ = 0;
  uint64_t size_ = 0;
  std::function<void(const std::string&)> on_broken_;

  std::mutex gate_;  // guards the next ones
  RingWriter down_;
  std::deque<Message> unsent_;  // the ring was full
  std::vector<Failed> failed_;
  Run* deferred_ = nullptr;  // a large batch that was taken and waits for the thread
  uint32_t deferred_slot_ = 0;
  bool closed_ = false;
  bool stopped_ = false;

  std::atomic<uint32_t> pumps_{0};  // threads that want batches to be taken
  std::atomic<bool> poked_{false};  // the thread is to look at what is not in the ring
  std::atomic<bool> ending_{false};
  std::atomic<bool> broken_{false};
  std::atomic<uint32_t> under_way_{0};
  std::atomic<uint64_t> call_bytes_{0};

  // Guarded by the segment's mutex, as its heap is.
  std::map<uint32_t, Batch> batches_;  // by number
  uint32_t last_number_ = 0;
  std::map<uint64_t, uint64_t> answers_;  // of calls, that the stub has; sizes by place
  // The numbers of CallerOf by batch and position.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> callers_;

  std::mutex calls_mutex_;                                 // guards calls_
  std::map<uint64_t, std::shared_ptr<PythonCall>> calls_;  // by the place of their Reply

  std::atomic<uint32_t> pollers_{0};  // JS threads that look
  // The thread sleeps for longer than it may while others look.
  std::atomic<bool> sleeps_long_{false};
  uint64_t trimmed_ns_ = 0;  // when the thread looked last what is idle; its own
  uint64_t busy_ns_ = 0;     // when the thread saw last that something was under way; its own

  // Held while messages are taken. Guards the next ones; whoever sleeps may look at `up_`.
  std::mutex taking_;
  RingReader up_;
  uint64_t up_committed_ = 0;   // only of files
  InlineTick* tick_ = nullptr;  // of whoever takes
  std::vector<int64_t> words_;
  std::vector<int64_t> dims_;
  struct Room {
    uint32_t number;
    uint32_t slot;
    uint32_t request;
    uint64_t word;
  };
  std::vector<Room> rooms_;                // questions for room that wait
  BlockPool call_pool_{size_t{64} << 20};  // inputs of calls

  SpinPolicy spin_;  // the thread's own
  platform::Thread thread_;
  bool attached_ = false;
};

}  // namespace python
}  // namespace tritonts
