#include "categories.h"

#include <limits>

#include "refusal.h"

namespace tritonts::fil {

CategorySets::CategorySets(size_t file_size) {
  constexpr uint64_t kAlways = 16 << 20;  // 64 MiB
  words_left_ = kAlways + uint64_t{4} * file_size;
}

void CategorySets::Take(const std::string& place, size_t count) {
  if (count > listed_left_) {
    Refuse(place + ": the sets of categories up to this one have more than the tree lists");
  }
  listed_left_ -= count;
}

void CategorySets::MakeRoom(const std::string& place, int64_t smallest, int64_t largest, Tree* tree,
                            Node* node) {
  if (smallest < 0 || largest >= int64_t{kMostCategories}) {
    Refuse(place + ": expected categories from 0 to " + std::to_string(kMostCategories - 1) +
           ", but there is " + std::to_string(smallest < 0 ? smallest : largest));
  }
  const uint64_t words = static_cast<uint64_t>(largest) / 32 + 1;
  const size_t first = tree->category_words.size();
  if (words > words_left_ || first + words > std::numeric_limits<uint32_t>::max()) {
    Refuse(place + ": its set of categories up to " + std::to_string(largest) +
           " would need more memory than a file of this size may, with all sets before it");
  }
  words_left_ -= words;
  node->first_word = static_cast<uint32_t>(first);
  node->words = static_cast<uint32_t>(words);
  tree->category_words.resize(first + words);
}

}  // namespace tritonts::fil
