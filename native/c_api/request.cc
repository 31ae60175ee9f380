#include "c_api/request.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

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

// What a parameter counts: 12 bytes, and its name and value in words of 4 bytes.
uint64_t BytesOf(const std::string& name,
                 const std::variant<std::string, int64_t, double, bool>& value) {
  const auto words = [](size_t size) { return (uint64_t{size} + 3) / 4 * 4; };
  const auto* const text = std::get_if<std::string>(&value);
  const size_t size = text ? text->size() : std::holds_alternative<bool>(value) ? 4 : 8;
  return 12 + words(name.size()) + words(size);
}

// The parameter that tells a model the id of a request; src/server/requests/request-attributes.ts.
constexpr const char* kIdParameter = "triton_request_id";

// Why callers must not use a parameter's name; empty: they may. The table of JavaScript's requests
// (src/server/requests/request-attributes.ts) has the same names.
std::string WhyReserved(std::string_view name) {
  if (name.starts_with("triton_")) return "Triton reserves the prefix";
  if (name == "priority") return "call request_set_priority instead";
  if (name == "timeout") return "call request_set_timeout instead";
  if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
    return "call request_set_sequence instead";
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

Status ApiRequest::SetInput(const char* name, DataType datatype, std::span<const int64_t> dims,
                            const void* data, size_t size) {
  same_ = false;
  if (dims.size() > kMostDims) {
    return Status::InvalidArg(Text() + ", input '" + Printable(name) + "': expected at most " +
                              std::to_string(kMostDims) + " dims but received " +
                              std::to_string(dims.size()));
  }
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
                            "': call request_set_input first, which gives its datatype and dims");
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
  RequestParameter* before = nullptr;
  uint64_t bytes = kHeadBytes + BytesOf(name, value);
  for (RequestParameter& known : parameters_) {
    if (known.name == name) {
      before = &known;
    } else {
      bytes += BytesOf(known.name, known.value);
    }
  }
  if (bytes > kMostTextBytes) {
    return Status::InvalidArg(Text() + ": expected at most " + std::to_string(kMostTextBytes) +
                              " bytes for parameters but received " + std::to_string(bytes));
  }
  if (before) {
    before->value = std::move(value);
    return Status::Ok();
  }
  if (parameters_.size() == kMostParameters) {
    return Status::InvalidArg(Text() + ": expected at most " + std::to_string(kMostParameters) +
                              " parameters");
  }
  parameters_.push_back({name, std::move(value)});
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
  return Status::Ok();
}

void ApiRequest::Undo() {
  set_state(State::kIdle);
  word_.store((word_.load() & ~kPhases) + kNextSubmission + kIdle);
}

Status ApiRequest::BuildInputs(RequestBuilder* builder) {
  // An input of no bytes has an address, too.
  static char none = 0;
  const std::vector<TensorSpec>& specs = binding_->io().inputs;
  size_t found = 0;
  for (uint32_t i = 0; i < specs.size(); i++) {
    const Input* const input = Find(specs[i].name.c_str());
    if (!input) continue;
    found++;
    InputTensor& tensor = builder->AddInput(i, input->datatype);
    tensor.shape.assign(input->dims.begin(), input->dims.end());
    const bool aligned =
        std::all_of(input->parts.begin(), input->parts.end(),
                    [&](const Input::Part& part) { return IsAligned(part.data, input->datatype); });
    if (aligned) {
      for (const Input::Part& part : input->parts) {
        // Engine and backends read lent memory only.
        void* const data = part.size > 0 ? const_cast<void*>(part.data) : &none;
        if (part.size > 0 || input->parts.size() == 1) builder->Lend(&tensor, data, part.size);
      }
      continue;
    }
    // Backends read elements where they lie, so these need another place.
    BlockRef block = client().AlignedCopies().Acquire(std::max<size_t>(1, input->bytes));
    if (!block) return Status::NoMemory();
    auto* to = static_cast<char*>(block->data());
    for (const Input::Part& part : input->parts) {
      if (part.size > 0) std::memcpy(to, part.data, part.size);
      to += part.size;
    }
    builder->Keep(&tensor, std::move(block), input->bytes);
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
  uint64_t bytes = served.KnownOutputBytes(header_.batch_size);
  for (const InputTensor& input : inputs()) bytes += input.byte_size();
  header_.accounted_bytes = bytes;
  epoch_ = epoch;
  same_ = MayBuildAgain();
  return Status::Ok();
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
  while ((word & kPhases) == kSubmitting) {
    if (word_.compare_exchange_weak(word, word - kSubmitting + kCancelWanted)) break;
  }
  if ((word & kPhases) == kInFlight) {
    Request* const request = this;
    binding_->served->Cancel({&request, 1});
    if (stream_) stream_->Wake();
  }
  cancelling_.fetch_sub(1);
}

// --- Deliveries.

tritonts_response* ApiRequest::Take(const Response& response, size_t number,
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
  if (status.ok()) parts.outputs = response.outputs;
  parts.shapes = shapes;
  parts.number = number;
  parts.targets = targets_;
  parts.timings = response.timings;
  parts.arrival_ns = header_.arrival_ns;
  tritonts_response* const made = MakeResponse(parts);
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

void ApiRequest::Complete(Call* call, const Call* following) {
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
  request->word_.store((request->word_.load() & ~kPhases) + kNextSubmission +
                       (is_abandoned ? kAbandoned : kIdle));
  uint32_t release_flags = is_abandoned ? TRITONTS_RELEASE_ABANDONED : 0;
  if (following && (following->flags & TRITONTS_RESPONSE_FINAL) != 0 &&
      &following->request->client() == &client && following->request->release_) {
    release_flags |= TRITONTS_RELEASE_MORE;
  }
  if (release) release(handle, release_flags, user);
  client.End();
  if (!is_abandoned) request->Release();
}

}  // namespace tritonts::c_api
