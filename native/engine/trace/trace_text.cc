#include "engine/trace/trace_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/json_text.h"
#include "platform/number_text.h"

namespace tritonts {

namespace {

using platform::AppendNumber;

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
    AppendJson(&one, bytes.substr(0, size));
    one.push_back('"');
    bytes.remove_prefix(size);
    if (!first) text->push_back(',');
    AppendJsonOfUtf8(text, one);
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

// Writes the time stamps of a trace. There are several to each request, with one id, and with times
// whose upper digits are the same. So these are converted to text once.
class StampText {
 public:
  explicit StampText(std::string* text) : text_(text) {}

  // `name` is JSON text.
  void Append(uint64_t id, std::string_view name, uint64_t ns) {
    if (id != id_ || id_size_ == 0) {
      id_ = id;
      id_size_ = TextOf(id, &id_text_);
    }
    if (ns / kLower != upper_ || upper_size_ == 0) {
      upper_ = ns / kLower;
      upper_size_ = TextOf(upper_, &upper_text_);
    }
    constexpr std::string_view kId = R"({"id":)";
    constexpr std::string_view kName = R"(,"timestamps":[{"name":")";
    constexpr std::string_view kNs = R"(","ns":)";
    constexpr std::string_view kEnd = "}]}";
    constexpr size_t kFixed = kId.size() + kName.size() + kNs.size() + kEnd.size();
    constexpr size_t kLongestName = 32;
    if (name.size() > kLongestName) return AppendLong({kId, Id(), kName, name, kNs}, ns, kEnd);
    std::array<char, kFixed + 2 * sizeof(Digits) + kLowerDigits + kLongestName> stamp;
    char* to = stamp.data();
    to = Put(to, kId);
    to = Put(to, Id());
    to = Put(to, kName);
    to = Put(to, name);
    to = Put(to, kNs);
    to = PutNs(to, ns);
    to = Put(to, kEnd);
    text_->append(stamp.data(), static_cast<size_t>(to - stamp.data()));
  }

 private:
  static constexpr uint64_t kLower = 100'000'000;
  static constexpr size_t kLowerDigits = 8;
  using Digits = std::array<char, 20>;

  static size_t TextOf(uint64_t number, Digits* digits) {
    return static_cast<size_t>(
        std::to_chars(digits->data(), digits->data() + digits->size(), number).ptr -
        digits->data());
  }
  static char* Put(char* to, std::string_view some) {
    std::memcpy(to, some.data(), some.size());
    return to + some.size();
  }
  std::string_view Id() const { return {id_text_.data(), id_size_}; }
  char* PutNs(char* to, uint64_t ns) const {
    auto lower = static_cast<uint32_t>(ns % kLower);
    if (upper_ == 0) return std::to_chars(to, to + kLowerDigits, lower).ptr;
    to = Put(to, {upper_text_.data(), upper_size_});
    for (size_t i = kLowerDigits; i > 0; i--) {
      to[i - 1] = static_cast<char>('0' + lower % 10);
      lower /= 10;
    }
    return to + kLowerDigits;
  }
  void AppendLong(std::initializer_list<std::string_view> parts, uint64_t ns,
                  std::string_view end) {
    for (const std::string_view part : parts) text_->append(part);
    AppendNumber(text_, ns);
    text_->append(end);
  }

  std::string* const text_;
  uint64_t id_ = 0;
  uint64_t upper_ = 0;  // of the time
  size_t id_size_ = 0;  // 0: there is none yet
  size_t upper_size_ = 0;
  Digits id_text_;
  Digits upper_text_;
};

void AppendTensor(std::string* text, uint64_t id, const TracedTensor& tensor) {
  text->append(R"({"id":)");
  AppendNumber(text, id);
  text->append(R"(,"activity":")");
  text->append(tensor.activity);
  text->append(R"(","tensor":{"name":")");
  AppendJson(text, tensor.name);
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
  if (begin) AppendJson(text, begin->model);
  text->append(R"(","model_version":)");
  AppendNumber(text, begin ? begin->version : 0);
  text->append(R"(,"request_id":")");
  if (begin) AppendJson(text, begin->request_id);
  text->append(R"(","context":")");
  if (id == log.root) AppendJson(text, log.context);
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
    AppendJson(text, note ? std::string_view(log.texts[event->index]) : Name(event->moment));
    text->append(R"(","ns":")");
    AppendNumber(text, event->ns);
    text->append("\"}");
  }
  text->push_back(']');
  if (error) {
    text->append(R"(,"error":")");
    AppendJson(text, *error);
    text->push_back('"');
  }
  text->push_back('}');
}

}  // namespace

std::string_view Name(TraceMoment moment) {
  constexpr std::array<std::string_view, 7> kNames = {
      "REQUEST_START",        "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END",
      "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"};
  return kNames[static_cast<size_t>(moment)];
}

void AppendTriton(const TraceLog& log, std::string* text) {
  std::string name;
  StampText stamps(text);
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
        AppendJson(text, begin.model);
        text->append(R"(","model_version":)");
        AppendNumber(text, begin.version);
        if (!begin.request_id.empty()) {
          text->append(R"(,"request_id":")");
          AppendJson(text, begin.request_id);
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
        stamps.Append(event.id, Name(event.moment), event.ns);
        break;
      case TraceEvent::Kind::kNote:
        name.clear();
        AppendJson(&name, log.texts[event.index]);
        stamps.Append(event.id, name, event.ns);
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
