// Plays the JavaScript side of a port: slots, the words of submissions, and pages of responses. It
// uses only port_layout.h. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/port/port.h"
#include "engine/server/server.h"
#include "engine_fixture.h"
#include "page_reader.h"

namespace tritonts::test {

// A range of a region; in a group, that of its first request.
struct PortRange {
  uint32_t region = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct PortInput {
  uint32_t index = 0;
  std::vector<int32_t> shape;
  std::string bytes;                    // in a group, of all its requests
  std::optional<PortRange> range = {};  // if the bytes are in a region
};

struct PortTarget {
  uint32_t output = 0;
  PortRange range;
};

// Takes at most `most` published pages.
inline std::vector<CompletionPage*> TakePages(Port& port, size_t most = layout::kMostPages) {
  std::vector<CompletionPage*> pages(most);
  pages.resize(port.TakePages(pages));
  return pages;
}

class PortClient {
 public:
  // Write returns the slot, plus this times the position in its group.
  static constexpr uint32_t kPosition = kPositionStep;
  // A request's small inputs go to a separate range of a slab.
  static constexpr size_t kRangeBytes = 4096;

  // With `copies` it uses copies of the slabs, as if external buffers were forbidden.
  explicit PortClient(const std::shared_ptr<Server>& server, bool copies = false)
      : copies_(copies), signal_(std::make_shared<Signal>()) {
    port_ = server->Attach([signal = signal_] { signal->Raise(); });
  }
  ~PortClient() {
    if (port_) Detach();
  }

  Port& port() { return *port_; }

  // From now on, a request of one input that fits the previous request's group joins it, while the
  // range has room. Not for strings.
  void WriteGroups() { write_groups_ = true; }

  // From now on it looks for responses as long as the port asks for that.
  void LookForResponses() { looks_ = true; }

  // Writes a request, or a group of `requests`, and returns its slot and position (kPosition).
  // Flush submits it.
  uint32_t Write(uint32_t uid, uint32_t rows, const std::vector<PortInput>& inputs,
                 const std::vector<uint32_t>& wanted = {},
                 const std::vector<PortTarget>& targets = {}, uint32_t requests = 1) {
    size_t bytes = 0;
    for (const PortInput& input : inputs) bytes = Aligned(bytes) + input.bytes.size();
    Like like{uid, rows, {}, wanted};
    for (const PortInput& input : inputs) {
      like.inputs.push_back({input.index, input.shape, input.bytes.size()});
    }
    if (write_groups_ && targets.empty() && inputs.size() == 1 && rows > 0 && !words_.empty() &&
        like == like_ && (left_[last_] + 1) * bytes <= kRangeBytes) {
      return AppendToGroup(inputs.front().bytes);
    }
    const uint32_t slot = TakeSlot();
    like_ = std::move(like);
    last_ = slot;
    record_at_ = words_.size();
    left_[slot] = requests;
    Append({uid, slot, ++generations_[slot], requests,
            static_cast<uint32_t>(inputs.size() | targets.size() << 16),
            static_cast<uint32_t>(wanted.size()), rows});
    for (const auto& [output, range] : targets) {
      Append({output, range.region, Low(range.offset), High(range.offset), Low(range.size),
              High(range.size)});
    }
    size_t offset = (slot * kRangeBytes) % layout::kSlabBytes;
    const size_t slab = slot * kRangeBytes / layout::kSlabBytes;
    for (const PortInput& input : inputs) {
      const auto rank = static_cast<uint32_t>(input.shape.size());
      if (input.range) {
        const auto& [region, begin, size] = *input.range;
        Append({input.index, layout::kRegion, region, Low(begin), Low(size), rank, High(begin),
                High(size)});
        words_.insert(words_.end(), input.shape.begin(), input.shape.end());
        continue;
      }
      if (bytes <= kRangeBytes) {
        while (port_->inputs().slabs() <= slab) AddSlab();
        offset = Aligned(offset);
        std::memcpy(Slab(slab) + offset, input.bytes.data(), input.bytes.size());
        Append({input.index, layout::kSlab, static_cast<uint32_t>(slab),
                static_cast<uint32_t>(offset),
                static_cast<uint32_t>(input.bytes.size() / requests)});
        offset += input.bytes.size();
      } else {
        uint32_t id = 0;
        Block* block = port_->inputs().Stage(input.bytes.size(), &id);
        std::memcpy(block->data(), input.bytes.data(), input.bytes.size());
        Append({input.index, layout::kBlock, id, 0, static_cast<uint32_t>(input.bytes.size())});
      }
      Append({rank});
      words_.insert(words_.end(), input.shape.begin(), input.shape.end());
    }
    Append(wanted);
    return slot;
  }

  // Submits the written requests. With `run`, short batches may run here.
  Status Flush(bool run = false) {
    const std::vector<int32_t> words = std::exchange(words_, {});
    if (words.empty()) return Status::Ok();
    return Submit(words, run);
  }
  // Submits these words unchanged.
  Status Submit(const std::vector<int32_t>& words, bool run = false) {
    std::vector<const char*> sources;
    for (const auto& copy : slab_copies_) sources.push_back(copy.get());
    bool answered = false;
    const Status status = port_->Submit(words.data(), words.size(),
                                        copies_ ? sources.data() : nullptr, run, &answered);
    if (answered) signal_->Raise();
    return status;
  }
  std::vector<int32_t>& words() { return words_; }

  // Cancels one request.
  void Cancel(uint32_t slot) {
    port_->Cancel(slot % kPosition, generations_[slot % kPosition], slot / kPosition, 1);
  }
  // Cancels its whole group.
  void CancelGroup(uint32_t slot) {
    port_->Cancel(slot % kPosition, generations_[slot % kPosition], 0, ~0u);
  }
  uint32_t generation(uint32_t slot) const { return generations_[slot % kPosition]; }

  // Acts like JavaScript after a wake-up: submits, acknowledges the epoch, takes responses.
  std::vector<PortResponse> Take() {
    signal_->Lower();
    CHECK(Flush().ok());
    const uint32_t epoch = HeaderWord(layout::kEpoch);
    std::array<CompletionPage*, layout::kMostPages> pages;
    const size_t taken = port_->TakePages(pages);
    port_->Acknowledge(epoch);
    std::vector<PortResponse> responses;
    for (CompletionPage* page : std::span(pages).first(taken)) {
      most_pages_ = std::max(most_pages_, page->id + 1);
      ReadPage(*page, &responses);
      port_->Recycle(page);
    }
    for (const PortResponse& response : responses) {
      if (reads_ && response.counted > 0) Read(response);
      const uint32_t slot = response.slot % kPosition;
      if (response.final && --left_[slot] == 0) free_.push_back(slot);
    }
    return responses;
  }
  // Reports that a response to a request of a decoupled model was read. Take does so itself, unless
  // ReadSlowly was called.
  void Read(const PortResponse& response) {
    port_->Read(response.slot % kPosition, response.generation, response.slot / kPosition, 1,
                response.counted);
  }
  void ReadSlowly() { reads_ = false; }
  // Takes responses until there are `count`; fewer on timeout.
  std::vector<PortResponse> Take(size_t count) {
    std::vector<PortResponse> responses = TakeAtLeast(count);
    CHECK_EQ(responses.size(), count);
    return responses;
  }
  // The same, but also returns further responses that came with the last of them.
  std::vector<PortResponse> TakeAtLeast(size_t count) {
    CHECK(Flush().ok());
    std::vector<PortResponse> responses;
    while (responses.size() < count && WaitForWake(kPatience)) {
      std::vector<PortResponse> some = Take();
      std::move(some.begin(), some.end(), std::back_inserter(responses));
    }
    CHECK(responses.size() >= count);
    return responses;
  }
  // Whether it was woken or found responses within the time.
  bool WaitForWake(std::chrono::nanoseconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (looks_ && !WasWoken()) {
      const Looked looked = port_->Look();
      if (looked == Looked::kSomething) return true;
      if (looked == Looked::kAsleep) break;
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return signal_->Wait(end - std::chrono::steady_clock::now());
  }
  bool WasWoken() { return signal_->Wait(std::chrono::nanoseconds(0)); }

  // The largest page id so far, plus 1.
  uint32_t most_pages() const { return most_pages_; }

  // A header word.
  uint32_t HeaderWord(size_t index) const {
    return static_cast<uint32_t>(port_->header_word(index).load(std::memory_order_acquire));
  }

  void AddSlab() {
    CHECK(port_->inputs().AddSlab() != nullptr);
    if (copies_) slab_copies_.push_back(std::make_unique<char[]>(layout::kSlabBytes));
  }
  void Detach() { port_->Detach(); }
  // Drops the port, as when its JavaScript object is collected.
  std::weak_ptr<Port> Release() {
    std::weak_ptr<Port> weak = port_;
    Detach();
    port_ = nullptr;
    return weak;
  }

 private:
  class Signal {
   public:
    void Raise() {
      std::lock_guard lock(mutex_);
      up_ = true;
      changed_.notify_all();
    }
    void Lower() {
      std::lock_guard lock(mutex_);
      up_ = false;
    }
    bool Wait(std::chrono::nanoseconds most) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, most, [this] { return up_; });
    }

   private:
    std::mutex mutex_;  // guards up_
    std::condition_variable changed_;
    bool up_ = false;
  };

  // The properties that requests in one record share.
  struct Like {
    struct Input {
      uint32_t index;
      std::vector<int32_t> shape;
      size_t size;
      bool operator==(const Input&) const = default;
    };
    uint32_t uid = 0;
    uint32_t rows = 0;
    std::vector<Input> inputs;
    std::vector<uint32_t> wanted;
    bool operator==(const Like&) const = default;
  };

  // Appends a request to the last group.
  uint32_t AppendToGroup(const std::string& bytes) {
    const uint32_t position = left_[last_]++;
    int32_t* record = words_.data() + record_at_;
    record[3]++;
    const int32_t* input = record + 7;
    std::memcpy(Slab(static_cast<size_t>(input[2])) + input[3] + position * bytes.size(),
                bytes.data(), bytes.size());
    return last_ + position * kPosition;
  }

  static uint32_t Low(uint64_t number) { return static_cast<uint32_t>(number); }
  static uint32_t High(uint64_t number) { return static_cast<uint32_t>(number >> 32); }
  static size_t Aligned(size_t offset) { return (offset + 63) & ~size_t{63}; }
  void Append(const std::vector<uint32_t>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  char* Slab(size_t number) {
    return copies_ ? slab_copies_[number].get()
                   : static_cast<char*>(port_->inputs().slab(number)->data());
  }
  uint32_t TakeSlot() {
    if (free_.empty()) {
      generations_.push_back(0);
      left_.push_back(0);
      return static_cast<uint32_t>(generations_.size() - 1);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  const bool copies_;
  const std::shared_ptr<Signal> signal_;
  std::shared_ptr<Port> port_;
  std::vector<std::unique_ptr<char[]>> slab_copies_;
  std::vector<int32_t> words_;
  bool write_groups_ = false;
  bool looks_ = false;
  bool reads_ = true;
  Like like_;                          // of the last record
  uint32_t last_ = 0;                  // its slot
  size_t record_at_ = 0;               // its position in the words
  std::vector<uint32_t> generations_;  // by slot
  std::vector<uint32_t> left_;         // by slot: requests without a final response
  std::vector<uint32_t> free_;
  uint32_t most_pages_ = 0;
};

}  // namespace tritonts::test
