// One direction of messages in shared memory: one reader, one writer at a time.
//
// Each side keeps its own count privately and only reads the other's. An impossible count of the
// other side marks the ring as broken: nothing is read or written any more.
//
// A reader that finds no message sets `sleeping`, looks again, and sleeps on the bell. A writer
// stores the count, and rings if `sleeping` is set. Both sequences are sequentially consistent, so
// no message is missed.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/futex.h"
#include "python/protocol.h"

namespace tritonts::python {

// Copies words that another process may modify concurrently. Each word is read once.
inline void ReadWords(void* to, const void* from, size_t words) {
  auto* target = static_cast<uint64_t*>(to);
  // Volatile: the compiler must not read a word a second time.
  const auto* source = static_cast<const volatile uint64_t*>(from);
  for (size_t i = 0; i < words; i++) target[i] = source[i];
}

// Wakes the thread that sleeps on a bell. Thread-safe.
inline void Ring(std::atomic<uint32_t>* bell) {
  bell->fetch_add(1);
  platform::FutexWake(bell);
}

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(char* memory, uint32_t slots)
      : header_(reinterpret_cast<RingHeader*>(memory)),
        slots_(reinterpret_cast<Message*>(memory + kRingHeaderBytes)),
        count_(slots) {}

  enum class Result { kWritten, kFull, kBroken };
  Result Write(const Message& message) {
    const uint32_t used = tail_ - header_->head.load(std::memory_order_acquire);
    if (used > count_) return Result::kBroken;
    if (used == count_) return Result::kFull;
    slots_[tail_ & (count_ - 1)] = message;
    header_->tail.store(++tail_);
    if (header_->sleeping.load() != 0) {
      header_->sleeping.store(0);
      Ring(&header_->bell);
    }
    return Result::kWritten;
  }
  // Sleeps until a slot may be free, for at most `timeout_ns`.
  void AwaitRoom(uint64_t timeout_ns) {
    const uint32_t bell = header_->room_bell.load();
    header_->blocked.store(1);
    if (tail_ - header_->head.load() == count_) {
      platform::FutexWait(&header_->room_bell, bell, timeout_ns);
    }
    header_->blocked.store(0);
  }
  // Wakes the reader's sleeping thread if unread messages remain: the JS thread that polled may be
  // busy with other work.
  void Nudge() {
    if (header_->head.load(std::memory_order_acquire) != tail_) Ring(&header_->bell);
  }
  // The number of messages written.
  uint32_t written() const { return tail_; }
  // The number of messages read, as the reader reports it.
  uint32_t read() const { return header_->head.load(std::memory_order_acquire); }

 private:
  RingHeader* header_ = nullptr;
  Message* slots_ = nullptr;
  uint32_t count_ = 0;
  uint32_t tail_ = 0;
};

// Peek and Done: one thread at a time. Another thread may Sleep.
class RingReader {
 public:
  RingReader() = default;
  RingReader(char* memory, uint32_t slots)
      : header_(reinterpret_cast<RingHeader*>(memory)),
        slots_(reinterpret_cast<const Message*>(memory + kRingHeaderBytes)),
        count_(slots) {}
  // Only before the first use.
  RingReader& operator=(const RingReader& other) {
    header_ = other.header_;
    slots_ = other.slots_;
    count_ = other.count_;
    head_.store(0, std::memory_order_relaxed);
    return *this;
  }

  enum class Result { kMessage, kNone, kBroken };
  // Copies the next message. Its slot stays occupied until Done.
  Result Peek(Message* message) const {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    const uint32_t used = header_->tail.load(std::memory_order_acquire) - head;
    if (used > count_) return Result::kBroken;
    if (used == 0) return Result::kNone;
    ReadWords(message, slots_ + (head & (count_ - 1)), sizeof(Message) / 8);
    return Result::kMessage;
  }
  // Frees the slot of the message, and lets the writer reuse memory that belongs to it.
  void Done() {
    const uint32_t head = head_.load(std::memory_order_relaxed) + 1;
    head_.store(head, std::memory_order_relaxed);
    header_->head.store(head);
    if (header_->blocked.load() != 0) Ring(&header_->room_bell);
  }
  // A hint: whether there is a message.
  bool HasMessage() const { return IsAhead(std::memory_order_acquire); }
  // Sleeps until there may be a message, until `stay_awake` returns true, or for `timeout_ns`.
  template <typename StayAwake>
  void Sleep(uint64_t timeout_ns, const StayAwake& stay_awake) {
    const uint32_t bell = header_->bell.load();
    header_->sleeping.store(1);
    if (!IsAhead(std::memory_order_seq_cst) && !stay_awake()) {
      platform::FutexWait(&header_->bell, bell, timeout_ns);
    }
    header_->sleeping.store(0);
  }
  // Wakes the reader for another reason than a message. Thread-safe.
  void Wake() { Ring(&header_->bell); }

  // Another thread polls from now on, so the writer need not wake the sleeping one.
  void Watch() {
    if (header_->sleeping.load(std::memory_order_relaxed) != 0) header_->sleeping.store(0);
  }
  // The other thread stops polling.
  void Unwatch() {
    header_->sleeping.store(1);
    if (IsAhead(std::memory_order_seq_cst)) Wake();
  }

 private:
  bool IsAhead(std::memory_order order) const {
    return header_->tail.load(order) != head_.load(std::memory_order_relaxed);
  }

  RingHeader* header_ = nullptr;
  const Message* slots_ = nullptr;
  uint32_t count_ = 0;
  std::atomic<uint32_t> head_{0};
};

}  // namespace tritonts::python
