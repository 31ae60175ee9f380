// The vector that stores its first elements inside itself.
#include "engine/base/small_vector.h"

#include <memory>
#include <numeric>
#include <span>

#include "check.h"

namespace tritonts::test {

namespace {

using Small = SmallVector<int64_t, 2>;

std::vector<int64_t> Elements(const Small& small) {
  const std::span<const int64_t> all = small;
  return {all.begin(), all.end()};
}

}  // namespace

TEST(small_vector_keeps_its_elements_in_order_when_it_grows) {
  Small small;
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 10; i++) {
    small.push_back(i);
    expected.push_back(i);
    CHECK_EQ(Elements(small), expected);
    CHECK_EQ(small.front(), 0);
    CHECK_EQ(small.back(), i);
  }
}

TEST(small_vector_is_assigned_few_and_many) {
  Small small;
  for (const size_t count : {0, 1, 2, 3, 9, 2, 0, 3, 1}) {
    std::vector<int64_t> values(count);
    std::iota(values.begin(), values.end(), 5);
    small = values;
    CHECK_EQ(Elements(small), values);
    Small copy;
    copy.push_back(77);
    copy = small;
    small.clear();
    CHECK(small.empty());
    CHECK_EQ(Elements(copy), values);
  }
}

TEST(small_vector_lets_go_of_what_it_held) {
  const auto shared = std::make_shared<int>(7);
  SmallVector<std::shared_ptr<int>, 2> small;
  for (const int count : {1, 2, 3, 5}) {
    for (int i = 0; i < count; i++) small.push_back(shared);
    CHECK_EQ(shared.use_count(), count + 1);
    small.clear();
    CHECK_EQ(shared.use_count(), 1);
  }
}

}  // namespace tritonts::test
