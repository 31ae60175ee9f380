#include "convert_warmup.h"

#include <utility>

#include "bytes_wrap.h"
#include "convert.h"

namespace tritonts {

namespace {

WarmupInput InputOf(const Napi::Object& object) {
  WarmupInput input;
  input.index = static_cast<uint32_t>(NumberOf(object.Get("input")));
  input.datatype = static_cast<DataType>(NumberOf(object.Get("datatype")));
  input.size = static_cast<size_t>(NumberOf(object.Get("size")));
  const Napi::Value shape = object.Get("shape");
  if (shape.IsArray()) {
    const Napi::Array dims = shape.As<Napi::Array>();
    for (uint32_t i = 0; i < dims.Length(); i++) input.shape.push_back(NumberOf(dims.Get(i)));
  }
  const Napi::Value data = object.Get("data");
  if (data.IsString()) {
    if (StringOf(data) == "random") input.data = WarmupInput::Data::kRandom;
  } else if (auto given = BytesWrap::BytesOf(data)) {
    input.data = WarmupInput::Data::kGiven;
    input.given = std::move(given);
  }
  return input;
}

}  // namespace

std::vector<WarmupSample> WarmupOf(const Napi::Value& value) {
  std::vector<WarmupSample> samples;
  if (!value.IsArray()) return samples;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const Napi::Object object = entry.As<Napi::Object>();
    WarmupSample sample;
    sample.name = StringOf(object.Get("name"));
    sample.batch_size = static_cast<uint32_t>(NumberOf(object.Get("batchSize")));
    sample.count = static_cast<uint32_t>(NumberOf(object.Get("count")));
    const Napi::Value inputs = object.Get("inputs");
    if (inputs.IsArray()) {
      const Napi::Array list = inputs.As<Napi::Array>();
      for (uint32_t k = 0; k < list.Length(); k++) {
        const Napi::Value input = list.Get(k);
        if (input.IsObject()) sample.inputs.push_back(InputOf(input.As<Napi::Object>()));
      }
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace tritonts
