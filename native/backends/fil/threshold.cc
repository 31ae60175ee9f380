#include "threshold.h"

#include <cmath>
#include <limits>

namespace tritonts::fil {

namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The smallest float that is not less than a number.
float AtLeast(double number) {
  if (number > double{kLargest}) return kInfinity;
  if (number < -double{kLargest}) return std::isinf(number) ? -kInfinity : -kLargest;
  const auto nearest = static_cast<float>(number);
  return double{nearest} < number ? std::nextafter(nearest, kInfinity) : nearest;
}

// The smallest float that is greater than a number, which is not infinity.
float Above(double number) {
  const float at_least = AtLeast(number);
  return double{at_least} > number ? at_least : std::nextafter(at_least, kInfinity);
}

void Set(float threshold, uint32_t left, uint32_t right, bool missing_left, Node* node) {
  node->test = Node::Test::kLess;
  node->threshold = threshold;
  node->left = left;
  node->right = right;
  node->missing_left = missing_left;
}

}  // namespace

void SetComparison(Comparison comparison, double threshold, uint32_t yes, uint32_t no,
                   bool missing_is_yes, Node* node) {
  switch (comparison) {
    case Comparison::kLess:
      return Set(AtLeast(threshold), yes, no, missing_is_yes, node);
    case Comparison::kLessOrEqual:
      // Every value is at most infinity, and none is less than its negative.
      if (threshold == double{kInfinity}) return Set(-kInfinity, no, yes, !missing_is_yes, node);
      return Set(Above(threshold), yes, no, missing_is_yes, node);
    case Comparison::kGreater:
      return SetComparison(Comparison::kLessOrEqual, threshold, no, yes, !missing_is_yes, node);
    case Comparison::kGreaterOrEqual:
      return SetComparison(Comparison::kLess, threshold, no, yes, !missing_is_yes, node);
  }
}

}  // namespace tritonts::fil
