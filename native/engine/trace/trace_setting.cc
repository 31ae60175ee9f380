#include "engine/trace/trace_setting.h"

#include <utility>

#include "engine/trace/trace_writer.h"

namespace tritonts {

TraceSetting::TraceSetting(Options given, std::shared_ptr<TraceWriter> to)
    : options(std::move(given)),
      writer(std::move(to)),
      number(writer->Begin(options.file, options.log_frequency, options.spans)),
      left(options.left) {}

TraceSetting::~TraceSetting() {
  writer->End(number);
}

}  // namespace tritonts
