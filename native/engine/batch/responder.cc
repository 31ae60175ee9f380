#include "engine/batch/responder.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/rules.h"
#include "engine/request/region_use.h"
#include "engine/request/response_parameters.h"

namespace tritonts {

// --- Making responses, with the run's lock.

Delivery* Responder::Make(uint32_t request, const Status& status, bool final, bool empty) {
  const size_t responses = request == Run::kAll ? members_->undone() : 1;
  const size_t outputs = responses * outputs_->whole() + outputs_->single();
  // Room for a block of each output, and of each one that is dropped afterwards.
  const size_t blocks = outputs + outputs_->whole() + outputs_->single();
  Delivery* const delivery =
      deliveries_.Take(responses, outputs, blocks, additions_->keeper() ? outputs : 0);
  if (!delivery) return nullptr;
  clock_->Stamp(&delivery->timings);
  delivery->is_final = final;
  delivery->empty = empty;
  if (request != Run::kAll) {
    spoke_ = context_->order != nullptr;
    Prepare(request, status, final, delivery);
  } else if (!final || !status.ok() || !PrepareAlike(delivery)) {
    spoke_ = context_->order != nullptr;
    for (uint32_t i = 0; i < members_->size(); i++) {
      if (members_->open(i)) Prepare(i, status, final, delivery);
    }
  }
  if (request == Run::kAll) outputs_->DropAll(&delivery->blocks);
  return delivery;
}

Response& Responder::AddResponse(uint32_t position, bool final, Delivery* delivery) {
  Response& response = delivery->responses.emplace_back();
  response.request = (*members_)[position];
  response.timings = &delivery->timings;
  response.final = final;
  delivery->output_counts.push_back(0);
  if (context_->order) delivery->positions.push_back(position);
  if (final) delivery->finals++;
  return response;
}

void Responder::KeepOnly(uint32_t position, const Request& request, Delivery* delivery) {
  if (!additions_->keeper()) return;
  const size_t before = delivery->outputs.size();
  // If it fails, it has added nothing.
  const Status taken =
      outputs_->Take(position, request, &delivery->outputs, &delivery->blocks, &delivery->kept);
  if (taken.ok()) delivery->outputs.resize(before);
}

void Responder::CountUnread(StreamCount* stream, std::span<const OutputTensor> outputs,
                            Response* response) {
  response->counted = StreamCount::kResponseBytes + ParameterBytes(response->parameters);
  const RegionUse* const regions = response->request->header->regions.get();
  for (const OutputTensor& output : outputs) {
    // The server holds no bytes of an output that goes to a region.
    if (!regions || !regions->Aims(output.index)) response->counted += output.size;
  }
  stream->NoteSent(response->counted);
}

void Responder::Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery) {
  Request* const request = (*members_)[position];
  const bool cancelled = request->cancelled.load(std::memory_order_relaxed);
  if (final) {
    members_->End(position);
  } else {
    members_->Seize(position);
    delivery->open.push_back(position);
  }
  if (cancelled && !final) {
    outputs_->Drop(position, &delivery->blocks);
    return;
  }
  Response& response = AddResponse(position, final, delivery);
  // Null unless the model is decoupled.
  StreamCount* const stream =
      request->header->streams ? &request->header->streams[request->position] : nullptr;
  account_->NoteFirst(position, delivery->timings);
  if (cancelled) {
    if (status.ok() && !delivery->empty) KeepOnly(position, *request, delivery);
    response.status = context_->cancelled;
  } else if (status.ok() && stream && stream->lost()) {
    response.status = context_->no_response;
    outputs_->Drop(position, &delivery->blocks);
  } else if (delivery->empty) {
    response.empty = true;
    outputs_->Drop(position, &delivery->blocks);
  } else if (status.ok()) {
    const size_t before = delivery->outputs.size();
    response.parameters = outputs_->TakeParameters(position);
    response.status =
        outputs_->Take(position, *request, &delivery->outputs, &delivery->blocks, &delivery->kept);
    if (!response.status.ok()) response.parameters.reset();
    delivery->output_counts.back() = delivery->outputs.size() - before;
    if (stream && response.status.ok()) {
      CountUnread(stream, std::span(delivery->outputs).subspan(before), &response);
    }
    if (std::any_of(delivery->outputs.begin() + static_cast<ptrdiff_t>(before),
                    delivery->outputs.end(),
                    [](const OutputTensor& output) { return !IsPrivateHostMemory(output.kind); })) {
      delivery->uncounted.push_back(
          {static_cast<uint32_t>(delivery->responses.size() - 1), position});
      return;
    }
  } else {
    response.status = status;
    outputs_->Drop(position, &delivery->blocks);
  }
  account_->NoteResponse(position, response, cancelled, delivery->timings);
  if (final) account_->NoteEnd(position, response, cancelled);
}

bool Responder::PrepareAlike(Delivery* delivery) {
  const std::span<Request* const> requests = members_->requests();
  if (members_->undone() < requests.size() || spoke_ || context_->decoupled ||
      additions_->keeper()) {
    return false;
  }
  const RequestHeader& first = *requests[0]->header;
  const RequestHeader* header = &first;
  const uint32_t rows = first.batch_size;
  for (const Request* request : requests) {
    if (request->cancelled.load(std::memory_order_relaxed)) return false;
    if (request->header != header) {
      header = request->header;
      if (header->batch_size != rows || header->sink != first.sink ||
          header->wanted != first.wanted) {
        return false;
      }
    }
  }
  if (!outputs_->TakeAlike(requests, &delivery->outputs)) return false;
  header = &first;
  uint64_t sharing = 0;  // number of requests with this header
  for (Request* request : requests) {
    TRITONTS_ASSERT(request->state() == Request::State::kRunning, "a request ended twice");
    if (request->header != header) {
      account_->NoteEnds(*header, std::exchange(sharing, 0), delivery->timings);
      header = request->header;
    }
    sharing++;
    request->set_state(Request::State::kDone);
  }
  account_->NoteEnds(*header, sharing, delivery->timings);
  members_->EndAll();
  delivery->finals = requests.size();
  delivery->alike = true;
  if (context_->order) {
    for (uint32_t i = 0; i < requests.size(); i++) delivery->positions.push_back(i);
  }
  return true;
}

// --- Delivery, without the run's lock.

void Responder::Deliver(Delivery* delivery) {
  SetOutputs(delivery);
  GiveToKeeper(*delivery);
  Give(*delivery, 0, delivery->responses.size());
  Finish(delivery);
}

void Responder::SetOutputs(Delivery* delivery) {
  // Spans are set only now, because `outputs` could be reallocated while it grew.
  size_t offset = 0;
  for (size_t i = 0; i < delivery->responses.size(); i++) {
    delivery->responses[i].outputs = {delivery->outputs.data() + offset,
                                      delivery->output_counts[i]};
    offset += delivery->output_counts[i];
  }
  if (!delivery->uncounted.empty()) Fetch(delivery);
}

void Responder::Fetch(Delivery* delivery) {
  for (const auto [i, position] : delivery->uncounted) {
    Response& response = delivery->responses[i];
    const auto first = response.outputs.data() - delivery->outputs.data();
    for (size_t k = 0; k < delivery->output_counts[i] && response.status.ok(); k++) {
      OutputTensor& output = delivery->outputs[static_cast<size_t>(first) + k];
      response.status = memory_->Fetch(*response.request, &output, &delivery->copies);
    }
    if (response.status.ok()) continue;
    response.outputs = {};
    response.parameters.reset();
  }
  std::lock_guard lock(members_->lock());
  for (const auto [i, position] : delivery->uncounted) {
    const Response& response = delivery->responses[i];
    account_->NoteResponse(position, response, false, delivery->timings);
    if (response.final) account_->NoteEnd(position, response, false);
  }
}

void Responder::GiveToKeeper(const Delivery& delivery) {
  const KeptOutputs& kept = delivery.kept;
  size_t i = 0;  // the response; both lists are in the order of the slots
  for (size_t at = 0, past = 0; at < kept.slots.size(); at = past) {
    const uint32_t slot = kept.slots[at];
    while (past < kept.slots.size() && kept.slots[past] == slot) past++;
    const Request* const request = (*members_)[slot];
    while (delivery.responses[i].request != request) i++;
    // What was kept of a cancelled request is its state: its model has run it.
    const Status& status = delivery.responses[i].status;
    if (!status.ok() && status.code() != Code::kCancelled) continue;
    additions_->keeper()->Keep(*request, slot, std::span(kept.outputs).subspan(at, past - at));
  }
}

void Responder::Give(const Delivery& delivery, size_t first, size_t count) {
  if (!delivery.alike) return DeliverAll(std::span(delivery.responses).subspan(first, count));
  const std::span<Request* const> requests = members_->requests();
  try {
    if (!delivery.spoilt) {
      return requests[0]->header->sink->DeliverAlike(
          {requests, delivery.outputs, &delivery.timings});
    }
  } catch (const std::bad_alloc&) {
    // Deliver errors instead.
  }
  Response like;
  like.status = context_->no_response;
  like.timings = &delivery.timings;
  DeliverEach(requests, like);
}

void Responder::Finish(Delivery* delivery) {
  const auto finals = static_cast<uint32_t>(delivery->finals);
  delivery->Clear();
  {
    std::lock_guard lock(members_->lock());
    for (const uint32_t position : delivery->open) members_->Reopen(position);
    delivery->open.clear();
    deliveries_.Return(delivery);
  }
  if (finals > 0) life_->Drop(finals);
}

}  // namespace tritonts
