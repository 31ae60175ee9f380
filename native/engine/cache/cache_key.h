// The key of a request in the response cache: everything that its answer may depend on.
//
//   scope, wanted outputs, parameters, each input's index, datatype, shape and size | the bytes
//   '----------------------- the same for all requests of a header ------------------'
//
// The scope has the uid of the version, which is never assigned twice. So it stands for the
// namespace, the name and the number of the model, and for the load: a reloaded model has another
// one. It also has a generation, because an ensemble may be bound to other versions. The inputs are
// in the order of the model's inputs. Priority and time-out are not in the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/key_hash.h"
#include "engine/request/request.h"

namespace tritonts {

// The part of the key that the requests of a header share. Not thread-safe, and used again for
// other headers.
class KeyHead {
 public:
  KeyHead(uint64_t scope, uint64_t seed) : scope_(scope), seed_(seed), hasher_(seed) {}
  KeyHead(const KeyHead&) = delete;
  KeyHead& operator=(const KeyHead&) = delete;

  // Whether requests of this header have a key. Requests of sequences have none, because their
  // answers depend on other requests. Nor have requests whose inputs another process or a device
  // may write to after the key was made, or that use regions.
  static bool Has(const RequestHeader& header);

  // Writes the head of a header. Throws std::bad_alloc.
  void Set(const RequestHeader& header);

  std::span<const char> bytes() const { return {data_, size_}; }
  // The hash of the key of a request of the header.
  KeyHash HashOf(const Request& request) const;
  // The hash of a sample of such a key: its head, small inputs, and the ends and further blocks of
  // large inputs. Equal keys have equal samples. 0: the key is small, and its hash takes no longer.
  uint64_t SampleOf(const Request& request) const;
  // The size of such a key.
  size_t SizeOf(const Request& request) const;
  // Writes such a key, which has SizeOf bytes.
  void Write(const Request& request, char* to) const;
  // Whether a key is that of the request.
  bool Equals(const Request& request, std::span<const char> key) const;

 private:
  void Put(const void* data, size_t size);
  template <typename T>
  void PutValue(T value) {
    Put(&value, sizeof(value));
  }

  // More than most heads have, so that a look-up allocates nothing.
  static constexpr size_t kFewBytes = 192;

  const uint64_t scope_;
  const uint64_t seed_;
  KeyHasher hasher_;  // has hashed the head
  // The head: in `few_`, or in `many_` if it is longer.
  char* data_ = few_;
  size_t size_ = 0;
  size_t capacity_ = kFewBytes;
  std::vector<char> many_;
  char few_[kFewBytes];
};

}  // namespace tritonts
