// Writes a batch into shared memory (protocol.h).
#include <algorithm>
#include <cstring>
#include <string>

#include "python/channel.h"
#include "python/parameter_bytes.h"

namespace tritonts::python {

namespace {

constexpr size_t Aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

std::string Said(const Request& request) {
  std::string said;
  for (const RequestParameter& parameter : request.parameters()) {
    AppendParameter(parameter, &said);
  }
  if (const SequenceMark& mark = request.sequence(); mark.any()) {
    const uint32_t flags = (mark.start ? kSequenceStart : 0) | (mark.end ? kSequenceEnd : 0);
    std::string value(kSequenceBytes, '\0');
    std::memcpy(value.data(), &mark.id.number, 8);
    std::memcpy(value.data() + 8, &flags, 4);
    AppendParameter(kSequenceType, mark.id.text, value, &said);
  }
  return said;
}

// The number of outputs that the engine keeps and that a request does not want.
size_t KeptAlone(const Run& run, const RequestHeader& header) {
  const auto kept = run.kept_outputs();
  return static_cast<size_t>(std::count_if(
      kept.begin(), kept.end(), [&header](uint32_t output) { return !header.Wants(output); }));
}

// Copies the bytes of one request's input, chunk by chunk.
void Copy(const Request& request, const InputTensor& input, char* target) {
  for (size_t i = 0, count = request.chunks(input); i < count; i++) {
    const Buffer chunk = request.chunk(input, i);
    if (chunk.size > 0) std::memcpy(target, chunk.data, chunk.size);
    target += chunk.size;
  }
}

}  // namespace

Status Channel::WriteBatch(uint32_t slot, const Run& run, uint32_t* number) {
  const auto requests = run.requests();
  size_t words = 2;
  size_t bytes = 0;
  size_t calls = 0;
  std::vector<std::string> said;
  std::vector<BatchMemory::Input> shared;  // in the order of the inputs
  for (uint32_t at = 0; at < requests.size();) {
    const RequestHeader& header = *requests[at]->header;
    const uint32_t count = run.alike(at);
    words += 9 + header.wanted.size() + KeptAlone(run, header);
    for (const InputTensor& input : run.inputs(at)) {
      words += 4 + input.shape.size();
      if (count == 1 && requests[at]->chunks(input) == 1) {
        const Buffer chunk = requests[at]->chunk(input);
        if (IsShared(chunk)) {
          const auto offset = options_.inputs->OffsetOf(chunk.data, chunk.size);
          shared.push_back({size_ + static_cast<uint64_t>(offset), chunk.size, chunk.owner});
          continue;
        }
      }
      bytes += Aligned(count * input.byte_size());
    }
    said.push_back(Said(*requests[at]));
    if (header.call) calls++;
    bytes += Aligned(said.back().size());
    at += count;
  }
  // Before any call is taken: a call that is taken has to be noted.
  std::vector<ServedCall> served;
  served.reserve(calls);
  bool traced = false;
  const size_t head = Aligned(words * 8);
  std::string fault;
  uint64_t place = 0;
  {
    const std::lock_guard lock(segment_->mutex);
    place = segment_->heap.Allocate(head + bytes, &fault);
    if (place == 0) {
      return Status::Unavailable(
          Reason::kNoMemory, "model '" + model() + "': " + fault +
                                 "; it is limited by the backend's option shm-default-byte-size "
                                 "and by the size of /dev/shm");
    }
  }
  const BlockRef memory = BatchMemory::Create(segment_, place, std::move(shared));
  if (!memory) return Status::NoMemory();
  Batch batch{slot, memory, words, head + bytes, static_cast<uint32_t>(requests.size()), {}};
  {
    const std::lock_guard lock(segment_->mutex);
    uint32_t next = last_number_;
    do {
      next++;
    } while (next == 0 || batches_.contains(next));
    batches_.emplace(next, std::move(batch));
    *number = last_number_ = next;
    under_way_.fetch_add(1);
  }
  auto next_shared = static_cast<const BatchMemory*>(memory.get())->inputs().begin();
  auto* word = reinterpret_cast<int64_t*>(segment_->memory.data() + place);
  uint64_t data = place + head;
  const auto put = [&](auto value) { *word++ = static_cast<int64_t>(value); };
  put(requests.size());
  put(said.size());
  size_t stretch = 0;
  for (uint32_t at = 0; at < requests.size(); stretch++) {
    const uint32_t count = run.alike(at);
    const RequestHeader& header = *requests[at]->header;
    const std::string& text = said[stretch];
    put(count);
    put(header.batch_size);
    put(header.priority);
    put(header.timeout_ns / 1000);
    put(text.empty() ? 0 : data);
    put(text.size());
    std::memcpy(segment_->memory.data() + data, text.data(), text.size());
    data += Aligned(text.size());
    put(header.streams ? 1 : 0);
    put(header.wanted.size() + KeptAlone(run, header));
    for (const uint32_t output : header.wanted) put(output);
    for (const uint32_t output : run.kept_outputs()) {
      if (!header.Wants(output)) put(output);
    }
    put(run.inputs(at).size());
    for (const InputTensor& input : run.inputs(at)) {
      const size_t size = input.byte_size();
      put(input.index);
      put(input.shape.size());
      for (const int64_t dim : input.shape) put(dim);
      put(size);
      if (count == 1 && requests[at]->chunks(input) == 1 && IsShared(requests[at]->chunk(input))) {
        put((next_shared++)->place);
        continue;
      }
      put(data);
      char* const target = segment_->memory.data() + data;
      if (input.first_chunks.size() == 1 && !input.first_chunks.front().owner && size > 0) {
        // The bytes of the following requests are contiguous.
        std::memcpy(target, requests[at]->chunk(input).data, count * size);
      } else {
        for (size_t i = 0; i < count; i++) Copy(*requests[at + i], input, target + i * size);
      }
      data += Aligned(count * size);
    }
    traced = traced || header.traces;
    if (header.call) {
      header.call->Took(requests[at]->position, count);
      served.push_back({at, count, header.call});
    }
    at += count;
  }
  if (!served.empty() || traced) inbox_->NoteServed(slot, std::move(served));
  return Status::Ok();
}

}  // namespace tritonts::python
