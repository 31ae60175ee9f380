// Objects that TensorRT calls. Their virtual functions are in TensorRT's order.
#pragma once

#include <cstdint>

namespace tritonts::tensorrt {

// The base of objects that report their interface's name.
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
