// One instance of a Python model, on this process' side. The channel connects the inbox, into which
// the engine pushes batches (inbox/inbox.h), with the stub, which runs the model.
//
//              gate: who pumps                     the channel's thread, or a JS thread that looks
//   Push --> inbox --Pump: write, send--> | ring down | stub | ring up | --Serve: respond--> run
//
// The thread that pushes a batch pumps: it writes the batch into shared memory and wakes the stub,
// without a detour over another thread of this process. Only large batches are left to the
// channel's thread, because the pushing thread is mostly a JS thread. The stub's messages are taken
// by a JS thread that polls for responses, else by the channel's thread.
//
// Ownership: shared by the environment's wrap, the inbox' wake-up function, the channel's thread
// and its calls. The memory (segment.h) lives as long as the channel and all outputs that lie in
// it. Calls own their requests (python_call.h).
//
// Locking: `taking_` is held while a thread takes the stub's messages and responds. `gate_` is held
// while batches are taken and sent, but never during a response. The segment's mutex briefly guards
// the heap "down"; nothing is called with it held.
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

#include "engine/backend.h"
#include "engine/version/inline_time.h"
#include "engine/waiting/polled_source.h"
#include "engine/waiting/spin.h"
#include "inbox/inbox.h"
#include "platform/thread.h"
#include "python/offset_heap.h"
#include "python/protocol.h"
#include "python/ring.h"
#include "python/segment.h"
#include "python/shared_inputs.h"

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
  // The address space to reserve.
  uint64_t most_bytes = uint64_t{16} << 30;
  // The number of cores on which threads of the process may spin.
  uint32_t cores = 0;
  platform::SharedMemory::Place place = platform::SharedMemory::Place::kAny;
  // The memory of its version's inputs; null: all inputs are copied.
  std::shared_ptr<SharedInputs> inputs = nullptr;
};

class Channel final : public PolledSource, public std::enable_shared_from_this<Channel> {
 public:
  // Calls are submitted to `server`. Returns null if there is no memory, with the reason in
  // `fault`.
  static std::shared_ptr<Channel> Create(const ChannelOptions& options,
                                         std::shared_ptr<Inbox> inbox, std::weak_ptr<Server> server,
                                         std::string* fault);
  ~Channel() override;

  // --- For a JS thread that polls for responses.
  bool has_work() const override { return under_way_.load() > 0; }
  void StartPolling() override;
  void Poll() override;
  void StopPolling() override;

  // The descriptor of the memory, for the stub. This process' mapping stays valid after it is
  // closed.
  int descriptor() const { return segment_->memory.descriptor(); }
  // The descriptor of the memory of the version's inputs; -1: there is none.
  int inputs_descriptor() const { return options_.inputs ? options_.inputs->descriptor() : -1; }
  void CloseDescriptor() { segment_->memory.CloseDescriptor(); }

  // --- Not thread-safe. Starts the channel. `on_broken` is called at most once, on the thread that
  // takes messages, if the stub violates the protocol or memory lacks; the channel then stops
  // working. Its argument is a literal, because there may be no memory. It must not throw. kClosed:
  // the inbox has another reader, or is closed.
  enum class Started { kYes, kClosed, kNoThread };
  Started Start(std::function<void(const char* reason)> on_broken);
  // The stub is ready for batches.
  void Up();
  // Asks the stub to finalize and exit once it has handled earlier messages.
  void AskToEnd();
  // Asks the stub whether its model is ready, once it has handled earlier messages.
  void AskReady();
  // Stops the channel: the stub has exited, or is to be ignored from now on. Batches that the stub
  // has read but not answered fail.
  void Stop();

  // --- For calls. Thread-safe. Copies a response to the heap "down" and returns its offset; the
  // stub gives it back with kRead. Returns 0 if there is no memory, with the reason in `fault`.
  uint64_t Place(std::vector<uint64_t> words, std::span<const OutputTensor> outputs,
                 std::string_view text, std::string_view parameters, std::string* fault);
  // Frees such a response. Returns false if there is none at this offset.
  bool FreeAnswer(uint64_t place);
  // Fills in the Reply at `word`, an offset that was validated.
  void Tell(uint64_t word, uint32_t state, uint64_t offset = 0, uint64_t size = 0);
  // Removes a call whose last response was announced.
  void Forget(uint64_t word);
  // Charges memory of calls, until UnchargeCall. Returns false if calls use too much.
  bool ChargeCall(uint64_t bytes);
  void UnchargeCall(uint64_t bytes) { call_bytes_.fetch_sub(bytes); }
  const std::string& model() const { return inbox_->model(); }

 private:
  // A batch that was written for the stub.
  struct Batch {
    uint32_t slot = 0;     // in the inbox
    BlockRef memory = {};  // a BatchMemory; empty: no such batch
    uint64_t size = 0;     // of the body, in words
    uint64_t bytes = 0;    // in the heap "down"
    uint32_t requests = 0;
    // The count of messages read by the stub that shows that it has read this batch; unset: not
    // sent.
    std::optional<uint32_t> seen_at;
  };
  // Requeues the batches that the stub has not read, with Inbox::Detach.
  void UntakeUnread();
  // Returns the engine's number for calls of a request of a batch; 0: the batch has ended.
  uint32_t CallerOf(uint32_t number, uint32_t position);
  struct Failed {
    uint32_t number = 0;  // 0: nothing of it is in the stub's memory
    uint32_t slot = 0;
    Status status;
  };

  Channel(const ChannelOptions& options, std::shared_ptr<Inbox> inbox,
          std::weak_ptr<Server> server);
  bool Prepare(std::string* fault);

  // Takes batches from the inbox and sends them. `copies`: large batches, too.
  void Pump(bool copies);
  void PumpOnce(bool copies);
  // Requires `gate_`.
  void Write(uint32_t slot, Run* run);
  // Assigns the batch's number as soon as part of it is in shared memory.
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

  // Restarts the inline time of the calling thread (inline_time.h), on which short batches of
  // calls run: the stub waits for them, and two thread hops would cost more. On the channel's
  // thread they run as guests. On a JS thread they are inline runs, where the model allows these.
  static InlineTime* InlineTimeHere(bool of_instance);
  // Requires `taking_`. Returns whether there was a message.
  bool TakeMessages(InlineTime* inline_time);
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
  // Ends waiting questions for room of a batch that has ended: its responses have no reader.
  void EndRooms(uint32_t number);
  bool Break(const char* reason);
  // Copies a body to private memory and checks its range. Returns false if the range is invalid.
  bool TakeBody(const Message& message);
  // Whether a range lies in the heap "up".
  bool IsUp(uint64_t offset, uint64_t size);
  bool IsReply(uint64_t word);
  // Returns the address of a validated offset, in the segment or in the version's inputs.
  const char* At(uint64_t place) const {
    // An empty tensor may lie at the very end.
    return place <= size_ ? segment_->memory.data() + place
                          : options_.inputs->data() + (place - size_);
  }
  // Looks up a number that comes from the stub and may be invalid.
  Batch BatchOf(uint32_t number);
  // Null if there is no such batch, or if it was terminated by the engine.
  Run* Enter(const Batch& batch) { return batch.memory ? inbox_->Enter(batch.slot) : nullptr; }
  static uint64_t PlaceOf(const Batch& batch) {
    return static_cast<const BatchMemory*>(batch.memory.get())->place();
  }
  // Whether a chunk already lies in memory that the stub maps.
  bool IsShared(const Buffer& chunk) const {
    return options_.inputs && chunk.owner && options_.inputs->OffsetOf(chunk.data, chunk.size) >= 0;
  }
  // The bytes of a batch that have to be copied.
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
  std::function<void(const char*)> on_broken_;

  std::mutex gate_;  // guards the members below
  RingWriter down_;
  std::deque<Message> unsent_;  // messages for which the ring had no room
  std::vector<Failed> failed_;
  Run* deferred_ = nullptr;  // a large batch that was taken and waits for the channel's thread
  uint32_t deferred_slot_ = 0;
  bool closed_ = false;
  bool stopped_ = false;

  std::atomic<uint32_t> pumps_{0};  // pending requests to pump
  std::atomic<bool> poked_{false};  // work for the thread that is not in the ring
  std::atomic<bool> ending_{false};
  std::atomic<bool> broken_{false};
  // There was no memory to queue a message or a failed batch, so the channel's thread breaks it.
  std::atomic<bool> starved_{false};
  std::atomic<uint32_t> under_way_{0};
  std::atomic<uint64_t> call_bytes_{0};

  // Guarded by the segment's mutex, as its heap is.
  std::map<uint32_t, Batch> batches_;  // by number
  uint32_t last_number_ = 0;
  std::map<uint64_t, uint64_t> answers_;  // responses to calls that the stub holds; sizes by offset
  // The results of CallerOf by batch and request index.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> callers_;

  std::mutex calls_mutex_;                                 // guards calls_
  std::map<uint64_t, std::shared_ptr<PythonCall>> calls_;  // by the offset of their Reply

  std::atomic<uint32_t> pollers_{0};  // JS threads that poll
  // The thread sleeps for longer than is allowed while JS threads poll.
  std::atomic<bool> sleeps_long_{false};
  uint64_t trimmed_ns_ = 0;  // when the thread last looked for idle memory; only it uses this
  uint64_t busy_ns_ = 0;     // when the thread last saw a batch under way; only it uses this

  // Held while messages are taken. Guards the members below, except that a sleeping thread may read
  // `up_`.
  std::mutex taking_;
  RingReader up_;
  uint64_t up_committed_ = 0;          // used only if the memory is a file
  InlineTime* inline_time_ = nullptr;  // of the thread that takes messages
  std::vector<int64_t> words_;
  std::vector<int64_t> dims_;
  struct Room {
    uint32_t number;
    uint32_t slot;
    uint32_t request;
    uint64_t word;
  };
  std::vector<Room> rooms_;                // pending questions for room
  BlockPool call_pool_{size_t{64} << 20};  // inputs of calls

  SpinPolicy spin_;  // the thread's own
  platform::Thread thread_;
  bool attached_ = false;
};

}  // namespace python
}  // namespace tritonts
