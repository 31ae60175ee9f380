// Parsing the words of submissions, without the objects that they name.
#include "engine/port/reader.h"

#include <string>
#include <vector>

#include "check.h"

namespace tritonts::test {

namespace {

using Words = std::vector<int32_t>;

// Reads everything. Returns the first error, or the numbers of groups and inputs.
std::string Read(const Words& words) {
  SubmissionReader reader(words.data(), words.size());
  int groups = 0;
  int inputs = 0;
  while (!reader.done()) {
    GroupRecord group;
    if (const char* fault = reader.Group(&group)) return fault;
    groups++;
    for (uint32_t i = 0; i < group.inputs; i++, inputs++) {
      InputRecord input;
      if (const char* fault = reader.Input(group, &input)) return fault;
    }
    std::span<const int32_t> wanted;
    if (const char* fault = reader.Wanted(group, &wanted)) return fault;
    AttributesReader attributes;
    if (const char* fault = reader.Attributes(group, &attributes)) return fault;
    if (group.attributes == 0) continue;
    uint64_t priority = 0;
    uint64_t timeout_us = 0;
    uint32_t parameters = 0;
    if (const char* fault = attributes.Head(&priority, &timeout_us, &parameters)) return fault;
    ParameterRecord parameter;
    for (; parameters > 0; parameters--) {
      if (const char* fault = attributes.Parameter(&parameter)) return fault;
    }
  }
  return std::to_string(groups) + " groups, " + std::to_string(inputs) + " inputs";
}

}  // namespace

TEST(reader_gives_groups_inputs_and_wanted_outputs_in_turn) {
  const Words words = {7, 3, 5, 2, 1, 2, 4, 9, layout::kSlab,  1, 64, 100, 2, 4, 25, 8, 6,
                       8, 1, 1, 1, 1, 0, 0, 0, layout::kBlock, 2, 1,  16,  0};
  SubmissionReader reader(words.data(), words.size());
  GroupRecord group;
  InputRecord input;
  std::span<const int32_t> wanted;
  CHECK(reader.Group(&group) == nullptr);
  CHECK_EQ((Words{static_cast<int32_t>(group.uid), static_cast<int32_t>(group.slot),
                  static_cast<int32_t>(group.generation), static_cast<int32_t>(group.requests),
                  static_cast<int32_t>(group.inputs), static_cast<int32_t>(group.wanted),
                  static_cast<int32_t>(group.rows)}),
           (Words{7, 3, 5, 2, 1, 2, 4}));
  CHECK(reader.Input(group, &input) == nullptr);
  CHECK_EQ(input.source, layout::kSlab);
  CHECK_EQ(input.index, 9u);
  CHECK_EQ(input.place, 1u);
  CHECK_EQ(input.offset, 64u);
  CHECK_EQ(input.size, 100u);
  CHECK_EQ(Words(input.dims.begin(), input.dims.end()), (Words{4, 25}));
  CHECK(reader.Wanted(group, &wanted) == nullptr);
  CHECK_EQ(Words(wanted.begin(), wanted.end()), (Words{8, 6}));
  CHECK(!reader.done());
  CHECK(reader.Group(&group) == nullptr);
  CHECK(reader.Input(group, &input) == nullptr);
  CHECK_EQ(input.source, layout::kBlock);
  CHECK_EQ(input.place, 2u);
  CHECK_EQ(input.size, (uint64_t{1} << 32) + 16);
  CHECK(input.dims.empty());
  CHECK(reader.Wanted(group, &wanted) == nullptr);
  CHECK(wanted.empty());
  CHECK(reader.done());
}

TEST(reader_says_where_words_are_cut) {
  const Words words = {7, 3, 5, 1, 1, 1, 4, 9, layout::kSlab, 1, 64, 100, 2, 4, 25, 8};
  CHECK_EQ(Read(words), "1 groups, 1 inputs");
  for (size_t left = 1; left < words.size(); left++) {
    const char* expected = left < 7    ? "truncated record"
                           : left < 13 ? "truncated input"
                           : left < 15 ? "truncated shape"
                                       : "truncated record";
    CHECK_EQ(Read(Words(words.begin(), words.begin() + static_cast<ptrdiff_t>(left))), expected);
  }
}

TEST(reader_refuses_words_of_no_sense) {
  constexpr int32_t kSize = layout::kSlabBytes;
  CHECK_EQ(Read({1, 1, 1, 0, 0, 0, 1}), "expected 1 to 65536 requests in a group");
  CHECK_EQ(Read({1, 1, 1, 65537, 0, 0, 1}), "expected 1 to 65536 requests in a group");
  CHECK_EQ(Read({1, 1, 1, -1, 0, 0, 1}), "expected 1 to 65536 requests in a group");
  CHECK_EQ(Read({1, 1, 1, 1, 1, 0, 1, 0, 5, 0, 0, 4, 0}), "unknown input source");
  CHECK_EQ(Read({1, 1, 1, 2, 1, 0, 1, 0, layout::kBlock, 0, 0, 4, 0}),
           "one block for several requests");
  CHECK_EQ(Read({1, 1, 1, 65536, 1, 0, 1, 0, layout::kSlab, 0, 0, -1, 0}),
           "input range outside its slab");
  CHECK_EQ(Read({1, 1, 1, 2, 1, 0, 1, 0, layout::kSlab, 0, kSize - 8, 4, 0}), "1 groups, 1 inputs");
  CHECK_EQ(Read({1, 1, 1, 2, 1, 0, 1, 0, layout::kSlab, 0, kSize - 7, 4, 0}),
           "input range outside its slab");
}

}  // namespace tritonts::test
