#include "engine/batch/collector.h"

#include <cstring>
#include <string>

#include "engine/request/shape_values.h"

namespace tritonts {

namespace {

Status MissingInSome() {
  return Status::InvalidArg("the input is present in only some requests of the batch");
}

// The values of a shape tensor, separated by commas.
std::string TextOf(const char* values, DataType datatype, size_t size) {
  std::string text;
  for (size_t i = 0, count = size / ByteSize(datatype); i < count; i++) {
    text += (i > 0 ? ", " : "") + std::to_string(ShapeValueAt(values, datatype, i));
  }
  return text;
}

// Whether two buffers belong to one allocation, like slices of an output. Adjacent addresses are
// not enough: a driver may place small allocations side by side, and refuses a copy across two of
// them.
bool InOnePiece(const Buffer& one, const Buffer& other) {
  return one.owner && one.owner.get() == other.owner.get();
}

// Lists the parts of an input. Adjacent chunks become one part.
void ListParts(const Run& run, uint32_t index, std::vector<Buffer>* parts) {
  const auto requests = run.requests();
  for (uint32_t at = 0, stretch = 0; at < requests.size(); at += stretch) {
    const Request& request = *requests[at];
    const InputTensor& input = *run.input(at, index);
    stretch = run.neighbours(at);
    for (size_t i = 0, count = request.chunks(input); i < count; i++) {
      Buffer chunk = request.chunk(input, i);
      chunk.size *= stretch;
      if (chunk.size == 0) continue;
      Buffer* const last = parts->empty() ? nullptr : &parts->back();
      // The processor copies chunks in host memory, so for those adjacency is enough.
      const bool together =
          last && static_cast<char*>(last->data) + last->size == chunk.data &&
          (IsHostMemory(last->kind) && IsHostMemory(chunk.kind) ? last->kind == chunk.kind
                                                                : InOnePiece(*last, chunk));
      if (together) {
        last->size += chunk.size;
      } else {
        parts->push_back(std::move(chunk));
      }
    }
  }
}

}  // namespace

namespace {

// A summary of the chunks of an input.
struct Pieces {
  size_t total = 0;
  const char* end = nullptr;  // where the previous chunk ended
  Buffer begin;               // the first chunk with bytes
  bool neighbours = true;     // all chunks are adjacent, in memory of the wanted kind
  bool on_host = true;

  // Adds `stretch` adjacent chunks of equal size, of which `chunk` is the first.
  void Add(const Buffer& chunk, uint32_t stretch, MemoryKind wanted, int device) {
    const size_t size = stretch * chunk.size;
    if (size == 0) return;
    on_host = on_host && IsHostMemory(chunk.kind);
    if (!begin.data) {
      begin = chunk;
      neighbours = Serves(chunk.kind, chunk.device, wanted, device);
    } else if (chunk.data != end || chunk.kind != begin.kind || chunk.device != begin.device ||
               // A device copies this input, which must not cross allocations.
               (wanted != MemoryKind::kHost && !InOnePiece(begin, chunk))) {
      neighbours = false;
    }
    end = static_cast<const char*>(chunk.data) + size;
    total += size;
  }
};

// Sets the buffer or the parts of a present input.
Status Bring(Run& run, uint32_t index, const Pieces& pieces, Gathered* out, MemoryKind wanted,
             int device, Elsewhere elsewhere) {
  const auto requests = run.requests();
  const size_t total = pieces.total;
  out->buffer.kind = wanted;
  out->buffer.device = device;
  out->buffer.size = total;
  if (!pieces.on_host && elsewhere == Elsewhere::kLeft) {
    out->buffer.kind = MemoryKind::kDevice;
    ListParts(run, index, &out->parts);
    return Status::Ok();
  }
  if (pieces.neighbours) {
    if (!pieces.begin.data) return Status::Ok();
    out->buffer.data = pieces.begin.data;
    out->buffer.kind = pieces.begin.kind;
    out->buffer.device = pieces.begin.device;
    return Status::Ok();
  }
  BlockRef block;
  if (wanted == MemoryKind::kHost) {
    block = run.pool().Acquire(total);
  } else if (MemoryCopier* memory = run.memory()) {
    block = memory->Allocate(wanted, device, total);
  } else {
    return Status::Unsupported("cannot allocate " + NameOf(wanted, device));
  }
  if (!block) {
    return Status::Unavailable(Reason::kNoMemory, "no " + NameOf(wanted, device) +
                                                      " for a batch input of " +
                                                      std::to_string(total) + " bytes");
  }
  Buffer target{block->data(), total, block->kind(), block->device(), block};
  for (uint32_t at = 0; at < requests.size(); at++) {
    const Request& request = *requests[at];
    const InputTensor& part = *run.input(at, index);
    for (size_t i = 0, count = request.chunks(part); i < count; i++) {
      const Buffer chunk = request.chunk(part, i);
      if (chunk.size == 0) continue;
      if (Status status = CopyBytes(chunk, target, run.memory()); !status.ok()) return status;
      target.data = static_cast<char*>(target.data) + chunk.size;
      target.size -= chunk.size;
    }
  }
  out->copied = true;
  out->buffer = {block->data(), total, block->kind(), block->device(), block};
  return Status::Ok();
}

void Empty(Gathered* out) {
  out->buffer = Buffer();
  out->present = false;
  out->copied = false;
  out->parts.clear();
}

}  // namespace

Status Gather(Run& run, uint32_t index, bool batching, Gathered* out, MemoryKind wanted, int device,
              Elsewhere elsewhere) {
  Empty(out);
  const auto requests = run.requests();
  Pieces pieces;
  const RequestHeader* header = nullptr;  // of the previous request
  const InputTensor* input = nullptr;     // that header's
  for (uint32_t at = 0, stretch = 0; at < requests.size(); at += stretch) {
    const Request& request = *requests[at];
    if (request.header != header || run.injects()) {
      header = request.header;
      input = run.input(at, index);
      if (input && !out->present) {
        if (at > 0) return MissingInSome();
        out->present = true;
        out->shape.assign(input->shape.begin(), input->shape.end());
        if (batching) out->shape[0] = 0;
      } else if (!input && out->present) {
        return MissingInSome();
      } else if (input && batching) {
        // A loop, because a call of memcmp would cost more for so few dims.
        bool same = input->shape.size() == out->shape.size();
        for (size_t i = 1; same && i < out->shape.size(); i++)
          same = input->shape[i] == out->shape[i];
        if (!same) return Status::InvalidArg("a batch has requests of different shapes");
      }
    }
    stretch = run.neighbours(at);
    if (!input) continue;
    if (batching) out->shape[0] += static_cast<int64_t>(stretch) * input->shape[0];
    for (size_t i = 0, count = request.chunks(*input); i < count; i++) {
      pieces.Add(request.chunk(*input, i), stretch, wanted, device);
    }
  }
  if (!out->present) return Status::Ok();
  return Bring(run, index, pieces, out, wanted, device, elsewhere);
}

Status GatherRagged(Run& run, uint32_t index, Gathered* out, std::vector<int64_t>* counts,
                    MemoryKind wanted, int device, Elsewhere elsewhere) {
  Empty(out);
  counts->clear();
  const auto requests = run.requests();
  Pieces pieces;
  int64_t elements = 0;  // of all requests
  for (uint32_t at = 0, stretch = 0; at < requests.size(); at += stretch) {
    const Request& request = *requests[at];
    const InputTensor* const input = run.input(at, index);
    if (at > 0 && (input != nullptr) != out->present) return MissingInSome();
    stretch = run.neighbours(at);
    if (!input) continue;
    out->present = true;
    int64_t count = 1;
    for (const int64_t dim : input->shape) count *= dim;
    counts->insert(counts->end(), stretch, count);
    elements += stretch * count;
    for (size_t i = 0, chunks = request.chunks(*input); i < chunks; i++) {
      pieces.Add(request.chunk(*input, i), stretch, wanted, device);
    }
  }
  if (!out->present) return Status::Ok();
  out->shape = {elements};
  return Bring(run, index, pieces, out, wanted, device, elsewhere);
}

Status GatherConfigured(Run& run, uint32_t index, const TensorSpec& spec, bool batching,
                        Gathered* out) {
  if (!spec.ragged) return Gather(run, index, batching || spec.of_batch, out);
  std::vector<int64_t> counts;
  return GatherRagged(run, index, out, &counts);
}

Status GatherShapeValues(Run& run, uint32_t index, Gathered* out) {
  *out = Gathered();
  const auto requests = run.requests();
  const InputTensor* const first = run.input(0, index);
  const size_t size = first ? first->byte_size() : 0;
  BlockRef block;
  for (uint32_t at = 0; at < requests.size(); at++) {
    const Request& request = *requests[at];
    const InputTensor* const input = run.input(at, index);
    if ((input != nullptr) != (first != nullptr)) return MissingInSome();
    if (!input) continue;
    // The first request's values, followed by space for the values of the request to compare.
    if (!block) block = run.pool().Acquire(2 * size + 1);
    if (!block) {
      return Status::Unavailable(Reason::kNoMemory, "no memory for the " + std::to_string(size) +
                                                        " bytes of a shape tensor");
    }
    char* const values = static_cast<char*>(block->data());
    const bool is_first = at == 0;
    const size_t width = ByteSize(input->datatype);
    const auto which = [&] { return "request " + std::to_string(at) + " of the batch"; };
    if (width == 0 || size < width) {
      return Status::InvalidArg(which() + " has " + std::to_string(size) +
                                " bytes of a shape tensor: expected at least one value");
    }
    if (input->byte_size() != size) {
      return Status::InvalidArg(which() + " has " + std::to_string(input->byte_size()) +
                                " bytes of a shape tensor, and the first one has " +
                                std::to_string(size));
    }
    char* const here = is_first ? values : values + size;
    if (!CopyShapeValues(request, *input, here)) {
      return Status::InvalidArg(which() +
                                " has values of a shape tensor that are not in host memory");
    }
    if (!is_first && std::memcmp(values + width, here + width, size - width) != 0) {
      return Status::InvalidArg(which() + " has the values " + TextOf(here, input->datatype, size) +
                                " of a shape tensor, and the first one has " +
                                TextOf(values, input->datatype, size) +
                                ": only the first value, the number of rows, may differ");
    }
  }
  if (!first) return Status::Ok();
  SetShapeValue(block->data(), first->datatype, 0, run.total_batch_size());
  out->buffer = {block->data(), size, block->kind(), block->device(), block};
  out->shape.assign(first->shape.begin(), first->shape.end());
  out->present = out->copied = true;
  return Status::Ok();
}

}  // namespace tritonts
