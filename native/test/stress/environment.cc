#include "test/stress/environment.h"

#include <algorithm>
#include <sstream>

#include "onnxruntime_fixture.h"

namespace tritonts::test {

namespace {

// Whether a request with this fault still gets its rows. A slow one does, too, unless another
// request of its batch throws.
bool GetsRows(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kAnswersTwice || fault == Fault::kOtherThread ||
         fault == Fault::kWrongRequest;
}

}  // namespace

void Environment::Run() {
  while (!closed_ && !failed) {
    PortClient client(server_, random_.Once(3));
    client_ = &client;
    if (random_.Once(2)) client.WriteGroups();
    if (random_.Once(2)) client.LookForResponses();
    counts.ports++;
    revision_ = 0;
    targets_.clear();
    const uint32_t ticks = 20 + random_.Up(600);
    for (uint32_t tick = 0; tick < ticks && !closed_ && !failed; tick++) {
      Refresh();
      const uint32_t burst = random_.Once(20) ? 200 : random_.Up(8);
      for (uint32_t i = 0; i < burst && !targets_.empty() && !closed_; i++) Write();
      if (!client.Flush(random_.Once(2)).ok()) Complain("a submission was refused");
      if (!pending_.empty() && random_.Once(3)) CancelSome();
      client.WaitForWake(std::chrono::microseconds(random_.Up(300)));
      Take();
      // Limits the slabs and pages of an environment.
      while (pending_.size() > 1000 && !failed) TakeOrFail();
    }
    // An environment that ends in order waits for its responses; a killed one does not.
    if (!closed_ && random_.Once(3)) {
      for (int i = 0; i < 50 && !targets_.empty(); i++) Write();
      if (!client.Flush().ok()) Complain("a submission was refused");
    } else {
      while (!pending_.empty() && !failed) TakeOrFail();
    }
    counts.dropped += pending_.size();
    pending_.clear();
    client.Detach();
  }
}

void Environment::Refresh() {
  closed_ = client_->HeaderWord(layout::kClosed) == 1;
  const Server::Snapshot snapshot = server_->Read({"", "m"}, revision_);
  if (snapshot.found && !snapshot.changed) return;
  targets_.clear();
  revision_ = snapshot.revision;
  std::istringstream text(snapshot.json);
  uint32_t kind = 0;
  for (Target target; text >> target.uid >> kind >> target.max_batch_size;) {
    target.kind = static_cast<Kind>(kind);
    targets_.push_back(target);
  }
}

PortInput Environment::Input(uint32_t index, std::vector<int32_t> shape) {
  size_t count = 1;
  for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) {
    values[i] = static_cast<float>((next_value_ * 31 + i) % 1'000'003);
  }
  next_value_++;
  return {index, std::move(shape), BytesOf(values)};
}

Fault Environment::AnyFault() {
  while (true) {
    // Not the faults of batches with slots, which no version here has.
    const auto fault =
        static_cast<Fault>(random_.Up(static_cast<uint32_t>(Fault::kKeepsNothing) - 1));
    if (fault != Fault::kHangs && fault != Fault::kHangsUntilTerminated &&
        fault != Fault::kAllocatesTooMuch) {
      return fault;
    }
  }
}

void Environment::Write() {
  // Usually a request like the previous one, which may join its group.
  if (next_target_ >= targets_.size() || random_.Once(4)) {
    next_target_ = random_.Up(static_cast<uint32_t>(targets_.size() - 1));
    next_rows_ = random_.Up(1000);
  }
  const Target& target = targets_[next_target_];
  Pending pending;
  pending.target = target;
  const auto rows = static_cast<int32_t>(1 + next_rows_ % std::max(1u, target.max_batch_size));
  pending.rows = static_cast<uint32_t>(rows);
  switch (target.kind) {
    case Kind::kFixed:
      pending.inputs = {Input(0, {rows, 16}), Input(1, {rows, 2})};
      if (random_.Once(4)) pending.wanted = {random_.Up(1)};
      break;
    case Kind::kVariable:
      pending.inputs = {Input(0, {rows, static_cast<int32_t>(random_.Up(3)) * 50})};
      break;
    case Kind::kLarge:
      pending.rows = 0;
      pending.inputs = {Input(
          0, {static_cast<int32_t>(random_.Once(8) ? random_.Up(1 << 18) : random_.Up(30'000))})};
      break;
    case Kind::kFault: {
      if (random_.Once(3)) pending.fault = AnyFault();
      const std::vector<int32_t> number(static_cast<size_t>(rows),
                                        static_cast<int32_t>(pending.fault));
      pending.inputs = {Input(0, {rows, 4}), {1, {rows, 1}, BytesOf(number)}};
      break;
    }
    case Kind::kContract: {
      pending.way = static_cast<Way>(random_.Up(static_cast<uint32_t>(Way::kCount) - 1));
      const uint32_t times = pending.way == Way::kGoesRound ? random_.Up(3) : 0;
      const std::vector<int32_t> number(
          static_cast<size_t>(rows),
          static_cast<int32_t>(pending.way) + static_cast<int32_t>(times) * 16);
      pending.inputs = {Input(0, {rows, 4}), {1, {rows, 1}, BytesOf(number)}};
      break;
    }
    default:
      pending.inputs = {Input(0, {rows, 4})};
  }
  const uint32_t slot = client_->Write(target.uid, pending.rows, pending.inputs, pending.wanted);
  pending.generation = client_->generation(slot);
  if (!pending_.emplace(slot, std::move(pending)).second) Complain("a slot was free and pending");
  counts.submitted++;
}

void Environment::CancelSome() {
  auto request = pending_.lower_bound(random_.Up(50));
  for (uint32_t i = 0; i < 3 && request != pending_.end(); i++, ++request) {
    request->second.cancelled = true;
    client_->Cancel(request->first);
  }
}

void Environment::TakeOrFail() {
  if (client_->WaitForWake(kPatience)) {
    Take();
  } else {
    Complain(std::to_string(pending_.size()) + " requests did not end");
  }
}

void Environment::Take() {
  for (const PortResponse& response : client_->Take()) Check(response);
  closed_ = client_->HeaderWord(layout::kClosed) == 1;
}

void Environment::Check(const PortResponse& response) {
  const auto known = pending_.find(response.slot);
  if (known == pending_.end() || known->second.generation != response.generation) {
    return Complain(response.final ? "an answer to a request that is not pending"
                                   : "a response behind the final one");
  }
  if (!response.final) {
    known->second.responses++;
    counts.streamed++;
    if (response.code != Code::kOk) return Complain("an error that is not final");
    return CheckOutputs(known->second, response);
  }
  const Pending pending = std::move(known->second);
  pending_.erase(known);
  const uint32_t before = ResponsesBefore(pending.way);
  if (pending.responses > before) Complain("too many responses");
  switch (response.code) {
    case Code::kOk:
      counts.ok++;
      if (IsOnGpus(pending.target.kind)) counts.by_gpus++;
      if (!GetsRows(pending.fault) && pending.fault != Fault::kSlow) {
        Complain("a fault went well");
      }
      if (pending.way == Way::kStreamsAndFails) Complain("a failure went well");
      return CheckOutputs(pending, response);
    case Code::kCancelled:
      counts.cancelled++;
      if (!pending.cancelled && !closed_ && client_->HeaderWord(layout::kClosed) == 0) {
        Complain("cancelled by nobody: " + response.message);
      }
      return;
    case Code::kInternal:
      counts.faulty++;
      if (pending.way == Way::kStreamsAndFails) return;
      if (GetsRows(pending.fault)) Complain("an error for no fault: " + response.message);
      return;
    case Code::kUnavailable:
      (response.limited ? counts.limited : counts.gone)++;
      return;
    default:
      return Complain("an error: " + response.message);
  }
}

void Environment::CheckOutputs(const Pending& pending, const PortResponse& response) {
  const bool one = !pending.wanted.empty() || pending.target.kind == Kind::kFault ||
                   pending.target.kind == Kind::kContract;
  const size_t expected = one ? 1 : pending.inputs.size();
  if (response.outputs.size() != expected) Complain("outputs are missing or too many");
  for (const PortResponse::Output& output : response.outputs) {
    if (!pending.wanted.empty() && output.index != pending.wanted[0]) {
      Complain("an output that nobody wants");
    }
    const PortInput& input = pending.inputs[output.index];
    std::string bytes = input.bytes;
    if (pending.target.kind == Kind::kOnnx || pending.target.kind == Kind::kOnnxOnGpus) {
      std::vector<float> values = Values<float>(bytes);
      for (float& value : values) value += value;
      bytes = BytesOf(values);
    }
    if (output.bytes != bytes) Complain("an output that is not the request's");
    if (!std::equal(output.shape.begin(), output.shape.end(), input.shape.begin(),
                    input.shape.end())) {
      std::string text = "an output of another shape: [";
      for (const int64_t dim : output.shape) text += std::to_string(dim) + ",";
      text += "] for [";
      for (const int32_t dim : input.shape) text += std::to_string(dim) + ",";
      Complain(text + "]");
    }
  }
  if (response.timings[0] < pending.rows) Complain("a batch smaller than its request");
  for (const double duration : response.timings) {
    if (!(duration >= 0 && duration < 1e12)) Complain("a duration out of its mind");
  }
}

}  // namespace tritonts::test
