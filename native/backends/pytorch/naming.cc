#include "naming.h"

#include <algorithm>
#include <charconv>

namespace tritonts::pytorch {

namespace {

// The index of each name; empty: not all have one.
std::vector<uint32_t> IndexesIn(const std::vector<TensorSpec>& tensors) {
  std::vector<uint32_t> indexes;
  for (const TensorSpec& tensor : tensors) {
    const auto index = IndexIn(tensor.name);
    if (!index) return {};
    indexes.push_back(*index);
  }
  return indexes;
}

// The index of each name among the arguments; empty: not all are there.
std::vector<uint32_t> PlacesOf(const std::vector<TensorSpec>& inputs,
                               const std::vector<std::string>& arguments) {
  std::vector<uint32_t> places;
  for (const TensorSpec& input : inputs) {
    const auto found = std::find(arguments.begin(), arguments.end(), input.name);
    if (found == arguments.end()) return {};
    places.push_back(static_cast<uint32_t>(found - arguments.begin()));
  }
  return places;
}

std::vector<uint32_t> InOrder(size_t count) {
  std::vector<uint32_t> order(count);
  for (size_t i = 0; i < count; i++) order[i] = static_cast<uint32_t>(i);
  return order;
}

}  // namespace

std::optional<uint32_t> IndexIn(std::string_view name) {
  const size_t mark = name.find("__");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(mark + 2);
  if (digits.empty()) return 0;
  uint32_t index = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, index);
  if (last != end || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  // Too many digits are an index that no model has.
  return error == std::errc() ? index : UINT32_MAX;
}

StatusOr<std::vector<uint32_t>> ArgumentsOf(const std::vector<TensorSpec>& inputs,
                                            const std::vector<std::string>& arguments) {
  std::vector<uint32_t> found = PlacesOf(inputs, arguments);
  if (found.empty()) found = IndexesIn(inputs);
  if (found.empty()) found = InOrder(inputs.size());
  std::vector<const std::string*> takers(arguments.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (found[i] >= arguments.size()) {
      return Status::InvalidArg("input '" + inputs[i].name + "' is the argument " +
                                std::to_string(found[i]) + " of forward, which has " +
                                std::to_string(arguments.size()));
    }
    const std::string*& taker = takers[found[i]];
    if (taker) {
      return Status::InvalidArg("inputs '" + *taker + "' and '" + inputs[i].name +
                                "' are the same argument of forward, '" + arguments[found[i]] +
                                "'");
    }
    taker = &inputs[i].name;
  }
  return found;
}

std::vector<uint32_t> ValuesOf(const std::vector<TensorSpec>& outputs) {
  std::vector<uint32_t> found = IndexesIn(outputs);
  return found.empty() ? InOrder(outputs.size()) : found;
}

}  // namespace tritonts::pytorch
