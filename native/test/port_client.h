// Plays the JavaScript side of a port: slots, the words of submissions, and pages of answers. Knows
// the words from port_layout.h alone. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/port/port.h"
#include "engine/server/server.h"
#include "engine_fixture.h"

namespace tritonts::test {

struct PortInput {
  uint32_t index = 0;
  std::vector<int32_t> shape;
  std::string bytes;
};

struct PortAnswer {
  struct Output {
    uint32_t index = 0;
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> shape;
    std::string bytes;
    bool large = false;
    int32_t offset = 0;  // in its page
  };
  uint32_t slot = 0;  // as PortClient::Write returned it
  uint32_t generation = 0;
  Code code = Code::kOk;
  std::string message;
  std::vector<Output> outputs;
  bool final = false;
  bool limited = false;
  bool unserved = false;
  bool ran = false;
  bool alike = false;      // one of several of a record
  double timings[5] = {};  // of its batch; only where it ran
};

// Takes finished pages, at most so many.
inline std::vector<CompletionPage*> TakePages(Port& port, size_t most = layout::kMostPages) {
  std::vector<CompletionPage*> pages(most);
  pages.resize(port.TakePages(pages));
  return pages;
}

class PortClient {
 public:
  // What Write returns is a slot, and times this a part of it.
  static constexpr uint32_t kPosition = 1u << 20;
  // A request's small inputs go to its own stretch of a slab.
  static constexpr size_t kRangeBytes = 4096;

  // `copies`: as where external buffers are forbidden, with slabs of our own.
  explicit PortClient(const std::shared_ptr<Server>& server, bool copies = false)
      : copies_(copies), signal_(std::make_shared<Signal>()) {
    port_ = server->Attach([signal = signal_] { signal->Raise(); });
  }
  ~PortClient() {
    if (port_) Detach();
  }

  Port& port() { return *port_; }

  // From now on requests of one input that are like the one written before become of its group,
  // while its stretch has room. Not for strings.
  void WriteGroups() { write_groups_ = true; }

  // From now on it looks for answers as long as the port wants that.
  void LookForAnswers() { looks_ = true; }

  // Writes a request; returns its slot, and which of its requests it is. Flush sends it.
  uint32_t Write(uint32_t uid, uint32_t rows, const std::vector<PortInput>& inputs,
                 const std::vector<uint32_t>& wanted = {}) {
    size_t bytes = 0;
    for (const PortInput& input : inputs) bytes = Aligned(bytes) + input.bytes.size();
    Like like{uid, rows, {}, wanted};
    for (const PortInput& input : inputs) {
      like.inputs.push_back({input.index, input.shape, input.bytes.size()});
    }
    if (write_groups_ && inputs.size() == 1 && rows > 0 && !words_.empty() && like == like_ &&
        (left_[last_] + 1) * bytes <= kRangeBytes) {
      return AppendToGroup(inputs.front().bytes);
    }
    const uint32_t slot = TakeSlot();
    like_ = std::move(like);
    last_ = slot;
    record_at_ = words_.size();
    left_[slot] = 1;
    Append({uid, slot, ++generations_[slot], 1, static_cast<uint32_t>(inputs.size()),
            static_cast<uint32_t>(wanted.size()), rows});
    size_t offset = (slot * kRangeBytes) % layout::kSlabBytes;
    const size_t slab = slot * kRangeBytes / layout::kSlabBytes;
    for (const PortInput& input : inputs) {
      if (bytes <= kRangeBytes) {
        while (port_->inputs().slabs() <= slab) AddSlab();
        offset = Aligned(offset);
        std::memcpy(Slab(slab) + offset, input.bytes.data(), input.bytes.size());
        Append({input.index, layout::kSlab, static_cast<uint32_t>(slab),
                static_cast<uint32_t>(offset), static_cast<uint32_t>(input.bytes.size())});
        offset += input.bytes.size();
      } else {
        uint32_t id = 0;
        Block* block = port_->inputs().Stage(input.bytes.size(), &id);
        std::memcpy(block->data(), input.bytes.data(), input.bytes.size());
        Append({input.index, layout::kBlock, id, 0, static_cast<uint32_t>(input.bytes.size())});
      }
      Append({static_cast<uint32_t>(input.shape.size())});
      words_.insert(words_.end(), input.shape.begin(), input.shape.end());
    }
    Append(wanted);
    return slot;
  }

  // Sends what was written; with `run`, short batches may run here.
  Status Flush(bool run = false) {
    const std::vector<int32_t> words = std::exchange(words_, {});
    if (words.empty()) return Status::Ok();
    return Submit(words, run);
  }
  // Sends words as they are.
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

  // The request alone.
  void Cancel(uint32_t slot) {
    port_->Cancel(slot % kPosition, generations_[slot % kPosition], slot / kPosition, 1);
  }
  // All of its group.
  void CancelGroup(uint32_t slot) {
    port_->Cancel(slot % kPosition, generations_[slot % kPosition], 0, ~0u);
  }
  uint32_t generation(uint32_t slot) const { return generations_[slot % kPosition]; }

  // What JavaScript does when it is woken: sends, acknowledges, takes the answers.
  std::vector<PortAnswer> Take() {
    signal_->Lower();
    CHECK(Flush().ok());
    const uint32_t epoch = HeaderWord(layout::kEpoch);
    std::array<CompletionPage*, layout::kMostPages> pages;
    const size_t taken = port_->TakePages(pages);
    port_->Acknowledge(epoch);
    std::vector<PortAnswer> answers;
    for (CompletionPage* page : std::span(pages).first(taken)) {
      most_pages_ = std::max(most_pages_, page->id + 1);
      Read(*page, &answers);
      port_->Recycle(page);
    }
    for (const PortAnswer& answer : answers) {
      const uint32_t slot = answer.slot % kPosition;
      if (answer.final && --left_[slot] == 0) free_.push_back(slot);
    }
    return answers;
  }
  // Takes answers until there are `count`; fewer when it took too long.
  std::vector<PortAnswer> Take(size_t count) {
    CHECK(Flush().ok());
    std::vector<PortAnswer> answers;
    while (answers.size() < count && WaitForWake(kPatience)) {
      std::vector<PortAnswer> some = Take();
      std::move(some.begin(), some.end(), std::back_inserter(answers));
    }
    CHECK_EQ(answers.size(), count);
    return answers;
  }
  // Whether there was a wake-up within the time, or something was found.
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

  // How many pages had to be told apart so far.
  uint32_t most_pages() const { return most_pages_; }

  // Words for JavaScript.
  uint32_t HeaderWord(size_t index) const {
    return static_cast<uint32_t>(port_->header_word(index).load(std::memory_order_acquire));
  }

  void AddSlab() {
    CHECK(port_->inputs().AddSlab() != nullptr);
    if (copies_) slab_copies_.push_back(std::make_unique<char[]>(layout::kSlabBytes));
  }
  // Adds what a page has to the answers.
  static void Read(const CompletionPage& page, std::vector<PortAnswer>* answers) {
    const int32_t* words = page.data();
    const auto* bytes = static_cast<const char*>(page.memory->data());
    double timings[5] = {};
    for (uint32_t at = 0; at < page.words;) {
      if (words[at] == layout::kTimings) {
        at += 1;
        at += at & 1;
        std::memcpy(timings, words + at, sizeof(timings));
        at += sizeof(timings) / 4;
        continue;
      }
      PortAnswer answer;
      answer.slot = static_cast<uint32_t>(words[at++]);
      answer.generation = static_cast<uint32_t>(words[at++]);
      const int32_t flags = words[at++];
      answer.slot += static_cast<uint32_t>(words[at++]) * kPosition;
      const auto count = static_cast<uint32_t>(words[at++]);
      answer.code = static_cast<Code>(flags & 0xff);
      answer.final = (flags & layout::kFinalBit) != 0;
      answer.limited = (flags & layout::kLimitedBit) != 0;
      answer.unserved = (flags & layout::kUnservedBit) != 0;
      answer.ran = (flags & layout::kRanBit) != 0;
      if (answer.ran) std::memcpy(answer.timings, timings, sizeof(timings));
      if (answer.code != Code::kOk) {
        const int32_t offset = words[at++];
        answer.message.assign(bytes + offset, static_cast<size_t>(words[at++]));
      }
      for (uint32_t i = 0; i < static_cast<uint32_t>(flags) >> 16; i++) {
        PortAnswer::Output output;
        output.index = static_cast<uint32_t>(words[at] & 0xffff);
        output.datatype = static_cast<DataType>(words[at++] >> 16);
        const int32_t offset = words[at++];
        const auto size = static_cast<size_t>(words[at++]);
        const auto rank = static_cast<uint32_t>(words[at++]);
        for (uint32_t dim = 0; dim < rank; dim++) output.shape.push_back(words[at++]);
        output.large = offset < 0;
        output.offset = offset;
        if (output.large) {
          const CompletionPage::Large& large = page.large[static_cast<size_t>(~offset)];
          output.bytes.assign(static_cast<const char*>(large.data), large.size);
        } else {
          output.bytes.assign(bytes + offset, size);
        }
        answer.outputs.push_back(std::move(output));
      }
      answer.alike = count > 1;
      for (uint32_t i = 1; i < count; i++) {
        answers->push_back(answer);
        answer.slot += kPosition;
        for (PortAnswer::Output& output : answer.outputs) {
          output.offset += static_cast<int32_t>(output.bytes.size());
          output.bytes.assign(bytes + output.offset, output.bytes.size());
        }
      }
      answers->push_back(std::move(answer));
    }
  }

  void Detach() { port_->Detach(); }
  // Lets go of the port, as the collection of its JavaScript object does.
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

  // What requests have in common that one record stands for.
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

  // One more request of the group that was written last.
  uint32_t AppendToGroup(const std::string& bytes) {
    const uint32_t position = left_[last_]++;
    int32_t* record = words_.data() + record_at_;
    record[3]++;
    const int32_t* input = record + 7;
    std::memcpy(Slab(static_cast<size_t>(input[2])) + input[3] + position * bytes.size(),
                bytes.data(), bytes.size());
    return last_ + position * kPosition;
  }

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
  Like like_;                          // what the last record is, for one part
  uint32_t last_ = 0;                  // its slot
  size_t record_at_ = 0;               // its place
  std::vector<uint32_t> generations_;  // by slot
  std::vector<uint32_t> left_;         // by slot: requests that are not finally answered
  std::vector<uint32_t> free_;
  uint32_t most_pages_ = 0;
};

}  // namespace tritonts::test
