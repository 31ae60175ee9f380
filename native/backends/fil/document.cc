#include "document.h"

#include "refusal.h"

namespace tritonts::fil {

void Document::Skip() {
  const size_t outer = levels_.size();
  std::string name;
  SkipOrBegin();
  while (levels_.size() > outer) {
    if (levels_.back().is_object ? NextMember(&name) : NextElement()) SkipOrBegin();
  }
}

std::string Document::Place() const {
  std::string place;
  for (const Level& level : levels_) {
    if (level.is_object) {
      if (level.name.empty()) continue;
      if (!place.empty()) place += '.';
      const std::string shown = Shown(level.name);
      place += shown.substr(1, shown.size() - 2);
    } else if (level.index >= 0) {
      place += '[' + std::to_string(level.index) + ']';
    }
  }
  return place.empty() ? "the document" : place;
}

void Document::Push(bool is_object) {
  constexpr size_t kDeepest = 64;
  if (levels_.size() == kDeepest) {
    Refuse(Place() + ": expected at most " + std::to_string(kDeepest) +
           " objects and arrays inside each other");
  }
  levels_.emplace_back().is_object = is_object;
}

}  // namespace tritonts::fil
