// The words of faults that several backends report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/base/status.h"

namespace tritonts {

// Prefixes an error with its subject, such as "input" and its name. Throws std::bad_alloc.
inline Status About(const char* what, const std::string& name, const Status& status) {
  if (status.ok()) return status;
  return status.With(std::string(what) + " '" + name + "': " + status.message());
}

inline Status NoMemoryFor(size_t bytes) {
  return Status::Unavailable(Reason::kNoMemory,
                             "no memory for " + std::to_string(bytes) + " bytes");
}

// Checks that an output of a batch, of this shape, has the rows of the batch. INTERNAL, with what
// to write in the configuration.
inline Status CheckRows(std::span<const int64_t> shape, uint32_t rows) {
  if (!shape.empty() && shape[0] == int64_t{rows}) return Status::Ok();
  return Status::Internal(
      "expected " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
      ", as the batch has, but the model returned " +
      (shape.empty() ? "a tensor without dimensions" : std::to_string(shape[0])) +
      ": a model that does not keep the rows of its inputs cannot be batched. Write "
      "max_batch_size: 0 and whole shapes as dims in config.pbtxt");
}

}  // namespace tritonts
