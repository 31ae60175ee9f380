// The form in which an answer is stored in a cache outside of the engine (remote_cache.h).
//
//   offset  bytes
//        0      8  "tritonts"
//        8      4  the number of this form, 1
//       12      4  the number of outputs
//       16      8  the size of all
//       24      8  the size of the key
//       32     16  a hash of all other bytes
//       48         the key: the length of the version's identity, the identity, and the key of the
//                  request (cache_key.h) with scope 0
//                  each output: index, datatype, number of dims, rows (-1: no batch dimension),
//                  size; its dims; its bytes
//
// Numbers are little endian. The identity is a text that stands for the content of a version, with
// the names and the order of its tensors: the numbers of inputs and outputs mean the same wherever
// it is equal.
//
// The bytes may be anything that others have written under our keys. Reading them never fails but
// by saying that they are no answer to this request: the hash finds damage, the key is compared
// with the request byte by byte, and no size is believed. Nothing here blocks. Any thread may call
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/small_vector.h"
#include "engine/cache/cache_key.h"
#include "engine/request/model_io.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// The seed of hashes that are compared between processes.
constexpr uint64_t kStoredSeed = 0;

class StoredAnswer {
 public:
  // Begins a stored answer with the key of a request. Empty: there is no memory.
  static std::string Begin(std::string_view identity, const KeyHead& head,
                           const Request& request) noexcept;
  // The size of what Begin returns.
  static size_t SizeOfKey(std::string_view identity, const KeyHead& head, const Request& request);
  // Adds the outputs, which lie in host memory, to what Begin has made. False: they cannot be
  // stored, because they do not fit `io` or the request's `rows`, or more than `most` bytes would
  // result, or there is no memory.
  static bool Finish(const ModelIo& io, uint32_t rows, std::span<const OutputTensor> outputs,
                     size_t most, std::string* stored) noexcept;

  // Reads a stored answer. False: it is not the answer to this request. Throws std::bad_alloc.
  bool Read(std::span<const char> stored, std::string_view identity, const KeyHead& head,
            const Request& request, const ModelIo& io);
  // The outputs, whose bytes are those of `stored`. They are not aligned.
  std::span<OutputTensor> outputs() { return {outputs_.data(), outputs_.size()}; }

 private:
  std::vector<OutputTensor> outputs_;
  std::vector<int64_t> dims_;
};

}  // namespace tritonts
