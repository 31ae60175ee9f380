// What was recorded of a trace: time stamps and tensors of a request, and of those that it caused.
// A plain value; its owner may change it, and any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/datatype.h"

namespace tritonts {

// The time stamps of the engine. The names in files are those of Triton, such as "QUEUE_START".
enum class TraceMoment : uint8_t {
  kRequestStart,
  kQueueStart,
  kComputeStart,
  kComputeInputEnd,
  kComputeOutputStart,
  kComputeEnd,
  kRequestEnd,
};

std::string_view Name(TraceMoment moment);

struct TraceEvent {
  enum class Kind : uint8_t {
    kRequest,  // the request begins; `index` in `requests`
    kMoment,
    kNote,    // a time stamp of a front end; `index` in `texts`
    kTensor,  // `index` in `tensors`
    kError,   // the request failed; `index` in `texts`
  };
  uint64_t id = 0;  // of the request
  uint64_t ns = 0;  // NowNs' clock
  uint32_t index = 0;
  Kind kind = Kind::kMoment;
  TraceMoment moment = TraceMoment::kRequestStart;
};

struct TracedBegin {
  uint64_t parent = 0;  // 0: none
  std::string model;
  int64_t version = 0;
  std::string request_id;
};

struct TracedTensor {
  const char* activity = "";  // a literal
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;  // empty if they are in the memory of a device
};

struct TraceLog {
  uint64_t root = 0;     // the id of the outermost request
  std::string context;   // of the caller, as a traceparent; empty: none
  uint64_t wall_ns = 0;  // add to NowNs' clock: nanoseconds since 1970
  bool timestamps = false;
  std::vector<TraceEvent> events;  // in the order of their arrival
  std::vector<TracedBegin> requests;
  std::vector<std::string> texts;
  std::vector<TracedTensor> tensors;
  // About the bytes of memory that it takes.
  size_t bytes = 0;
};

}  // namespace tritonts
