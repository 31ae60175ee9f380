// An object of a runtime's library.
#pragma once

#include <utility>

namespace tritonts {

// Owns an object that a function of the library's table frees. `table` must outlive it. Not
// thread-safe.
template <typename Table, typename T, void (*Table::*kFree)(T*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(const Table& table, T* object = nullptr) : table_(&table), object_(object) {}
  ~Handle() { Reset(); }
  Handle(Handle&& other) noexcept
      : table_(other.table_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Reset();
      table_ = other.table_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_; }
  // Where a function of the library puts a new object.
  T** out() {
    Reset();
    return &object_;
  }
  void Reset() {
    if (object_) (table_->*kFree)(object_);
    object_ = nullptr;
  }

 private:
  const Table* table_ = nullptr;
  T* object_ = nullptr;
};

}  // namespace tritonts
