// Sets of categories, as bits, and the limits of their sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "forest.h"

namespace tritonts::fil {

// Categories are less than this. Rows are float, which has no larger whole number but with gaps.
constexpr uint32_t kMostCategories = 1u << 24;

// Adds sets to trees. Sets of a few large categories need more memory than they take in a file, so
// the whole is limited: a malformed file must not exhaust the memory.
class CategorySets {
 public:
  explicit CategorySets(size_t file_size);

  // Begins a tree whose file lists this many categories. Its sets must not share any, or a small
  // file could take any time.
  void BeginTree(size_t listed) { listed_left_ = listed; }

  // Gives a node the set of the `count` categories that `list` has from `begin` on. Throws a
  // Refusal that begins with `place`.
  template <typename List>
  void Add(const std::string& place, const List& list, size_t begin, size_t count, Tree* tree,
           Node* node) {
    Take(place, count);
    if (count == 0) return;  // no word: nothing is in the set
    int64_t smallest = list[begin];
    int64_t largest = smallest;
    for (size_t i = begin; i < begin + count; i++) {
      smallest = std::min<int64_t>(smallest, list[i]);
      largest = std::max<int64_t>(largest, list[i]);
    }
    MakeRoom(place, smallest, largest, tree, node);
    uint32_t* words = tree->category_words.data() + node->first_word;
    for (size_t i = begin; i < begin + count; i++) {
      const auto category = static_cast<uint32_t>(list[i]);
      words[category / 32] |= uint32_t{1} << category % 32;
    }
  }

 private:
  void Take(const std::string& place, size_t count);
  void MakeRoom(const std::string& place, int64_t smallest, int64_t largest, Tree* tree,
                Node* node);

  uint64_t words_left_;
  size_t listed_left_ = 0;
};

}  // namespace tritonts::fil
