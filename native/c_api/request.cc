#include "c_api/request.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "c_api/client.h"
#include "engine/base/rules.h"
#include "engine/request/request_builder.h"
#include "engine/version/check_request.h"
#include "engine/version/shapes.h"

namespace tritonts::c_api {

namespace {

constexpr size_t kMostDims = 64;
// src/most-parameters.ts has the same number.
constexpr size_t kMostParameters = 4096;
// The most bytes of a request's parameters, as src/server/requests/request-attributes.ts counts
// them; and of its id.
constexpr uint64_t kMostTextBytes = 131072;
constexpr uint64_t kHeadBytes = 20;

// The parameter that tells a model the id of a request; src/server/requests/request-attributes.ts.
constexpr const char* kIdParameter = "triton_request_id";

// Why callers must not use a parameter's name; empty: they may. The table of JavaScript's requests
// (src/server/requests/request-attributes.ts) has the same names.
std::string WhyReserved(std::string_view name) {
  if (name.starts_with("triton_")) return "Triton reserves the prefix";
  if (name == "priority") return "set the priority of the request instead";
  if (name == "timeout") return "set the time-out of the request instead";
  if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
    return "set the sequence of the request instead";
  }
  return name == "headers" ? "Triton reserves it" : "";
}

bool IsAligned(const void* data, DataType datatype) {
  return reinterpret_cast<uintptr_t>(data) % std::max<size_t>(1, ByteSize(datatype)) == 0;
}

std::string NamesOf(const std::vector<TensorSpec>& specs) {
  std::string names;
  for (const TensorSpec& spec : specs) {
    if (!spec.internal) names += (names.empty() ? "" : ", ") + spec.name;
  }
  return names;
}

}  // namespace

// --- What the caller sets.

bool ApiRequest::idle() const {
  const uint64_t phase = word_.load(std::memory_order_acquire) & kPhases;
  return phase == kIdle || phase == kAbandoned;
}

void ApiRequest::SetCallbacks(tritonts_response_fn response, tritonts_release_fn release,
                              void* user) {
  response_ = response;
  release_ = release;
  user_ = user;
}

ApiRequest::Input* ApiRequest::Find(const char* name) {
  for (Input& input : inputs_) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

Status ApiRequest::AddPart(Input* input, const void* data, size_t size) {
  const std::string text = Text() + ", input '" + Printable(input->name) + "': ";
  if (size > 0 && !data) {
    return Status::InvalidArg(text + std::to_string(size) + " bytes have no address");
  }
  // So that no sum of sizes overflows.
  if (size > kMostTensorBytes || input->bytes + size > kMostTensorBytes) {
    return Status::InvalidArg(text + "expected at most " + std::to_string(kMostTensorBytes) +
                              " bytes (4 GiB), but got more");
  }
  input->parts.push_back({data, size});
  input->bytes += size;
  return Status::Ok();
}

Status ApiRequest::CheckDims(const char* name, size_t dims) const {
  if (dims <= kMostDims) return Status::Ok();
  return Status::InvalidArg(Text() + ", input '" + Printable(name) + "': expected at most " +
                            std::to_string(kMostDims) + " dims but received " +
                            std::to_string(dims));
}

Status ApiRequest::SetInput(const char* name, DataType datatype, std::span<const int64_t> dims,
                            const void* data, size_t size) {
  same_ = false;
  if (Status status = CheckDims(name, dims.size()); !status.ok()) return status;
  Input made;
  made.name = name;
  made.datatype = datatype;
  made.dims.assign(dims.begin(), dims.end());
  if (Status status = AddPart(&made, data, size); !status.ok()) return status;
  if (Input* const known = Find(name)) {
    *known = std::move(made);
  } else {
    inputs_.push_back(std::move(made));
  }
  return Status::Ok();
}

Status ApiRequest::AppendInput(const char* name, const void* data, size_t size) {
  same_ = false;
  if (Input* const known = Find(name)) return AddPart(known, data, size);
  return Status::InvalidArg(Text() + ", input '" + Printable(name) +
                            "': set the input with its datatype and dims first");
}

Status ApiRequest::Insert(Input input) {
  same_ = false;
  if (Find(input.name.c_str())) {
    return Status::InvalidArg(Text() + ": input '" + Printable(input.name) +
                              "' already exists in the request");
  }
  if (!inputs_.empty() && inputs_.front().raw) {
    return Status::InvalidArg(Text() + ": input '" + Printable(inputs_.front().name) +
                              "' is raw, and so the only one of the request");
  }
  inputs_.push_back(std::move(input));
  return Status::Ok();
}

Status ApiRequest::AddInput(const char* name, DataType datatype, std::span<const int64_t> dims) {
  if (Status status = CheckDims(name, dims.size()); !status.ok()) return status;
  Input made;
  made.name = name;
  made.datatype = datatype;
  made.dims.assign(dims.begin(), dims.end());
  return Insert(std::move(made));
}

Status ApiRequest::AddRawInput(const char* name) {
  if (!inputs_.empty()) {
    return Status::InvalidArg(Text() + ", input '" + Printable(name) +
                              "': a raw input is the only one of its request, which has others");
  }
  Input made;
  made.name = name;
  made.raw = true;
  return Insert(std::move(made));
}

Status ApiRequest::NoInput(const char* name) const {
  return Status::InvalidArg(Text() + ": input '" + Printable(name) +
                            "' does not exist in the request");
}

Status ApiRequest::RemoveInput(const char* name) {
  Input* const known = Find(name);
  if (!known) return NoInput(name);
  same_ = false;
  inputs_.erase(inputs_.begin() + (known - inputs_.data()));
  return Status::Ok();
}

Status ApiRequest::RemoveInputData(const char* name) {
  Input* const known = Find(name);
  if (!known) return NoInput(name);
  same_ = false;
  known->parts.clear();
  known->bytes = 0;
  return Status::Ok();
}

bool ApiRequest::HasOutput(const char* name) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const Output& output) { return output.name == name; });
}

Status ApiRequest::RemoveOutput(const char* name) {
  const auto known = std::find_if(outputs_.begin(), outputs_.end(),
                                  [&](const Output& output) { return output.name == name; });
  if (known == outputs_.end()) {
    return Status::InvalidArg(Text() + ": output '" + Printable(name) + "' is not requested");
  }
  same_ = false;
  outputs_.erase(known);
  return Status::Ok();
}

Status ApiRequest::AddOutput(const char* name, void* data, size_t size) {
  same_ = false;
  for (const Output& output : outputs_) {
    if (output.name == name) {
      return Status::InvalidArg(Text() + ": output '" + Printable(name) + "' is requested twice");
    }
  }
  outputs_.push_back({name, data, size});
  return Status::Ok();
}

Status ApiRequest::SetId(const std::string& id) {
  if (id.size() > kMostTextBytes) {
    return Status::InvalidArg(Text() + ": expected at most " + std::to_string(kMostTextBytes) +
                              " bytes for the id but received " + std::to_string(id.size()));
  }
  same_ = false;
  id_ = id;
  return Status::Ok();
}

Status ApiRequest::SetSequence(uint64_t number, const char* text, bool start, bool end) {
  same_ = false;
  const std::string id = text ? text : "";
  if (id.size() > kMostSequenceIdBytes) {
    return Status::Unsupported(
        Text() + ": expected at most " + std::to_string(kMostSequenceIdBytes) +
        " bytes of UTF-8 for the id of a sequence but received " + std::to_string(id.size()));
  }
  sequence_.id.number = text ? 0 : number;
  sequence_.id.text = id;
  sequence_.start = start;
  sequence_.end = end;
  return Status::Ok();
}

Status ApiRequest::SetParameter(const std::string& name,
                                std::variant<std::string, int64_t, double, bool> value) {
  same_ = false;
  if (const std::string why = WhyReserved(name); !why.empty()) {
    return Status::InvalidArg(Text() + ": a parameter must not have the name '" + Printable(name) +
                              "': " + why);
  }
  const size_t known = names_.Find(parameters_, name);
  const bool is_new = known == ParameterNames::kNone;
  RequestParameter made{name, std::move(value)};
  const uint64_t before = is_new ? 0 : ParameterWords(parameters_[known]) * 4;
  const uint64_t bytes = parameter_bytes_ - before + ParameterWords(made) * 4;
  if (kHeadBytes + bytes > kMostTextBytes) {
    return Status::InvalidArg(Text() + ": expected at most " + std::to_string(kMostTextBytes) +
                              " bytes for parameters but received " +
                              std::to_string(kHeadBytes + bytes));
  }
  if (!is_new) {
    parameters_[known] = std::move(made);
    parameter_bytes_ = bytes;
    return Status::Ok();
  }
  if (parameters_.size() == kMostParameters) {
    return Status::InvalidArg(Text() + ": expected at most " + std::to_string(kMostParameters) +
                              " parameters");
  }
  names_.Add(parameters_, name);
  parameters_.push_back(std::move(made));
  parameter_bytes_ = bytes;
  return Status::Ok();
}

void ApiRequest::Release(uint32_t references) {
  if (references_.fetch_sub(references, std::memory_order_acq_rel) == references) delete this;
}

// --- Submissions.

Status ApiRequest::Begin() {
  uint64_t word = word_.load();
  do {
    if ((word & kPhases) == kAbandoned) {
      return Status::InvalidArg(Text() +
                                ": a run was abandoned with the request, which therefore "
                                "cannot be submitted again");
    }
    if ((word & kPhases) != kIdle) {
      return Status::InvalidArg(Text() + ": the request is in flight: wait for its release");
    }
  } while (!word_.compare_exchange_weak(word, word + kSubmitting));
  // They saw an earlier submission. Those that come later see this one.
  while (cancelling_.load() > 0) std::this_thread::yield();
  waits = 0;
  return Status::Ok();
}

void ApiRequest::Undo() {
  set_state(State::kIdle);
  word_.store((word_.load() & ~kPhases) + kNextSubmission + kIdle);
}

BlockRef ApiRequest::CopyParts(const Input& input, std::string_view head) {
  const size_t size = head.size() + input.bytes;
  BlockRef block = client().AlignedCopies().Acquire(std::max<size_t>(1, size));
  if (!block) return block;
  auto* to = static_cast<char*>(block->data());
  if (!head.empty()) std::memcpy(to, head.data(), head.size());
  to += head.size();
  for (const Input::Part& part : input.parts) {
    if (part.size > 0) std::memcpy(to, part.data, part.size);
    to += part.size;
  }
  return block;
}

Status ApiRequest::BuildRawInput(RequestBuilder* builder) {
  const Input& input = inputs_.front();
  const std::vector<TensorSpec>& specs = binding_->io().inputs;
  const TensorSpec* only = nullptr;
  uint32_t index = 0;
  for (uint32_t i = 0; i < specs.size(); i++) {
    if (specs[i].internal) continue;
    if (only) {
      return Status::InvalidArg(Text() + ": a raw input needs a model with one input; it has " +
                                NamesOf(specs));
    }
    only = &specs[i];
    index = i;
  }
  const std::string text = Text() + ", input '" + Printable(input.name) + "': ";
  if (!only || only->name != input.name) {
    return Status::InvalidArg(text + "unknown input; it has " + NamesOf(specs));
  }
  // The batch dimension is 1, and one other may be variable.
  std::vector<int64_t> dims = only->outer.empty() ? only->dims : only->outer;
  const bool batches = binding_->io().max_batch_size > 0 && !only->rows_in_values && !dims.empty();
  if (batches) dims[0] = 1;
  InputTensor& tensor = builder->AddInput(index, only->datatype);
  const size_t element = ByteSize(only->datatype);
  int64_t* variable = nullptr;
  uint64_t elements = 1;
  for (int64_t& dim : dims) {
    if (dim >= 0) {
      elements *= static_cast<uint64_t>(dim);
    } else if (variable) {
      return Status::InvalidArg(text +
                                "the shape of a raw input follows from its bytes only if "
                                "at most one of its dims is variable");
    } else {
      variable = &dim;
    }
  }
  if (element == 0) {
    // One string: its bytes, behind their number.
    if (variable) *variable = 1;
    if (elements != 1) {
      return Status::InvalidArg(text + "a raw input BYTES has one element, but the model expects " +
                                std::to_string(elements));
    }
    const auto length = static_cast<uint32_t>(input.bytes);
    if (length != input.bytes) {
      return Status::InvalidArg(text + "an element BYTES has less than 4 GiB");
    }
    char head[4];
    for (int i = 0; i < 4; i++) head[i] = static_cast<char>(length >> 8 * i & 0xff);
    BlockRef block = CopyParts(input, {head, sizeof(head)});
    if (!block) return Status::NoMemory();
    tensor.shape.assign(dims.begin(), dims.end());
    builder->Keep(&tensor, std::move(block), sizeof(head) + input.bytes);
    return Status::Ok();
  }
  const uint64_t row = elements * element;
  if (variable) {
    if (row == 0 || input.bytes % row != 0) {
      return Status::InvalidArg(text + std::to_string(input.bytes) +
                                " bytes do not fit its shape: expected a multiple of " +
                                std::to_string(row));
    }
    *variable = static_cast<int64_t>(input.bytes / row);
  }
  tensor.shape.assign(dims.begin(), dims.end());
  return AddSource(builder, &tensor, input);
}

Status ApiRequest::AddSource(RequestBuilder* builder, InputTensor* tensor, const Input& input) {
  // An input of no bytes has an address, too.
  static char none = 0;
  const bool aligned =
      std::all_of(input.parts.begin(), input.parts.end(),
                  [&](const Input::Part& part) { return IsAligned(part.data, tensor->datatype); });
  if (!aligned) {
    // Backends read elements where they lie, so these need another place.
    BlockRef block = CopyParts(input);
    if (!block) return Status::NoMemory();
    builder->Keep(tensor, std::move(block), input.bytes);
    return Status::Ok();
  }
  for (const Input::Part& part : input.parts) {
    // Engine and backends read lent memory only.
    if (part.size > 0) builder->Lend(tensor, const_cast<void*>(part.data), part.size);
  }
  if (input.bytes == 0) builder->Lend(tensor, &none, 0);
  return Status::Ok();
}

Status ApiRequest::BuildInputs(RequestBuilder* builder) {
  if (!inputs_.empty() && inputs_.front().raw) return BuildRawInput(builder);
  const std::vector<TensorSpec>& specs = binding_->io().inputs;
  size_t found = 0;
  for (uint32_t i = 0; i < specs.size(); i++) {
    const Input* const input = Find(specs[i].name.c_str());
    if (!input) continue;
    found++;
    InputTensor& tensor = builder->AddInput(i, input->datatype);
    tensor.shape.assign(input->dims.begin(), input->dims.end());
    if (Status status = AddSource(builder, &tensor, *input); !status.ok()) return status;
  }
  if (found == inputs_.size()) return Status::Ok();
  for (const Input& input : inputs_) {
    const bool known = std::any_of(specs.begin(), specs.end(),
                                   [&](const TensorSpec& spec) { return spec.name == input.name; });
    if (known) continue;
    return Status::InvalidArg(Text() + ": unknown input '" + Printable(input.name) + "'; it has " +
                              NamesOf(specs));
  }
  return Status::Ok();
}

Status ApiRequest::BuildOutputs(RequestBuilder* builder) {
  targets_.clear();
  const std::vector<TensorSpec>& specs = binding_->io().outputs;
  for (const Output& output : outputs_) {
    const auto known = std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
      return !spec.internal && spec.name == output.name;
    });
    if (known == specs.end()) {
      return Status::InvalidArg(Text() + ": unknown output '" + Printable(output.name) +
                                "'; it has " + NamesOf(specs));
    }
    const auto index = static_cast<uint32_t>(known - specs.begin());
    builder->Want(index);
    if (!output.data) continue;
    if (binding_->served->decoupled()) {
      return Status::InvalidArg(Text() + ", output '" + output.name +
                                "': the model is decoupled, so its responses cannot be written "
                                "to memory of the request");
    }
    targets_.push_back({index, output.data, output.size});
  }
  return Status::Ok();
}

bool ApiRequest::BuildAgain(uint64_t now_ns, uint64_t flush) {
  if (!same_ || client().server().epoch() != epoch_) return false;
  header_.arrival_ns = now_ns;
  header_.flush = flush;
  if (header_.traces) header_.traces.reset();
  Prepare();
  binding_->served->SetQueueKeys(&header_);
  return true;
}

bool ApiRequest::MayBuildAgain() const {
  // Runs change the marks of sequences. Strings, and the values of shape tensors, may be others.
  if (stream_ || sequence_.any()) return false;
  for (const InputTensor& input : inputs()) {
    if (input.datatype == DataType::kBytes || binding_->io().inputs[input.index].rows_in_values) {
      return false;
    }
    for (const Buffer& chunk : input.first_chunks) {
      if (chunk.owner) return false;
    }
  }
  return true;
}

Status ApiRequest::Build(uint64_t now_ns, uint64_t flush, uint32_t except) {
  if (except == 0 && BuildAgain(now_ns, flush)) return Status::Ok();
  same_ = false;
  // Read before the version, so that a later change is seen the next time.
  const uint32_t epoch = client().server().epoch();
  auto bound = except == 0 ? model_->Bind() : model_->BindAnew(except);
  if (!bound.ok()) return bound.status();
  binding_ = bound.take();
  Served& served = *binding_->served;
  RequestBuilder builder({&header_, &client(), &served, now_ns, flush});
  builder.SetAttributes(priority_, timeout_us_, parameters_.size());
  for (const RequestParameter& one : parameters_) builder.AddParameter(one.name, one.value);
  if (binding_->takes_ids && !id_.empty()) builder.AddParameter(kIdParameter, id_);
  if (sequence_.any()) {
    builder.SetSequence(0, sequence_.id.number, sequence_.id.text, sequence_.start, sequence_.end);
  }
  if (Status status = BuildOutputs(&builder); !status.ok()) return status;
  if (Status status = BuildInputs(&builder); !status.ok()) return status;
  if (Status status = FitToModel(served.name(), served.io(), &header_); !status.ok()) return status;
  // An unread count of an earlier submission may still be used by its responses.
  stream_.reset();
  if (served.decoupled()) {
    stream_ = std::make_shared<StreamCount>();
    Budget& budget = client().server().budget();
    stream_->Begin(&budget.counter(), budget.limit());
  }
  header_.streams = stream_.get();
  Prepare();
  if (Status status = CheckRequest(served.name(), served.io(), *this); !status.ok()) {
    set_state(State::kIdle);
    return status;
  }
  builder.Finish();
  uint64_t bytes = served.KnownOutputBytes(header_.batch_size) + parameter_bytes_;
  for (const InputTensor& input : inputs()) bytes += input.byte_size();
  header_.accounted_bytes = bytes;
  epoch_ = epoch;
  same_ = MayBuildAgain();
  return Status::Ok();
}

bool ApiRequest::Park() {
  uint64_t expected = submission() + kSubmitting;
  return word_.compare_exchange_strong(expected, submission() + kParked);
}

bool ApiRequest::Unpark() {
  const uint64_t before = submission();
  uint64_t expected = before + kParked;
  // With the next number: the thread that has parked it may not have noted that yet.
  return word_.compare_exchange_strong(expected, before + kNextSubmission + kSubmitting);
}

Status ApiRequest::WasCancelled() const {
  return MakeStatus([&] { return Status::Cancelled(Text() + ": the request was cancelled"); });
}

void ApiRequest::EndUnsent(const Status& status) {
  charged = false;
  Response response;
  response.request = this;
  response.status = status;
  client().Deliver({&response, 1});
}

void ApiRequest::NoteSubmitted(uint64_t submission) {
  uint64_t expected = submission + kSubmitting;
  if (word_.compare_exchange_strong(expected, submission + kInFlight)) return;
  // Otherwise it has ended already, and may even be in flight again.
  if (expected != submission + kCancelWanted) return;
  if (word_.compare_exchange_strong(expected, submission + kInFlight)) Cancel();
}

void ApiRequest::Cancel() {
  // The responses that this causes are handed out after the last use of the request.
  const HoldCalls hold;
  cancelling_.fetch_add(1);
  uint64_t word = word_.load();
  bool claimed = false;
  while ((word & kPhases) == kSubmitting || (word & kPhases) == kParked) {
    claimed = (word & kPhases) == kParked;
    const uint64_t next = (word & ~kPhases) + (claimed ? kEnding : kCancelWanted);
    if (word_.compare_exchange_weak(word, next)) break;
    claimed = false;
  }
  if (claimed) {
    model_->sleepers().Remove(this);
    EndUnsent(WasCancelled());
  } else if ((word & kPhases) == kInFlight) {
    Request* const request = this;
    binding_->served->Cancel({&request, 1});
    if (stream_) stream_->Wake();
  }
  cancelling_.fetch_sub(1);
}

// --- Deliveries.

tritonts_response* ApiRequest::Take(const Response& response, ResponseBlocks* blocks, size_t number,
                                    const OutputShapes* shapes) noexcept {
  Status status = response.status;
  OutputShapes own;
  if (status.ok() && !shapes) {
    status = MakeStatus([&] { return own.Set(*binding_, response.outputs); });
    shapes = &own;
  }
  for (const OutputTensor& output : response.outputs) {
    if (!status.ok()) break;
    for (const OutputTarget& target : targets_) {
      if (target.output != output.index || output.size <= target.size) continue;
      status = MakeStatus([&] {
        return Status::InvalidArg(
            Text() + ", output '" + binding_->io().outputs[output.index].name + "': it has " +
            std::to_string(output.size) + " bytes, but the request has memory for " +
            std::to_string(target.size));
      });
    }
  }
  ResponseParts parts;
  parts.binding = &binding_;
  parts.status = &status;
  if (status.ok()) {
    parts.outputs = response.outputs;
    parts.parameters = response.parameters;
  }
  parts.shapes = shapes;
  parts.number = number;
  parts.targets = targets_;
  parts.timings = response.timings;
  parts.arrival_ns = header_.arrival_ns;
  tritonts_response* const made = MakeResponse(parts, blocks);
  if (made && response.counted > 0) {
    made->stream = stream_;
    made->counted = response.counted;
  } else if (response.counted > 0) {
    stream_->NoteRead(1, response.counted);
  }
  return made;
}

void ApiRequest::TakeBack(bool is_abandoned) {
  abandoned = is_abandoned;
  if (is_abandoned) return;
  if (stream_) stream_->Forget();
  header_.ReleaseChunks();
  set_state(State::kIdle);
}

void ApiRequest::Complete(Call* call, const Call* following, EndedRequests* ended) {
  // A call lies in a response, which the callee may delete, or in a request.
  const auto [next, request, response, flags, is_abandoned] = *call;
  void* const user = request->user_;
  // The handle of a request is its address (c_api/api.cc).
  auto* const handle = reinterpret_cast<tritonts_request*>(request);
  if (request->response_) {
    request->response_(handle, response, flags, user);
  } else {
    DeleteResponse(response);
  }
  if ((flags & TRITONTS_RESPONSE_FINAL) == 0) return;
  const tritonts_release_fn release = request->release_;
  // Alive until the reference of the submission is dropped.
  Client& client = request->client();
  // Begin has the order with cancellations.
  const uint64_t word = request->word_.load(std::memory_order_relaxed);
  request->word_.store((word & ~kPhases) + kNextSubmission + (is_abandoned ? kAbandoned : kIdle),
                       std::memory_order_release);
  uint32_t release_flags = is_abandoned ? TRITONTS_RELEASE_ABANDONED : 0;
  if (following && (following->flags & TRITONTS_RESPONSE_FINAL) != 0 &&
      &following->request->client() == &client && following->request->release_) {
    release_flags |= TRITONTS_RELEASE_MORE;
  }
  if (release) release(handle, release_flags, user);
  ended->Add(&client);
  if (!is_abandoned) request->Release();
}

}  // namespace tritonts::c_api
