// Reads the responses in a completion page (format: port_layout.h).
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/port/pages.h"
#include "engine/port/port_layout.h"
#include "engine/port/reader.h"
#include "engine/request/response_parameters.h"
#include "engine/request/stream_count.h"

namespace tritonts::test {

// Identifies a request: its slot, plus this times the position in its group.
constexpr uint32_t kPositionStep = 1u << 20;

struct PortResponse {
  struct Output {
    uint32_t index = 0;
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> shape;
    std::string bytes;
    bool large = false;
    bool stored = false;  // in its region, and so without bytes
    uint64_t size = 0;
    int32_t offset = 0;  // in its page
  };
  uint32_t slot = 0;  // plus kPositionStep times the position in its group
  uint32_t generation = 0;
  Code code = Code::kOk;
  Reason reason = Reason::kNone;
  std::string message;
  std::vector<Output> outputs;
  ResponseParameters parameters;
  bool final = false;
  bool limited = false;
  bool unserved = false;
  bool ran = false;
  bool empty = false;      // the end of a request without a response
  uint64_t counted = 0;    // charged bytes until it is read
  bool alike = false;      // one of several requests in a record
  double timings[5] = {};  // of its batch; only if it ran
};

// Reads the parameters of a response. Null: the words are malformed.
inline ResponseParameters ReadParameters(std::span<const int32_t> words) {
  AttributesReader reader(words);
  ResponseParameterList list;
  while (!reader.done()) {
    ParameterRecord read;
    if (reader.Parameter(&read)) return nullptr;
    int64_t whole = 0;
    double real = 0;
    std::memcpy(&whole, read.value.data(), std::min(read.value.size(), sizeof(whole)));
    std::memcpy(&real, read.value.data(), std::min(read.value.size(), sizeof(real)));
    Status set = Status::Internal("a kind that no response has");
    if (read.kind == layout::kStringParameter) set = list.Set(read.name, std::string(read.value));
    if (read.kind == layout::kIntegerParameter) set = list.Set(read.name, whole);
    if (read.kind == layout::kDoubleParameter) set = list.Set(read.name, real);
    if (read.kind == layout::kFlagParameter) set = list.Set(read.name, whole != 0);
    if (!set.ok()) return nullptr;
  }
  return list.Take();
}

// Appends the responses in a page.
inline void ReadPage(const CompletionPage& page, std::vector<PortResponse>* responses) {
  const int32_t* words = page.data();
  const auto* bytes = static_cast<const char*>(page.memory->data());
  double timings[5] = {};
  for (uint32_t at = 0; at < page.words;) {
    if (words[at] == layout::kTimings) {
      at += 1;
      at += at & 1;
      std::memcpy(timings, words + at, sizeof(timings));
      at += sizeof(timings) / 4;
      continue;
    }
    PortResponse response;
    response.slot = static_cast<uint32_t>(words[at++]);
    response.generation = static_cast<uint32_t>(words[at++]);
    const int32_t flags = words[at++];
    response.slot += static_cast<uint32_t>(words[at++]) * kPositionStep;
    const auto count = static_cast<uint32_t>(words[at++]);
    response.code = static_cast<Code>(flags & 0xff);
    response.final = (flags & layout::kFinalBit) != 0;
    response.limited = (flags & layout::kLimitedBit) != 0;
    response.unserved = (flags & layout::kUnservedBit) != 0;
    response.ran = (flags & layout::kRanBit) != 0;
    response.empty = (flags & layout::kEmptyBit) != 0;
    if (response.ran) std::memcpy(response.timings, timings, sizeof(timings));
    // In an error, this field has the reason instead of the number of outputs.
    uint32_t outputs = static_cast<uint32_t>(flags) >> 16;
    if (response.code != Code::kOk) {
      response.reason = static_cast<Reason>(outputs);
      outputs = 0;
      const int32_t offset = words[at++];
      response.message.assign(bytes + offset, static_cast<size_t>(words[at++]));
    }
    if (flags & layout::kParametersBit) {
      const int32_t offset = words[at++];
      const int32_t size = words[at++];
      response.parameters = ReadParameters({words + offset / 4, static_cast<size_t>(size) / 4});
    }
    for (uint32_t i = 0; i < outputs; i++) {
      PortResponse::Output output;
      output.index = static_cast<uint32_t>(words[at] & 0xffff);
      output.datatype = static_cast<DataType>(words[at++] >> 16);
      const int32_t offset = words[at++];
      const auto size = static_cast<uint32_t>(words[at++]);
      const auto rank = static_cast<uint32_t>(words[at++]);
      for (uint32_t dim = 0; dim < rank; dim++) output.shape.push_back(words[at++]);
      output.stored = offset <= layout::kInRegion + 1;
      output.large = offset < 0 && !output.stored;
      output.offset = offset;
      output.size = size;
      if (output.stored) {
        output.size |= static_cast<uint64_t>(offset - layout::kInRegion) << 32;
      } else if (output.large) {
        const CompletionPage::Large& large = page.large[static_cast<size_t>(~offset)];
        output.bytes.assign(static_cast<const char*>(large.data), large.size);
      } else {
        output.bytes.assign(bytes + offset, size);
      }
      response.outputs.push_back(std::move(output));
    }
    if (flags & layout::kCountedBit) {
      response.counted = StreamCount::kResponseBytes + ParameterBytes(response.parameters);
      for (const PortResponse::Output& output : response.outputs) {
        response.counted += output.large ? output.bytes.size() : output.size;
      }
    }
    response.alike = count > 1;
    for (uint32_t i = 1; i < count; i++) {
      responses->push_back(response);
      response.slot += kPositionStep;
      for (PortResponse::Output& output : response.outputs) {
        output.offset += static_cast<int32_t>(output.bytes.size());
        output.bytes.assign(bytes + output.offset, output.bytes.size());
      }
    }
    responses->push_back(std::move(response));
  }
}

}  // namespace tritonts::test
