// The tensors of a plan, and the shapes that its optimisation profiles accept.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/datatype.h"

namespace tritonts::tensorrt {

// What a profile accepts for an input: shapes, or the values of a shape tensor. Empty: the plan has
// no bounds, so everything is accepted.
struct Bounds {
  std::vector<int64_t> least;
  std::vector<int64_t> best;
  std::vector<int64_t> most;

  bool Take(std::span<const int64_t> numbers) const;
  // The distance from the optimal numbers.
  uint64_t DistanceOf(std::span<const int64_t> numbers) const;
  // "[1,4] to [8,4]"
  std::string Text() const;
};

struct PlanTensor {
  std::string name;
  bool is_input = false;
  DataType datatype = DataType::kInvalid;
  std::string type_name;
  std::vector<int64_t> dims;  // -1: dynamic
  bool on_host = false;       // a shape tensor, whose values are read or written on the host
  // For inputs, by profile.
  std::vector<Bounds> shapes;
  std::vector<Bounds> values;  // of a shape tensor
};

std::string TextOf(std::span<const int64_t> shape);

}  // namespace tritonts::tensorrt
