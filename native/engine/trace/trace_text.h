// Writes traces as JSON. Any thread may call the functions. They throw std::bad_alloc.
#pragma once

#include <string>

#include "engine/trace/trace_log.h"

namespace tritonts {

// Appends the objects of a trace in the form of Triton's trace files, separated by commas, without
// the brackets around them:
//   {"id":1,"model_name":"m","model_version":1},{"id":1,"timestamps":[{"name":"…","ns":1}]},…
void AppendTriton(const TraceLog& log, std::string* text);

// Appends one object for each request, children before their parents, separated by commas:
//   {"id":1,"parent_id":0,"model_name":"m","model_version":1,"request_id":"","context":"",
//    "offset_ns":"1","timestamps":[{"name":"REQUEST_START","ns":"1"},…],"error":"…"}
void AppendSpans(const TraceLog& log, std::string* text);

}  // namespace tritonts
