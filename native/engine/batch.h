// The engine's side of a batch: what an instance runs, and how its answers reach the sinks.
//
// One per instance, reused for every run. Filled under the version's lock while the instance is
// idle; belongs to the instance's thread while it runs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backend.h"
#include "scheduler.h"
#include "statistics.h"

namespace tritonts {

class BatchRun final : public Batch {
 public:
  // `batching`: whether tensors of the model have a batch dimension.
  BatchRun(std::string model, bool batching, BlockPool* pool)
      : model_(std::move(model)), batching_(batching), pool_(pool) {}

  // What outputs must be: their index and datatype. Not owned; before the first run.
  void Expect(const ModelIo* io) { io_ = io; }

  // The version's lock. What is taken of the last request only in part becomes a request of this
  // batch.
  void Assign(const Decision& decision, uint64_t number);
  bool assigned() const { return !requests_.empty(); }
  // The version's lock: `request` is cancelled, and so is what this batch took of it.
  void CancelPart(const Request& request) {
    if (part_.state() == Request::State::kRunning && part_.sink == request.sink &&
        part_.slot == request.slot && part_.generation == request.generation) {
      part_.cancelled.store(true, std::memory_order_relaxed);
    }
  }

  // The running thread: Begin, the backend's Execute, End, which answers what is unanswered.
  void Begin(uint64_t now_ns);
  void End();
  // The running thread, after End: from Begin until the outputs were there.
  uint64_t ran_ns() const { return timings_.compute_end_ns - timings_.exec_start_ns; }
  // The version's lock: adds what the run did to `statistics`, and is empty again. Returns how many
  // parts of requests ended.
  size_t Account(Statistics* statistics);
  // The version's lock, of a batch that is not accounted for: adds what its run has answered so
  // far. False, with nothing added: a thread is answering; ask again, without the lock meanwhile.
  bool AddAnswered(Statistics* statistics);

  // Another thread gives the run up: mutes the running thread and answers what is unanswered. Once,
  // and then the object must stay as long as the run may.
  void Abandon(const Status& status);

  BlockPool& pool() override { return *pool_; }
  void MarkInputsReady() override;
  void MarkComputed() override;
  void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail, const void* data,
                 size_t size, Block* block) override;
  void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                       const void* data, std::span<const size_t> offsets, Block* block) override;
  void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                        std::span<const int64_t> shape, const void* data, size_t size,
                        Block* block) override;
  void Respond(const Status& status) override;
  void RespondOne(uint32_t request, const Status& status) override;

 protected:
  void Answer(uint64_t run, uint32_t request, const Status& status) override;

 private:
  // What a run adds up to; requests may be reused by their sinks before Account.
  struct Totals {
    uint64_t ok = 0;
    uint64_t ok_rows = 0;
    uint64_t ok_ns = 0;
    uint64_t queue_ns = 0;
    uint64_t failed = 0;
    uint64_t failed_ns = 0;
    uint64_t cancelled = 0;
  };
  static constexpr uint32_t kNone = ~0u;
  struct Declared {
    uint32_t request;  // position in the batch; kAll for outputs of the whole batch
    OutputTensor tensor;
    std::span<const size_t> offsets;  // of rows, for ragged ones
    size_t row_bytes;
    Status status;  // not ok: it makes no sense
    uint32_t next;  // of the same request's chain; kNone: the last
  };
  // Where a request's outputs are in declared_for_one_.
  struct Chain {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };

  // Who may answer run number `run`: one thread at a time, until the run is over.
  enum Voice : uint64_t { kFree, kSpeaking, kOver };
  static constexpr uint64_t VoiceOf(uint64_t run, Voice voice) { return run << 2 | voice; }
  // False: that run is over.
  bool TakeVoice(uint64_t run);
  void GiveVoice(Voice voice);
  // The running thread: keeps a declared output, and whether it makes sense.
  void Declare(Declared declared);
  bool MakesSense(const Declared& declared) const;
  std::string Complaint(const Declared& declared) const;
  uint32_t RowsOf(uint32_t request) const;
  // All below: with the voice.
  void AddTotals(Statistics* statistics) const;
  void AnswerRest(const Status& status);
  // Fixes the times of what is answered now.
  void Stamp();
  // Adds what one part of request `position` has of the declared outputs to the pending ones.
  Status Collect(uint32_t position, uint32_t part, size_t* count);
  Status CollectOne(uint32_t position, uint32_t part, const Declared& declared, size_t* count);
  // Adds the responses of request `position` to the pending ones.
  void Prepare(uint32_t position, const Status& status);
  void PrepareOne(uint32_t position, uint32_t part, const Status& status);
  void Send();
  // Answers the whole batch in one piece, where its requests are alike; false where they are not.
  bool SendAlike();

  const std::string model_;
  const bool batching_;
  BlockPool* const pool_;
  const ModelIo* io_ = nullptr;
  BatchTimings timings_;          // as of the last answer
  uint64_t inputs_ready_ns_ = 0;  // marks of the running thread; 0: none
  uint64_t computed_ns_ = 0;
  Totals totals_;
  Request part_;      // what is taken of a request only in part
  size_t parts_ = 0;  // of all requests
  std::atomic<uint64_t> voice_{VoiceOf(0, kOver)};
  std::vector<uint32_t> first_rows_;  // where each request's rows begin; requests may be reused
  std::vector<uint8_t> answered_;
  size_t unanswered_ = 0;
  std::vector<Declared> declared_;          // of the whole batch
  std::vector<Declared> declared_for_one_;  // of single requests
  std::vector<Chain> chains_;               // by request
  std::vector<BlockRef> blocks_;            // keeps declared outputs until the run ends
  std::vector<OutputTensor> outputs_;
  std::vector<size_t> output_counts_;
  std::vector<Response> responses_;
};

}  // namespace tritonts
