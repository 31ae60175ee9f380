// The outputs of the responses to a batch, and the states of its sequences.
#include <algorithm>
#include <span>
#include <string>

#include "plugins/batch.h"

namespace tritonts::plugins {

namespace {

// Whether a BYTES output has as many elements as its shape says.
bool AreStrings(const TRITONBACKEND_Output& output) {
  constexpr size_t kLengthBytes = 4;
  uint64_t count = 1;
  for (const int64_t dim : output.shape) {
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count)) return false;
  }
  const auto* at = static_cast<const unsigned char*>(output.buffer.data);
  size_t left = output.buffer.size;
  for (; count > 0 && left >= kLengthBytes; count--) {
    const size_t size = static_cast<size_t>(at[0]) | static_cast<size_t>(at[1]) << 8 |
                        static_cast<size_t>(at[2]) << 16 | static_cast<size_t>(at[3]) << 24;
    if (left - kLengthBytes < size) return false;
    at += kLengthBytes + size;
    left -= kLengthBytes + size;
  }
  return count == 0 && left == 0;
}

}  // namespace

// --- Outputs.

bool Batch::PlaceShared(TRITONBACKEND_Output* output, size_t size) {
  TRITONBACKEND_Request& request = *output->response->request;
  const std::span<const int64_t> shape(output->shape.data(), output->shape.size());
  {
    // With the lock, so that its sender does not get it back meanwhile.
    const std::lock_guard lock(request.lock);
    if (request.final != TRITONBACKEND_Request::Final::kNone || request.answered) return false;
    if (request.placed && request.placed != output->response) return false;
    const RequestHeader& header = *run_->requests()[request.position]->header;
    // Its rows are those of the request. An output for a region is written there.
    if (shape.empty() || shape[0] != static_cast<int64_t>(header.batch_size) || header.regions) {
      return false;
    }
    request.placed = output->response;
  }
  char* const place =
      shared_.Place(*run_, request.position, output->index, output->datatype, shape, size);
  if (!place) return false;
  output->buffer.data = place;
  output->buffer.size = size;
  output->shared = output->has_buffer = true;
  return true;
}

Status Batch::Place(TRITONBACKEND_Output* output, size_t size, MemoryKind preferred) {
  TRITONBACKEND_Request& request = *output->response->request;
  const std::span<const int64_t> shape(output->shape.data(), output->shape.size());
  // One response of a request can have its outputs in the run, and only if nothing else is sent
  // before it.
  bool in_place = !tensors().decoupled && output->datatype != DataType::kBytes;
  if (in_place) {
    // The engine knows the size by the shape.
    uint64_t bytes = ByteSize(output->datatype);
    for (const int64_t dim : shape) {
      in_place = in_place && dim >= 0 &&
                 !__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes);
    }
    in_place = in_place && bytes == size;
  }
  if (in_place && shares_ && preferred != MemoryKind::kDevice && executes_here() &&
      PlaceShared(output, size)) {
    return Status::Ok();
  }
  if (in_place) {
    // With the lock until the run knows the output, so that a response of another thread is sent
    // either before, and this one is not placed, or after, and the output is dropped.
    const std::lock_guard lock(request.lock);
    in_place = request.final == TRITONBACKEND_Request::Final::kNone && !request.answered &&
               (!request.placed || request.placed == output->response);
    if (in_place) {
      request.placed = output->response;
      StatusOr<Buffer> placed =
          run_->Output(request.position, output->index, output->datatype, shape, preferred);
      if (!placed.ok()) return placed.status();
      output->buffer = placed.take();
      // Blocks that the run has made have an owner, and belong to nobody else.
      const RequestHeader& header = *run_->requests()[request.position]->header;
      if (!output->buffer.owner || header.regions) request.placed_with_sender = true;
    }
  }
  if (!in_place) {
    BlockRef block;
    {
      // With the lock, because the run's pool ends with the instance, which may end once the last
      // request has its final response.
      const std::lock_guard lock(request.lock);
      if (request.final != TRITONBACKEND_Request::Final::kNone) {
        return MakeStatus([&] {
          return Status::InvalidArg("model '" + tensors().model + "': the buffer of output '" +
                                    tensors().io.outputs[output->index].name +
                                    "' was asked for after the final response of its request");
        });
      }
      block = run_->pool().Acquire(size);
    }
    if (!block) {
      return MakeStatus([&] {
        return Status::Unavailable(Reason::kNoMemory,
                                   "model '" + tensors().model + "': no memory for output '" +
                                       tensors().io.outputs[output->index].name + "'");
      });
    }
    output->buffer = Buffer{block->data(), size, block->kind(), block->device(), block};
  }
  output->in_place = in_place;
  output->has_buffer = true;
  return Status::Ok();
}

Status Batch::CheckOutputs(const TRITONBACKEND_Response& response) const {
  for (uint32_t i = 0; i < response.output_count; i++) {
    const TRITONBACKEND_Output& output = response.outputs[i];
    const bool is_empty =
        std::find(output.shape.begin(), output.shape.end(), 0) != output.shape.end();
    if (output.has_buffer && output.datatype == DataType::kBytes && !AreStrings(output)) {
      return MakeStatus([&] {
        return Status::Internal("model '" + tensors().model + "': its backend sent output '" +
                                tensors().io.outputs[output.index].name +
                                "' whose bytes are not the strings of its shape, each after its "
                                "length (4 bytes, little endian)");
      });
    }
    if (output.has_buffer || is_empty) continue;
    return MakeStatus([&] {
      return Status::Internal("model '" + tensors().model + "': its backend sent output '" +
                              tensors().io.outputs[output.index].name +
                              "' without asking for its buffer");
    });
  }
  return Status::Ok();
}

void Batch::Declare(const TRITONBACKEND_Response& response) {
  for (uint32_t i = 0; i < response.output_count; i++) {
    const TRITONBACKEND_Output& output = response.outputs[i];
    if (output.in_place || output.shared) continue;
    run_->SetRequestOutput(response.request->position, output.index, output.datatype,
                           {output.shape.data(), output.shape.size()}, output.buffer.data,
                           output.buffer.size, output.buffer.owner.get());
  }
}

// --- States.

TRITONBACKEND_State* Batch::MakeState(TRITONBACKEND_Request* request) {
  if (request->state_count == request->states.size()) {
    request->states.push_back(std::make_unique<TRITONBACKEND_State>());
  }
  TRITONBACKEND_State* const made = request->states[request->state_count++].get();
  made->request = request;
  made->buffer = Buffer();
  made->live = true;
  made->updated = false;
  return made;
}

void Batch::KeepStates(TRITONBACKEND_Request* request) {
  for (const auto& [output, input] : tensors().states) {
    bool is_new = false;
    for (uint32_t i = 0; i < request->state_count; i++) {
      const TRITONBACKEND_State& state = *request->states[i];
      is_new = is_new || (state.updated && state.index == output);
    }
    // A state that is an output, too, was made for the response.
    if (is_new || !tensors().io.outputs[output].internal) continue;
    const InputTensor* const old = run_->input(request->position, input);
    if (!old || old->first_chunks.size() != 1) continue;
    TRITONBACKEND_State* const kept = MakeState(request);
    kept->index = output;
    kept->datatype = old->datatype;
    kept->shape.assign(old->shape.begin(), old->shape.end());
    kept->buffer = run_->requests()[request->position]->chunk(*old);
    kept->updated = true;
  }
}

void Batch::DeclareStates(const TRITONBACKEND_Request& request) {
  if (!request.status.ok()) return;
  for (uint32_t i = 0; i < request.state_count; i++) {
    const TRITONBACKEND_State& state = *request.states[i];
    if (!state.updated) continue;
    run_->SetRequestOutput(request.position, state.index, state.datatype, state.shape,
                           state.buffer.data, state.buffer.size, state.buffer.owner.get());
  }
}

}  // namespace tritonts::plugins
