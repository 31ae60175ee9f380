// Converts a batch to words and bytes for JavaScript (instance_wrap.h).
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <variant>

#include "addon.h"
#include "external_memory.h"
#include "instance_wrap.h"

namespace tritonts {

namespace {

// Inputs of a request of at least this size are passed without a copy, if that is allowed.
constexpr size_t kLargeBytes = size_t{64} << 10;

// The caller's request id is a parameter with this name, which callers cannot use otherwise
// (src/server/requests/request-attributes.ts).
constexpr std::string_view kIdParameter = "triton_request_id";

// Flags of a sequence (src/javascript/batches/batch.ts).
constexpr int32_t kInSequence = 1;
constexpr int32_t kStart = 2;
constexpr int32_t kEnd = 4;
constexpr int32_t kText = 8;
// Words of a stretch besides those of its inputs and wanted outputs.
constexpr size_t kStretchWords = 7;

bool IsLarge(const InputTensor& input) {
  return input.byte_size() >= kLargeBytes;
}

size_t Aligned(size_t size) {
  return (size + 7) & ~size_t{7};
}

// Copies the bytes of one request's input, chunk by chunk.
void Copy(const Request& request, const InputTensor& input, char* target) {
  for (size_t i = 0, count = request.chunks(input); i < count; i++) {
    const Buffer chunk = request.chunk(input, i);
    if (chunk.size > 0) std::memcpy(target, chunk.data, chunk.size);
    target += chunk.size;
  }
}

// Returns a large input: an ArrayBuffer that keeps the engine's memory alive, or a copy. Empty if
// there is no memory. The model may write to the ArrayBuffer, so an overlay is copied: several
// slots or batches may have its memory. Senders give an input an owner only if no one else reads
// it.
Napi::Value ShowLarge(Napi::Env env, const Request& request, const InputTensor& input) {
  const size_t size = input.byte_size();
  if (!input.of_one && request.chunks(input) == 1) {
    const Buffer chunk = request.chunk(input);
    if (Block* const block = chunk.owner.get()) {
      block->Retain();
      const napi_value value = ExternalMemory(
          env, chunk.data, chunk.size,
          [](napi_env, void*, void* hint) { static_cast<Block*>(hint)->Release(); }, block);
      if (value) return {env, value};
    }
  }
  void* data = nullptr;
  napi_value value = nullptr;
  if (napi_create_arraybuffer(env, size, &data, &value) != napi_ok || !data) return {};
  Copy(request, input, static_cast<char*>(data));
  return {env, value};
}

bool HasExtra(const Request& request) {
  const RequestHeader& header = *request.header;
  return header.priority != 0 || header.timeout_ns != 0 || !header.parameters.empty();
}

Napi::Value ExtraOf(Napi::Env env, const Request& request) {
  const RequestHeader& header = *request.header;
  Napi::Object extra = Napi::Object::New(env);
  extra.Set("priority", Napi::Number::New(env, static_cast<double>(header.priority)));
  extra.Set("timeoutUs", Napi::Number::New(env, static_cast<double>(header.timeout_ns) / 1000));
  // Entries instead of an object, because `__proto__` is a legal name.
  Napi::Array parameters = Napi::Array::New(env);
  const std::string* id = nullptr;
  uint32_t count = 0;
  for (const RequestParameter& parameter : header.parameters) {
    if (parameter.name == kIdParameter) {
      if (const auto* text = std::get_if<std::string>(&parameter.value)) id = text;
      continue;
    }
    Napi::Array entry = Napi::Array::New(env, 2);
    entry.Set(0u, parameter.name);
    if (const auto* text = std::get_if<std::string>(&parameter.value)) {
      entry.Set(1u, *text);
    } else if (const auto* whole = std::get_if<int64_t>(&parameter.value)) {
      napi_value value = nullptr;
      napi_create_bigint_int64(env, *whole, &value);
      entry.Set(1u, Napi::Value(env, value));
    } else if (const auto* number = std::get_if<double>(&parameter.value)) {
      entry.Set(1u, Napi::Number::New(env, *number));
    } else {
      entry.Set(1u, Napi::Boolean::New(env, std::get<bool>(parameter.value)));
    }
    parameters.Set(count++, entry);
  }
  extra.Set("id", id ? *id : std::string());
  extra.Set("parameters", parameters);
  return extra;
}

}  // namespace

bool InstanceWrap::Write(Napi::Env env, const Run& run, Napi::Array objects) {
  const auto requests = run.requests();
  size_t words = 2;
  size_t bytes = 0;
  size_t calls = 0;
  for (uint32_t at = 0; at < requests.size();) {
    const RequestHeader& header = *requests[at]->header;
    const uint32_t count = run.alike(at);
    if (header.call) calls++;
    words += kStretchWords + header.wanted.size();
    for (const InputTensor& input : run.inputs(at)) {
      words += 4 + input.shape.size();
      if (!IsLarge(input)) bytes += Aligned(count * input.byte_size());
    }
    at += count;
  }
  needs_words_ = words;
  needs_bytes_ = bytes;
  if (words * 4 > words_.size || bytes > bytes_.size) return false;
  std::vector<ServedCall> served;
  served.reserve(calls);
  bool traced = false;
  auto* word = reinterpret_cast<int32_t*>(words_.data);
  const auto put = [&](size_t value) { *word++ = static_cast<int32_t>(value); };
  uint32_t shown = 0;
  const auto show = [&](const Napi::Value& value) {
    if (!value.IsEmpty()) napi_set_element(env, objects, shown, value);
    return shown++;
  };
  put(entered_);
  int32_t* const stretches = word++;
  *stretches = 0;
  size_t offset = 0;
  for (uint32_t at = 0; at < requests.size();) {
    const uint32_t count = run.alike(at);
    const Request& first = *requests[at];
    const RequestHeader& header = *first.header;
    put(count);
    *word++ = HasExtra(first) ? ~static_cast<int32_t>(show(ExtraOf(env, first))) : 0;
    const SequenceMark& mark = first.sequence();
    const bool is_text = !mark.id.text.empty();
    *word++ = !mark.any() ? 0
                          : kInSequence | (mark.start ? kStart : 0) | (mark.end ? kEnd : 0) |
                                (is_text ? kText : 0);
    if (mark.any() && is_text) {
      *word++ = ~static_cast<int32_t>(show(Napi::String::New(env, mark.id.text)));
      *word++ = 0;
    } else if (mark.any()) {
      std::memcpy(word, &mark.id.number, sizeof(mark.id.number));
      word += 2;
    }
    put(header.wanted.size());
    for (const uint32_t output : header.wanted) put(output);
    put(run.inputs(at).size());
    for (const InputTensor& input : run.inputs(at)) {
      const size_t size = input.byte_size();
      put(input.index);
      put(input.shape.size());
      for (const int64_t dim : input.shape) put(static_cast<size_t>(dim));
      put(size);
      if (IsLarge(input)) {
        *word++ = ~static_cast<int32_t>(shown);
        for (size_t i = 0; i < count; i++) show(ShowLarge(env, *requests[at + i], input));
        continue;
      }
      put(offset);
      char* const target = bytes_.data + offset;
      if (input.first_chunks.size() == 1 && !input.first_chunks.front().owner && size > 0) {
        // The bytes of the following requests are contiguous.
        std::memcpy(target, requests[at]->chunk(input).data, count * size);
      } else {
        for (size_t i = 0; i < count; i++) Copy(*requests[at + i], input, target + i * size);
      }
      offset += Aligned(count * size);
    }
    traced = traced || header.traces;
    if (header.call) {
      header.call->Took(requests[at]->position, count);
      served.push_back({at, count, header.call});
    }
    (*stretches)++;
    at += count;
  }
  if (!served.empty() || traced) inbox_->NoteServed(entered_, std::move(served));
  return true;
}

}  // namespace tritonts
