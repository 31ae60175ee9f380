#include "transform.h"

#include <algorithm>
#include <cmath>

namespace tritonts::fil {

namespace {

// The float whose exp is just below the greatest float.
constexpr float kMostExponent = 88.7F;

float Sigmoid(float margin, double alpha) {
  const float exponent = std::min(-static_cast<float>(alpha) * margin, kMostExponent);
  return 1.0F / (std::exp(exponent) + 1.0F + 1e-16F);
}

double Sigmoid(double margin, double alpha) {
  return 1.0 / (1.0 + std::exp(-alpha * margin));
}

template <typename Value>
void Softmax(Value* margins, size_t count) {
  const Value most = *std::max_element(margins, margins + count);
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    margins[i] = std::exp(margins[i] - most);
    sum += margins[i];
  }
  for (size_t i = 0; i < count; i++) margins[i] /= static_cast<Value>(sum);
}

template <typename Value>
size_t TransformAll(const CompiledForest& forest, Value* margins, size_t count) {
  const auto each = [&](auto change) {
    for (size_t i = 0; i < count; i++) margins[i] = change(margins[i]);
    return count;
  };
  switch (forest.transform) {
    case Transform::kIdentity:
      break;
    case Transform::kSigmoid:
      return each([&](Value m) { return Sigmoid(m, forest.sigmoid_alpha); });
    case Transform::kSoftmax:
      Softmax(margins, count);
      break;
    case Transform::kMaxIndex:
      margins[0] = static_cast<Value>(std::max_element(margins, margins + count) - margins);
      return 1;
    case Transform::kExp:
      return each([](Value m) { return std::exp(m); });
    case Transform::kExpRatio:
      return each([&](Value m) { return std::exp2(-m / forest.ratio_c); });
    case Transform::kHinge:
      return each([](Value m) { return Value{m > 0 ? 1.0F : 0.0F}; });
    case Transform::kSignedSquare:
      return each([](Value m) { return std::copysign(m * m, m); });
    case Transform::kLog1pExp:
      return each([](Value m) { return std::log1p(std::exp(m)); });
  }
  return count;
}

}  // namespace

size_t TransformMargins(const CompiledForest& forest, float* margins, size_t count) {
  return TransformAll(forest, margins, count);
}

size_t TransformMargins(const CompiledForest& forest, double* margins, size_t count) {
  return TransformAll(forest, margins, count);
}

}  // namespace tritonts::fil
