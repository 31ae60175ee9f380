// Objects that TensorRT calls. Their virtual functions are in the order in which it expects them.
#pragma once

#include <cstdint>

namespace tritonts::tensorrt {

// The beginning of those that tell what they are.
class NamedObject {
 public:
  struct Interface {
    const char* kind;
    int32_t major;
    int32_t minor;
  };

  explicit NamedObject(const char* kind) : kind_(kind) {}
  virtual int32_t Language() const noexcept { return 0; }  // C++
  virtual Interface Kind() const noexcept { return {kind_, 1, 0}; }
  virtual ~NamedObject() = default;
  NamedObject(const NamedObject&) = delete;
  NamedObject& operator=(const NamedObject&) = delete;

 private:
  const char* const kind_;
};

}  // namespace tritonts::tensorrt
