#include "convert_sequences.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "convert.h"

namespace tritonts {

namespace {

SequenceControl::Kind KindOf(const std::string& name) {
  if (name == "start") return SequenceControl::Kind::kStart;
  if (name == "end") return SequenceControl::Kind::kEnd;
  if (name == "ready") return SequenceControl::Kind::kReady;
  return SequenceControl::Kind::kCorrelationId;
}

template <typename T>
std::array<char, 4> BytesOf(T value) {
  static_assert(sizeof(T) <= 4);
  std::array<char, 4> bytes = {};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A control's value as an element of the datatype.
std::array<char, 4> ValueOf(double value, DataType datatype) {
  switch (datatype) {
    case DataType::kFp32:
      return BytesOf(static_cast<float>(value));
    case DataType::kBool:
      return BytesOf(static_cast<uint8_t>(value != 0));
    default:
      // TypeScript has checked that it is an INT32.
      return BytesOf(static_cast<int32_t>(static_cast<int64_t>(value)));
  }
}

SequenceControl ControlOf(const Napi::Object& object) {
  SequenceControl control;
  control.kind = KindOf(StringOf(object.Get("kind")));
  control.input = static_cast<uint32_t>(NumberOf(object.Get("input")));
  control.datatype = static_cast<DataType>(NumberOf(object.Get("datatype")));
  const std::vector<double> values = DoublesOf(object.Get("values"));
  for (size_t i = 0; i < values.size() && i < control.values.size(); i++) {
    control.values[i] = ValueOf(values[i], control.datatype);
  }
  return control;
}

SequenceStateSpec StateOf(const Napi::Object& object) {
  SequenceStateSpec state;
  state.input = static_cast<uint32_t>(NumberOf(object.Get("input")));
  state.output = static_cast<uint32_t>(NumberOf(object.Get("output")));
  state.datatype = static_cast<DataType>(NumberOf(object.Get("datatype")));
  state.first_shape = DimsOf(object.Get("firstShape"));
  const Napi::Value first = object.Get("firstBytes");
  if (first.IsTypedArray()) {
    const Napi::Uint8Array bytes = first.As<Napi::Uint8Array>();
    state.first_bytes.assign(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  state.same_buffer = FlagOf(object.Get("sameBuffer"));
  return state;
}

// Reads the objects of an array.
template <typename T>
std::vector<T> ListOf(const Napi::Value& value, T (*read)(const Napi::Object&)) {
  std::vector<T> list;
  if (!value.IsArray()) return list;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (entry.IsObject()) list.push_back(read(entry.As<Napi::Object>()));
  }
  return list;
}

}  // namespace

std::optional<SequencePolicy> SequencePolicyOf(const Napi::Value& value) {
  if (!value.IsObject()) return std::nullopt;
  const Napi::Object object = value.As<Napi::Object>();
  SequencePolicy policy;
  policy.strategy = StringOf(object.Get("strategy")) == "oldest"
                        ? SequencePolicy::Strategy::kOldest
                        : SequencePolicy::Strategy::kDirect;
  policy.slots = static_cast<uint32_t>(NumberOf(object.Get("slots")));
  policy.max_batch_size = static_cast<uint32_t>(NumberOf(object.Get("maxBatchSize")));
  policy.max_idle_ns = NanosecondsOf(object.Get("maxIdleUs"));
  const Napi::Value share = object.Get("minimumSlotUtilization");
  if (share.IsNumber()) policy.minimum_slot_utilization = share.As<Napi::Number>().FloatValue();
  policy.max_queue_delay_ns = NanosecondsOf(object.Get("maxQueueDelayUs"));
  policy.dynamic = DynamicPolicyOf(object.Get("dynamic"));
  policy.preserve_ordering = FlagOf(object.Get("preserveOrdering"));
  policy.iterative = FlagOf(object.Get("iterative"));
  policy.reloaded = FlagOf(object.Get("reloaded"));
  policy.controls = ListOf<SequenceControl>(object.Get("controls"), &ControlOf);
  policy.states = ListOf<SequenceStateSpec>(object.Get("states"), &StateOf);
  return policy;
}

}  // namespace tritonts
