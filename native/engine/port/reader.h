// Reads the words of a submission (port_layout.h): groups of requests, and their inputs. Looks at
// the words alone; what they name (versions, slots, slabs, blocks) is for its caller to know.
//
// For each group in turn: Group, then Input as often as it has inputs, then Wanted. Each returns
// null, or what is wrong with the words; then there is nothing more to read. No allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/port/port_layout.h"

namespace tritonts {

struct GroupRecord {
  static constexpr uint32_t kMostRequests = 1u << 16;

  uint32_t uid;  // of the model version
  uint32_t slot;
  uint32_t generation;
  uint32_t requests;  // 1 to kMostRequests
  uint32_t inputs;
  uint32_t wanted;
  uint32_t rows;  // of each request; 0 without a batch dimension
};

// An input of a group's requests.
struct InputRecord {
  uint32_t index;
  bool in_block;    // else in a slab
  uint32_t place;   // number of the slab, or id of the block
  uint32_t offset;  // of the first request's bytes in the slab; 0 for a block
  uint64_t size;    // bytes of one request
  std::span<const int32_t> dims;
};

class SubmissionReader {
 public:
  SubmissionReader(const int32_t* words, size_t count) : words_(words, count) {}

  bool done() const { return words_.empty(); }
  // Those that are not read.
  std::span<const int32_t> words() const { return words_; }
  const char* Group(GroupRecord* group) {
    if (words_.size() < kGroupWords) return "a record is cut";
    group->uid = Word(0);
    group->slot = Word(1);
    group->generation = Word(2);
    group->requests = Word(3);
    group->inputs = Word(4);
    group->wanted = Word(5);
    group->rows = Word(6);
    Skip(kGroupWords);
    if (group->requests == 0 || group->requests > GroupRecord::kMostRequests) {
      return "a group of no size that may be";
    }
    return nullptr;
  }

  const char* Input(const GroupRecord& group, InputRecord* input) {
    if (words_.size() < kInputWords) return "an input is cut";
    input->index = Word(0);
    const int32_t source = words_[1];
    input->place = Word(2);
    input->offset = Word(3);
    input->size = Word(4);
    const size_t rank = Word(5);
    Skip(kInputWords);
    if (rank > words_.size()) return "a shape is cut";
    input->dims = words_.first(rank);
    Skip(rank);
    input->in_block = source == layout::kBlock;
    if (input->in_block) {
      if (group.requests > 1) return "a block for several requests";
      input->size |= uint64_t{input->offset} << 32;
      input->offset = 0;
      return nullptr;
    }
    if (source != layout::kSlab) return "an unknown source";
    if (input->offset > layout::kSlabBytes ||
        input->size * group.requests > layout::kSlabBytes - input->offset) {
      return "a range outside of its slab";
    }
    return nullptr;
  }

  const char* Wanted(const GroupRecord& group, std::span<const int32_t>* wanted) {
    if (group.wanted > words_.size()) return "a record is cut";
    *wanted = words_.first(group.wanted);
    Skip(group.wanted);
    return nullptr;
  }

 private:
  // Words of a record before its inputs, and of an input before its dims.
  static constexpr size_t kGroupWords = 7;
  static constexpr size_t kInputWords = 6;

  uint32_t Word(size_t index) const { return static_cast<uint32_t>(words_[index]); }
  void Skip(size_t count) { words_ = words_.subspan(count); }

  std::span<const int32_t> words_;  // that are left
};

}  // namespace tritonts
