// Reads the words of a submission (port_layout.h): groups of requests and their inputs. It checks
// only the words. The caller checks the versions, slots, slabs, blocks and regions that they
// name.
//
// For each group call Group, then Target once for each target, then Input once for each input, then
// Wanted, then Attributes, then Mark once for each request if the group is marked. Each returns
// null, or a message that says what is wrong; then reading must stop. Does not allocate.
// Used by the JS thread. The words are borrowed from the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/port/port_layout.h"

namespace tritonts {

struct GroupRecord {
  static constexpr uint32_t kMostRequests = 1u << 16;

  uint32_t uid;  // of the model version
  uint32_t slot;
  uint32_t generation;
  uint32_t requests;  // 1 to kMostRequests
  uint32_t inputs;
  uint32_t targets;
  uint32_t wanted;
  uint32_t attributes;  // words that its attributes take
  uint32_t rows;        // of each request; 0: the model has no batch dimension
  bool marked;          // the requests have sequences
};

// An output that goes to a region.
struct TargetRecord {
  uint32_t output;
  uint32_t region;
  uint64_t offset;    // of the first request's place
  uint64_t capacity;  // bytes of one request's place
};

// An input of a group's requests.
struct InputRecord {
  uint32_t index;
  int32_t source;   // layout::kSlab, kBlock or kRegion
  uint32_t place;   // number of the slab, or id of the block or region
  uint64_t offset;  // of the first request's bytes; 0 for a block
  uint64_t size;    // bytes of one request
  std::span<const int32_t> dims;
};

// The sequence of a request.
struct MarkRecord {
  int32_t flags;
  uint64_t number;
  std::string_view text;  // not empty: the id is the text
};

struct ParameterRecord {
  int32_t kind;
  std::string_view name;
  std::string_view value;  // raw bytes
};

// Reads what a group's record has besides inputs: priority, time-out and parameters.
class AttributesReader {
 public:
  AttributesReader() = default;
  explicit AttributesReader(std::span<const int32_t> words) : words_(words) {}

  // Called first. Reads priority, time-out and the number of parameters.
  const char* Head(uint64_t* priority, uint64_t* timeout_us, uint32_t* parameters) {
    if (words_.size() < kHeadWords) return "truncated attributes";
    *priority = Long(0);
    *timeout_us = Long(2);
    *parameters = static_cast<uint32_t>(words_[4]);
    words_ = words_.subspan(kHeadWords);
    // Each parameter takes at least one word.
    return *parameters > words_.size() ? "truncated parameters" : nullptr;
  }
  // Whether all words were read.
  bool done() const { return words_.empty(); }
  // Also reads parameters that stand alone, without what Head reads.
  const char* Parameter(ParameterRecord* parameter) {
    if (words_.size() < 3) return "truncated parameter";
    parameter->kind = words_[0];
    const auto name = static_cast<uint32_t>(words_[1]);
    const auto value = static_cast<uint32_t>(words_[2]);
    words_ = words_.subspan(3);
    if (!Bytes(name, &parameter->name) || !Bytes(value, &parameter->value)) {
      return "truncated parameter";
    }
    const bool known = parameter->kind == layout::kStringParameter ||
                       (parameter->kind == layout::kFlagParameter && value == 4) ||
                       (parameter->kind == layout::kCallerParameter && value == 4) ||
                       ((parameter->kind == layout::kIntegerParameter ||
                         parameter->kind == layout::kDoubleParameter ||
                         parameter->kind == layout::kTraceParameter) &&
                        value == 8);
    return known ? nullptr : "unknown parameter kind";
  }

 private:
  static constexpr size_t kHeadWords = 5;

  uint64_t Long(size_t index) const {
    return static_cast<uint32_t>(words_[index]) | uint64_t{static_cast<uint32_t>(words_[index + 1])}
                                                      << 32;
  }
  bool Bytes(uint64_t size, std::string_view* bytes) {
    const uint64_t words = (size + 3) / 4;
    if (words > words_.size()) return false;
    *bytes = {reinterpret_cast<const char*>(words_.data()), static_cast<size_t>(size)};
    words_ = words_.subspan(words);
    return true;
  }

  std::span<const int32_t> words_;  // not read yet
};

class SubmissionReader {
 public:
  SubmissionReader(const int32_t* words, size_t count) : words_(words, count) {}

  bool done() const { return words_.empty(); }
  // The words that were not read yet.
  std::span<const int32_t> words() const { return words_; }
  const char* Group(GroupRecord* group) {
    if (words_.size() < kGroupWords) return "truncated record";
    group->uid = Word(0);
    group->slot = Word(1);
    group->generation = Word(2);
    group->requests = Word(3) & ~static_cast<uint32_t>(layout::kMarkedBit);
    group->marked = (Word(3) & layout::kMarkedBit) != 0;
    group->inputs = Word(4) & 0xffff;
    group->targets = Word(4) >> 16;
    group->wanted = Word(5) & 0xffff;
    group->attributes = Word(5) >> 16;
    group->rows = Word(6);
    Skip(kGroupWords);
    if (group->requests == 0 || group->requests > GroupRecord::kMostRequests) {
      return "expected 1 to 65536 requests in a group";
    }
    return nullptr;
  }

  const char* Target(TargetRecord* target) {
    if (words_.size() < kTargetWords) return "truncated target";
    *target = {Word(0), Word(1), Long(2, 3), Long(4, 5)};
    Skip(kTargetWords);
    return nullptr;
  }

  const char* Input(const GroupRecord& group, InputRecord* input) {
    if (words_.size() < kInputWords) return "truncated input";
    input->index = Word(0);
    input->source = words_[1];
    input->place = Word(2);
    input->offset = Word(3);
    input->size = Word(4);
    const size_t rank = Word(5);
    if (input->source == layout::kRegion) {
      if (words_.size() < kRegionInputWords) return "truncated input";
      input->offset = Long(3, 6);
      input->size = Long(4, 7);
      Skip(kRegionInputWords);
    } else {
      Skip(kInputWords);
    }
    if (rank > words_.size()) return "truncated shape";
    input->dims = words_.first(rank);
    Skip(rank);
    if (input->source == layout::kRegion) return nullptr;
    if (input->source == layout::kBlock) {
      if (group.requests > 1) return "one block for several requests";
      input->size |= input->offset << 32;
      input->offset = 0;
      return nullptr;
    }
    if (input->source != layout::kSlab) return "unknown input source";
    if (input->offset > layout::kSlabBytes ||
        input->size * group.requests > layout::kSlabBytes - input->offset) {
      return "input range outside its slab";
    }
    return nullptr;
  }

  // The attributes are empty if the group's record has none.
  const char* Attributes(const GroupRecord& group, AttributesReader* attributes) {
    if (group.attributes > words_.size()) return "truncated record";
    *attributes = AttributesReader(words_.first(group.attributes));
    Skip(group.attributes);
    return nullptr;
  }

  const char* Mark(MarkRecord* mark) {
    if (words_.empty()) return "truncated sequence";
    const size_t bytes = Word(0) >> 8;
    const size_t size = bytes == 0 ? 2 : (bytes + 3) / 4;
    mark->flags = static_cast<int32_t>(Word(0) & 0xff);
    Skip(1);
    if (size > words_.size()) return "truncated sequence";
    mark->number = bytes == 0 ? Long(0, 1) : 0;
    mark->text = {reinterpret_cast<const char*>(words_.data()), bytes};
    Skip(size);
    return nullptr;
  }

  const char* Wanted(const GroupRecord& group, std::span<const int32_t>* wanted) {
    if (group.wanted > words_.size()) return "truncated record";
    *wanted = words_.first(group.wanted);
    Skip(group.wanted);
    return nullptr;
  }

 private:
  // Number of words of a record before its inputs, and of an input before its dims.
  static constexpr size_t kGroupWords = 7;
  static constexpr size_t kInputWords = 6;
  static constexpr size_t kRegionInputWords = 8;
  static constexpr size_t kTargetWords = 6;

  uint32_t Word(size_t index) const { return static_cast<uint32_t>(words_[index]); }
  uint64_t Long(size_t low, size_t high) const { return Word(low) | uint64_t{Word(high)} << 32; }
  void Skip(size_t count) { words_ = words_.subspan(count); }

  std::span<const int32_t> words_;  // not read yet
};

}  // namespace tritonts
