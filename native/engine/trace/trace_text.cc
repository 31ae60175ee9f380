#include "engine/trace/trace_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "platform/number_text.h"

namespace tritonts {

namespace {

using platform::AppendNumber;

// The content of a JSON string.
void AppendEscaped(std::string* text, std::string_view from) {
  for (const char c : from) {
    if (c == '"' || c == '\\') {
      text->push_back('\\');
      text->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      text->append("\\u00");
      text->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      text->push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      text->push_back(c);
    }
  }
}

// The length of the UTF-8 character at the beginning of `text`; 0: there is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and numbers beyond the last character.
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
  if (byte(0) == 0xed && byte(1) > 0x9f) return 0;
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

// The same for bytes that may be no UTF-8: a byte that is part of no character becomes U+FFFD.
void AppendText(std::string* text, std::string_view from) {
  while (!from.empty()) {
    const size_t length = CharacterLength(from);
    if (length == 0) {
      text->append("\xef\xbf\xbd");
      from.remove_prefix(1);
      continue;
    }
    AppendEscaped(text, from.substr(0, length));
    from.remove_prefix(length);
  }
}

template <typename T>
void AppendElements(std::string* text, std::string_view bytes) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if (at > 0) text->push_back(',');
    AppendNumber(text, value);
  }
}

// The elements of BYTES, as quoted texts. They are within a JSON string, so they are escaped twice.
void AppendBytes(std::string* text, std::string_view bytes) {
  std::string one;
  for (bool first = true; bytes.size() >= 4; first = false) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data(), 4);
    bytes.remove_prefix(4);
    if (size > bytes.size()) return;
    one.assign("\"");
    AppendText(&one, bytes.substr(0, size));
    one.push_back('"');
    bytes.remove_prefix(size);
    if (!first) text->push_back(',');
    AppendEscaped(text, one);
  }
}

void AppendData(std::string* text, const TracedTensor& tensor) {
  const std::string_view bytes = tensor.bytes;
  switch (tensor.datatype) {
    case DataType::kBool:
    case DataType::kUint8:
      for (size_t i = 0; i < bytes.size(); i++) {
        if (i > 0) text->push_back(',');
        AppendNumber(text, static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
      }
      return;
    case DataType::kInt8:
      for (size_t i = 0; i < bytes.size(); i++) {
        if (i > 0) text->push_back(',');
        AppendNumber(text, static_cast<int>(static_cast<signed char>(bytes[i])));
      }
      return;
    case DataType::kUint16:
      return AppendElements<uint16_t>(text, bytes);
    case DataType::kUint32:
      return AppendElements<uint32_t>(text, bytes);
    case DataType::kUint64:
      return AppendElements<uint64_t>(text, bytes);
    case DataType::kInt16:
      return AppendElements<int16_t>(text, bytes);
    case DataType::kInt32:
      return AppendElements<int32_t>(text, bytes);
    case DataType::kInt64:
      return AppendElements<int64_t>(text, bytes);
    case DataType::kFp32:
      return AppendElements<float>(text, bytes);
    case DataType::kFp64:
      return AppendElements<double>(text, bytes);
    case DataType::kBytes:
      return AppendBytes(text, bytes);
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kInvalid:
      return;
  }
}

// `name` is JSON text.
void AppendStamp(std::string* text, uint64_t id, std::string_view name, uint64_t ns) {
  text->append(R"({"id":)");
  AppendNumber(text, id);
  text->append(R"(,"timestamps":[{"name":")");
  text->append(name);
  text->append(R"(","ns":)");
  AppendNumber(text, ns);
  text->append("}]}");
}

void AppendTensor(std::string* text, uint64_t id, const TracedTensor& tensor) {
  text->append(R"({"id":)");
  AppendNumber(text, id);
  text->append(R"(,"activity":")");
  text->append(tensor.activity);
  text->append(R"(","tensor":{"name":")");
  AppendText(text, tensor.name);
  text->append(R"(","data":")");
  AppendData(text, tensor);
  text->append(R"(","shape":")");
  for (size_t i = 0; i < tensor.shape.size(); i++) {
    if (i > 0) text->push_back(',');
    AppendNumber(text, tensor.shape[i]);
  }
  text->append(R"(","dtype":")");
  text->append(Name(tensor.datatype));
  text->append("\"}}");
}

// `events` are those of this request.
void AppendSpan(const TraceLog& log, uint64_t id, const TracedBegin* begin,
                std::span<const TraceEvent* const> events, std::string* text) {
  text->append(R"({"id":)");
  AppendNumber(text, id);
  text->append(R"(,"parent_id":)");
  AppendNumber(text, begin ? begin->parent : 0);
  text->append(R"(,"model_name":")");
  if (begin) AppendText(text, begin->model);
  text->append(R"(","model_version":)");
  AppendNumber(text, begin ? begin->version : 0);
  text->append(R"(,"request_id":")");
  if (begin) AppendText(text, begin->request_id);
  text->append(R"(","context":")");
  if (id == log.root) AppendText(text, log.context);
  text->append(R"(","offset_ns":")");
  AppendNumber(text, log.wall_ns);
  text->append(R"(","timestamps":[)");
  const std::string* error = nullptr;
  bool first = true;
  for (const TraceEvent* event : events) {
    if (event->kind == TraceEvent::Kind::kError) error = &log.texts[event->index];
    const bool note = event->kind == TraceEvent::Kind::kNote;
    if (!note && event->kind != TraceEvent::Kind::kMoment) continue;
    if (!first) text->push_back(',');
    first = false;
    text->append(R"({"name":")");
    AppendText(text, note ? std::string_view(log.texts[event->index]) : Name(event->moment));
    text->append(R"(","ns":")");
    AppendNumber(text, event->ns);
    text->append("\"}");
  }
  text->push_back(']');
  if (error) {
    text->append(R"(,"error":")");
    AppendText(text, *error);
    text->push_back('"');
  }
  text->push_back('}');
}

}  // namespace

const char* Name(TraceMoment moment) {
  constexpr std::array kNames = {"REQUEST_START",     "QUEUE_START",          "COMPUTE_START",
                                 "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END",
                                 "REQUEST_END"};
  return kNames[static_cast<size_t>(moment)];
}

void AppendTriton(const TraceLog& log, std::string* text) {
  std::string name;
  bool first = true;
  for (const TraceEvent& event : log.events) {
    if (event.kind == TraceEvent::Kind::kError) continue;
    if (event.kind != TraceEvent::Kind::kTensor && !log.timestamps) continue;
    if (!first) text->push_back(',');
    first = false;
    switch (event.kind) {
      case TraceEvent::Kind::kRequest: {
        const TracedBegin& begin = log.requests[event.index];
        text->append(R"({"id":)");
        AppendNumber(text, event.id);
        text->append(R"(,"model_name":")");
        AppendText(text, begin.model);
        text->append(R"(","model_version":)");
        AppendNumber(text, begin.version);
        if (!begin.request_id.empty()) {
          text->append(R"(,"request_id":")");
          AppendText(text, begin.request_id);
          text->push_back('"');
        }
        if (begin.parent != 0) {
          text->append(R"(,"parent_id":)");
          AppendNumber(text, begin.parent);
        }
        text->push_back('}');
        break;
      }
      case TraceEvent::Kind::kMoment:
        AppendStamp(text, event.id, Name(event.moment), event.ns);
        break;
      case TraceEvent::Kind::kNote:
        name.clear();
        AppendText(&name, log.texts[event.index]);
        AppendStamp(text, event.id, name, event.ns);
        break;
      case TraceEvent::Kind::kTensor:
        AppendTensor(text, event.id, log.tensors[event.index]);
        break;
      case TraceEvent::Kind::kError:
        break;
    }
  }
}

void AppendSpans(const TraceLog& log, std::string* text) {
  std::vector<const TraceEvent*> events;
  events.reserve(log.events.size());
  for (const TraceEvent& event : log.events) events.push_back(&event);
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent* a, const TraceEvent* b) { return a->id < b->id; });
  const auto of = [&](uint64_t id) {
    const auto begin =
        std::lower_bound(events.begin(), events.end(), id,
                         [](const TraceEvent* one, uint64_t wanted) { return one->id < wanted; });
    auto end = begin;
    while (end != events.end() && (*end)->id == id) ++end;
    return std::span<const TraceEvent* const>(begin, end);
  };
  // A request begins after the one that caused it, so the last ones come first.
  const TracedBegin* root = nullptr;
  for (size_t i = log.events.size(); i > 0; i--) {
    const TraceEvent& event = log.events[i - 1];
    if (event.kind != TraceEvent::Kind::kRequest) continue;
    const TracedBegin* const begin = &log.requests[event.index];
    if (event.id == log.root) {
      root = begin;
      continue;
    }
    AppendSpan(log, event.id, begin, of(event.id), text);
    text->push_back(',');
  }
  AppendSpan(log, log.root, root, of(log.root), text);
}

}  // namespace tritonts
