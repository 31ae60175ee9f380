// The result of an operation: ok, or one of Triton's error codes with a message.
//
// Errors cross every boundary of the engine as values of this type, not as exceptions. Making a
// status with a message allocates memory; copying it does not. So a status that reports a lack of
// memory is made in advance, or is NoMemory. Different threads may use copies of a status.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace tritonts {

// src/addon/native/status.ts has the same numbers.
enum class Code : uint8_t {
  kOk = 0,
  kUnknown = 1,
  kInternal = 2,
  kNotFound = 3,
  kInvalidArg = 4,
  kUnavailable = 5,
  kUnsupported = 6,
  kAlreadyExists = 7,
  kCancelled = 8,
};

// The reasons of UNAVAILABLE. src/errors.ts documents them; src/addon/status.ts has the same
// numbers.
enum class Reason : uint8_t {
  kNone = 0,
  kQueueFull = 1,
  kTimedOut = 2,
  kClosed = 3,
  kNotReady = 4,
  kTooMuchInFlight = 5,
  kNoMemory = 6,
  kMissing = 7,
  kInstanceEnded = 8,
  kUnread = 9,
  kCircularCall = 10,
  kDeviceLost = 11,
  // Only JavaScript makes errors with higher numbers. A model may pass them on.
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, Reason reason = Reason::kNone)
      : code_(code),
        reason_(reason),
        message_(std::make_shared<const std::string>(std::move(message))) {}

  static Status Ok() { return {}; }
  static Status Internal(std::string message) { return {Code::kInternal, std::move(message)}; }
  static Status InvalidArg(std::string message) { return {Code::kInvalidArg, std::move(message)}; }
  static Status Unavailable(Reason reason, std::string message) {
    return {Code::kUnavailable, std::move(message), reason};
  }
  static Status Unsupported(std::string message) {
    return {Code::kUnsupported, std::move(message)};
  }
  static Status NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
  static Status Cancelled(std::string message) { return {Code::kCancelled, std::move(message)}; }
  // UNAVAILABLE with the message "no memory". Does not allocate.
  static Status NoMemory() noexcept {
    Status status;
    status.code_ = Code::kUnavailable;
    status.reason_ = Reason::kNoMemory;
    return status;
  }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  // Makes a status from a model's message and number (see number()). Unknown codes become INTERNAL.
  static Status Said(uint64_t number, std::string message) {
    const auto code = number & 0xff;
    if (code == 0 || code > static_cast<uint64_t>(Code::kCancelled)) {
      return Internal(std::move(message));
    }
    return {static_cast<Code>(code), std::move(message), static_cast<Reason>(number >> 8 & 0xff)};
  }
  Reason reason() const { return reason_; }
  // Code and reason as one number, for JavaScript. src/addon/status.ts decodes it.
  int32_t number() const {
    return static_cast<int32_t>(code_) | static_cast<int32_t>(reason_) << 8;
  }
  // The same with another message.
  Status With(std::string message) const { return {code_, std::move(message), reason_}; }
  // Whether `other` is a copy of this status.
  bool SameAs(const Status& other) const {
    return code_ == other.code_ && reason_ == other.reason_ && message_ == other.message_;
  }
  const std::string& message() const {
    // The union is never destroyed, because threads may outlive static destructors. The strings are
    // short enough not to allocate.
    static const union Texts {
      Texts() : all{"", "no memory"} {}
      ~Texts() {}
      std::string all[2];
    } texts;
    return message_ ? *message_ : texts.all[ok() ? 0 : 1];
  }

 private:
  Code code_ = Code::kOk;
  Reason reason_ = Reason::kNone;
  std::shared_ptr<const std::string> message_;  // null: ok, or NoMemory
};

// Returns the status that `make` returns, or NoMemory if there is no memory for its message.
template <typename Make>
Status MakeStatus(Make&& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return Status::NoMemory();
  }
}

// A value, or the status with the reason why there is no value.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  StatusOr(Status status) : value_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(value_); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }
  T& value() { return std::get<T>(value_); }
  T&& take() { return std::move(std::get<T>(value_)); }

 private:
  std::variant<T, Status> value_;
};

}  // namespace tritonts
