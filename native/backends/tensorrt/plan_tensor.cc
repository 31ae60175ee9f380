#include "plan_tensor.h"

namespace tritonts::tensorrt {

namespace {

uint64_t Difference(int64_t one, int64_t other) {
  // Unsigned arithmetic cannot overflow here.
  return one > other ? static_cast<uint64_t>(one) - static_cast<uint64_t>(other)
                     : static_cast<uint64_t>(other) - static_cast<uint64_t>(one);
}

}  // namespace

bool Bounds::Take(std::span<const int64_t> numbers) const {
  if (least.empty() && most.empty()) return true;
  if (numbers.size() != least.size() || numbers.size() != most.size()) return false;
  for (size_t i = 0; i < numbers.size(); i++)
    if (numbers[i] < least[i] || numbers[i] > most[i]) return false;
  return true;
}

uint64_t Bounds::DistanceOf(std::span<const int64_t> numbers) const {
  uint64_t distance = 0;
  for (size_t i = 0; i < numbers.size() && i < best.size(); i++) {
    const uint64_t more = distance + Difference(numbers[i], best[i]);
    distance = more < distance ? ~uint64_t{0} : more;
  }
  return distance;
}

std::string Bounds::Text() const {
  return TextOf(least) + " to " + TextOf(most);
}

std::string TextOf(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace tritonts::tensorrt
