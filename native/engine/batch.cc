#include "batch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "clock.h"
#include "output_parts.h"
#include "rules.h"

namespace tritonts {

namespace {

std::string ShapeText(int64_t rows, std::span<const int64_t> tail) {
  std::string text = "[";
  if (rows >= 0) text += std::to_string(rows);
  for (const int64_t dim : tail) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  text += ']';
  return text;
}

// Elements of `rows` times `tail`; -1 for what is no shape of a tensor.
int64_t CountElements(int64_t rows, std::span<const int64_t> tail) {
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t count = rows;
  bool empty = false;
  for (const int64_t dim : tail) {
    if (dim < 0 || dim > INT32_MAX) return -1;
    if (dim == 0) {
      empty = true;
    } else if (count > kMost / dim) {
      return -1;
    } else {
      count *= dim;
    }
  }
  return empty ? 0 : count;
}

}  // namespace

void BatchRun::Assign(const Decision& decision, uint64_t number) {
  TRITONTS_ASSERT(requests_.empty(), "an instance was given a batch while it had one");
  timings_ = BatchTimings();
  timings_.batch = number;
  run_ = number;
  inputs_ready_ns_ = computed_ns_ = 0;
  totals_ = Totals();
  total_batch_size_ = 0;
  parts_ = 0;
  first_rows_.clear();
  for (Schedulable* schedulable : decision.take) {
    auto* request = static_cast<Request*>(schedulable);
    TRITONTS_ASSERT(request->state() == Request::State::kQueued, "a batch took a request twice");
    if (decision.parts_of_last > 0 && schedulable == decision.take.back()) {
      TRITONTS_ASSERT(part_.state() != Request::State::kRunning, "a part of a request is lost");
      part_.TakeParts(request, 0, decision.parts_of_last);
      request = &part_;
    }
    request->set_state(Request::State::kRunning);
    first_rows_.push_back(total_batch_size_);
    total_batch_size_ += request->batch_size;
    parts_ += request->parts;
    requests_.push_back(request);
  }
  timings_.batch_size = total_batch_size_;
  answered_.assign(requests_.size(), false);
  unanswered_ = requests_.size();
  voice_.store(VoiceOf(run_, kFree), std::memory_order_release);
}

void BatchRun::Begin(uint64_t now_ns) {
  timings_.exec_start_ns = now_ns;
}

void BatchRun::End() {
  if (!TakeVoice(run_)) return;
  if (unanswered_ > 0) {
    AnswerRest(Status::Internal("model '" + model_ + "': its backend returned without an answer"));
  }
  GiveVoice(kOver);
  declared_.clear();
  declared_for_one_.clear();
  chains_.clear();
  blocks_.clear();
}

size_t BatchRun::Account(Statistics* statistics) {
  AddTotals(statistics);
  requests_.clear();
  return parts_;
}

bool BatchRun::AddAnswered(Statistics* statistics) {
  uint64_t voice = VoiceOf(run_, kFree);
  const bool taken =
      voice_.compare_exchange_strong(voice, VoiceOf(run_, kSpeaking), std::memory_order_acq_rel);
  if (!taken && voice != VoiceOf(run_, kOver)) return false;
  // Where nothing is answered, the times are the running thread's still.
  if (unanswered_ < requests_.size()) AddTotals(statistics);
  if (taken) GiveVoice(kFree);
  return true;
}

void BatchRun::AddTotals(Statistics* statistics) const {
  const uint64_t input = timings_.compute_start_ns - timings_.exec_start_ns;
  const uint64_t infer = timings_.compute_end_ns - timings_.compute_start_ns;
  const uint64_t output = timings_.exec_end_ns - timings_.compute_end_ns;
  statistics->last_inference_ms = WallMs();
  statistics->execution_count++;
  statistics->inference_count += totals_.ok_rows;
  statistics->success.Add(totals_.ok, totals_.ok_ns);
  statistics->fail.Add(totals_.failed, totals_.failed_ns);
  statistics->cancelled += totals_.cancelled;
  statistics->queue.Add(totals_.ok, totals_.queue_ns);
  statistics->compute_input.Add(totals_.ok, totals_.ok * input);
  statistics->compute_infer.Add(totals_.ok, totals_.ok * infer);
  statistics->compute_output.Add(totals_.ok, totals_.ok * output);
  if (totals_.ok > 0) {
    BatchStatistics& batch = statistics->batches[total_batch_size_];
    batch.compute_input.Add(1, input);
    batch.compute_infer.Add(1, infer);
    batch.compute_output.Add(1, output);
  }
}

void BatchRun::MarkInputsReady() {
  inputs_ready_ns_ = NowNs();
}

void BatchRun::MarkComputed() {
  computed_ns_ = NowNs();
}

void BatchRun::Stamp() {
  timings_.exec_end_ns = NowNs();
  timings_.compute_end_ns = computed_ns_ != 0 ? computed_ns_ : timings_.exec_end_ns;
  timings_.compute_start_ns = inputs_ready_ns_ != 0
                                  ? std::min(inputs_ready_ns_, timings_.compute_end_ns)
                                  : timings_.compute_end_ns;
}

void BatchRun::SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                         const void* data, size_t size, Block* block) {
  blocks_.push_back(BlockRef::Share(block));
  OutputTensor tensor{index, datatype, -1, tail, data, size, MemoryKind::kHost, block};
  Declare({kAll, tensor, {}, total_batch_size_ ? size / total_batch_size_ : 0, {}, kNone});
}

void BatchRun::SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                               const void* data, std::span<const size_t> offsets, Block* block) {
  blocks_.push_back(BlockRef::Share(block));
  OutputTensor tensor{index, datatype, -1, tail, data, 0, MemoryKind::kHost, block};
  if (!offsets.empty()) tensor.size = offsets.back();
  Declare({kAll, tensor, offsets, 0, {}, kNone});
}

void BatchRun::SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                std::span<const int64_t> shape, const void* data, size_t size,
                                Block* block) {
  blocks_.push_back(BlockRef::Share(block));
  OutputTensor tensor{index, datatype, -1, shape, data, size, MemoryKind::kHost, block};
  Declare({request, tensor, {}, 0, {}, kNone});
}

void BatchRun::Declare(Declared declared) {
  if (!MakesSense(declared)) declared.status = Status::Internal(Complaint(declared));
  if (declared.request == kAll) {
    declared_.push_back(std::move(declared));
    return;
  }
  if (declared.request >= requests_.size()) return;
  // A chain for each request, so that answering one looks at its own only.
  if (chains_.size() < requests_.size()) chains_.resize(requests_.size());
  const auto added = static_cast<uint32_t>(declared_for_one_.size());
  Chain& chain = chains_[declared.request];
  (chain.last == kNone ? chain.first : declared_for_one_[chain.last].next) = added;
  chain.last = added;
  declared_for_one_.push_back(std::move(declared));
}

uint32_t BatchRun::RowsOf(uint32_t request) const {
  if (request >= first_rows_.size()) return 0;
  const bool last = request + 1 == first_rows_.size();
  return (last ? total_batch_size_ : first_rows_[request + 1]) - first_rows_[request];
}

bool BatchRun::MakesSense(const Declared& declared) const {
  const OutputTensor& tensor = declared.tensor;
  if (io_ && (tensor.index >= io_->outputs.size() ||
              tensor.datatype != io_->outputs[tensor.index].datatype)) {
    return false;
  }
  const bool whole = declared.request == kAll && batching_;
  if (declared.request != kAll && batching_ &&
      (tensor.tail.empty() || tensor.tail.front() != int64_t{RowsOf(declared.request)})) {
    return false;
  }
  const int64_t elements = CountElements(whole ? int64_t{total_batch_size_} : 1, tensor.tail);
  if (elements < 0) return false;
  if (!declared.offsets.empty() &&
      (declared.offsets.size() <= total_batch_size_ ||
       !std::is_sorted(declared.offsets.begin(), declared.offsets.end()))) {
    return false;
  }
  const auto count = static_cast<size_t>(elements);
  // Each string has its length in front.
  if (tensor.datatype == DataType::kBytes) return tensor.size / 4 >= count;
  return tensor.size == count * ByteSize(tensor.datatype);
}

std::string BatchRun::Complaint(const Declared& declared) const {
  const OutputTensor& tensor = declared.tensor;
  std::string text = "model '" + model_ + "', output ";
  if (io_ && tensor.index >= io_->outputs.size()) {
    return text + std::to_string(tensor.index) + ": its backend gave it, but the model has only " +
           std::to_string(io_->outputs.size());
  }
  text += io_ ? "'" + io_->outputs[tensor.index].name + "'" : std::to_string(tensor.index);
  if (io_ && tensor.datatype != io_->outputs[tensor.index].datatype) {
    text += ": expected " + std::string(Name(io_->outputs[tensor.index].datatype)) + ",";
  } else if (batching_) {
    const uint32_t rows = declared.request == kAll ? total_batch_size_ : RowsOf(declared.request);
    text += ": expected " + std::to_string(rows) + " rows,";
  } else {
    text += ": expected bytes that fit the shape,";
  }
  const bool whole = declared.request == kAll && batching_;
  return text + " but its backend gave " + std::to_string(tensor.size) + " bytes as " +
         Name(tensor.datatype) + " " +
         ShapeText(whole ? int64_t{total_batch_size_} : -1, tensor.tail);
}

Status BatchRun::Collect(uint32_t position, uint32_t part, size_t* count) {
  for (const Declared& declared : declared_) {
    Status status = CollectOne(position, part, declared, count);
    if (!status.ok()) return status;
  }
  for (uint32_t next = position < chains_.size() ? chains_[position].first : kNone; next != kNone;
       next = declared_for_one_[next].next) {
    Status status = CollectOne(position, part, declared_for_one_[next], count);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status BatchRun::CollectOne(uint32_t position, uint32_t part, const Declared& declared,
                            size_t* count) {
  const Request& request = *requests_[position];
  if (!request.Wants(declared.tensor.index)) return Status::Ok();
  if (!declared.status.ok()) return declared.status;
  OutputTensor tensor = declared.tensor;
  if (declared.request == kAll && batching_) {
    const uint32_t rows = request.rows_of_part();
    const size_t row = size_t{first_rows_[position]} + size_t{part} * rows;
    const size_t past = row + rows;
    const bool ragged = !declared.offsets.empty();
    const size_t begin = ragged ? declared.offsets[row] : row * declared.row_bytes;
    const size_t end = ragged ? declared.offsets[past] : past * declared.row_bytes;
    tensor.batch = rows;
    tensor.data = static_cast<const char*>(declared.tensor.data) + begin;
    tensor.size = end - begin;
  } else if (request.parts > 1) {
    if (!CutPart(request.rows_of_part(), request.parts, part, &tensor)) {
      return Status::Internal("model '" + model_ + "': its backend gave strings that are cut");
    }
  }
  outputs_.push_back(tensor);
  (*count)++;
  return Status::Ok();
}

void BatchRun::Prepare(uint32_t position, const Status& status) {
  Request* request = requests_[position];
  TRITONTS_ASSERT(request->state() == Request::State::kRunning, "a request ended twice");
  answered_[position] = true;
  unanswered_--;
  request->set_state(Request::State::kDone);
  for (uint32_t part = 0; part < request->parts; part++) PrepareOne(position, part, status);
}

void BatchRun::PrepareOne(uint32_t position, uint32_t part, const Status& status) {
  Request* request = requests_[position];
  Response response;
  response.request = request;
  response.part = part;
  response.timings = &timings_;
  response.status = status;
  size_t count = 0;
  const bool cancelled = request->cancelled.load(std::memory_order_relaxed);
  if (cancelled) {
    response.status = Status::Cancelled("model '" + model_ + "': the request was cancelled");
  } else if (status.ok()) {
    response.status = Collect(position, part, &count);
    if (!response.status.ok()) {
      outputs_.resize(outputs_.size() - count);
      count = 0;
    }
  }
  const uint64_t lasted = timings_.exec_end_ns - request->arrival_ns;
  if (response.status.ok()) {
    totals_.ok++;
    totals_.ok_rows += request->rows_of_part();
    totals_.ok_ns += lasted;
    totals_.queue_ns += timings_.exec_start_ns - request->arrival_ns;
  } else {
    totals_.failed++;
    totals_.failed_ns += lasted;
    if (cancelled) totals_.cancelled++;
  }
  output_counts_.push_back(count);
  responses_.push_back(std::move(response));
}

void BatchRun::Send() {
  // Spans only now: outputs_ may have moved while it grew.
  size_t offset = 0;
  for (size_t i = 0; i < responses_.size(); i++) {
    responses_[i].outputs = {outputs_.data() + offset, output_counts_[i]};
    offset += output_counts_[i];
  }
  DeliverAll(responses_);
  responses_.clear();
  outputs_.clear();
  output_counts_.clear();
}

bool BatchRun::TakeVoice(uint64_t run) {
  while (true) {
    uint64_t expected = VoiceOf(run, kFree);
    if (voice_.compare_exchange_weak(expected, VoiceOf(run, kSpeaking),
                                     std::memory_order_acq_rel)) {
      return true;
    }
    if (expected >> 2 != run || expected == VoiceOf(run, kOver)) return false;
    // Another thread speaks, for microseconds at most.
    std::this_thread::yield();
  }
}

void BatchRun::GiveVoice(Voice voice) {
  voice_.store(VoiceOf(run_, voice), std::memory_order_release);
}

void BatchRun::AnswerRest(const Status& status) {
  Stamp();
  if (status.ok() && SendAlike()) return;
  for (uint32_t i = 0; i < requests_.size(); i++) {
    if (!answered_[i]) Prepare(i, status);
  }
  Send();
}

bool BatchRun::SendAlike() {
  if (!batching_ || unanswered_ < requests_.size() || !declared_for_one_.empty()) return false;
  const uint32_t rows = requests_[0]->rows_of_part();
  for (const Declared& declared : declared_) {
    // Rows of strings vary in their bytes.
    if (!declared.status.ok() || declared.tensor.datatype == DataType::kBytes) return false;
  }
  for (const Declared& declared : declared_) {
    OutputTensor& tensor = outputs_.emplace_back(declared.tensor);
    tensor.batch = rows;
    tensor.size = rows * declared.row_bytes;
  }
  ResponseSink* const sink = requests_[0]->sink;
  uint64_t arrivals_ns = 0;
  bool alike = true;
  for (const Request* request : requests_) {
    alike = alike && request->rows_of_part() == rows && request->sink == sink &&
            request->wanted.empty() && !request->cancelled.load(std::memory_order_relaxed);
    arrivals_ns += request->parts * request->arrival_ns;
  }
  if (alike) {
    for (Request* request : requests_) {
      TRITONTS_ASSERT(request->state() == Request::State::kRunning, "a request ended twice");
      request->set_state(Request::State::kDone);
    }
    answered_.assign(requests_.size(), true);
    unanswered_ = 0;
    totals_.ok += parts_;
    totals_.ok_rows += parts_ * rows;
    totals_.ok_ns += parts_ * timings_.exec_end_ns - arrivals_ns;
    totals_.queue_ns += parts_ * timings_.exec_start_ns - arrivals_ns;
    sink->DeliverAlike({requests_, parts_, outputs_, &timings_});
  }
  outputs_.clear();
  return alike;
}

void BatchRun::Respond(const Status& status) {
  Answer(run_, kAll, status);
}

void BatchRun::RespondOne(uint32_t request, const Status& status) {
  Answer(run_, request, status);
}

void BatchRun::Answer(uint64_t run, uint32_t request, const Status& status) {
  if (!TakeVoice(run)) return;
  if (request == kAll) {
    if (unanswered_ > 0) AnswerRest(status);
  } else if (request < requests_.size() && !answered_[request]) {
    Stamp();
    Prepare(request, status);
    Send();
  }
  GiveVoice(kFree);
}

void BatchRun::Abandon(const Status& status) {
  if (!TakeVoice(run_)) return;
  // All else of the run belongs to its thread still: its times, what it declared.
  std::vector<Response> responses;
  for (uint32_t i = 0; i < requests_.size(); i++) {
    if (answered_[i]) continue;
    TRITONTS_ASSERT(requests_[i]->state() == Request::State::kRunning, "a request ended twice");
    requests_[i]->set_state(Request::State::kDone);
    Response response;
    response.request = requests_[i];
    response.status = status;
    response.abandoned = true;
    responses.push_back(std::move(response));
  }
  DeliverAll(responses);
  GiveVoice(kOver);
}

}  // namespace tritonts
