// The inputs and outputs of a model that OpenVINO has read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "library.h"

namespace tritonts::openvino {

enum class Side { kInput, kOutput };

struct PortFacts {
  std::string name;  // "": it has none
  int element = -1;  // the library's number of its element type
  bool has_rank = true;
  std::vector<int64_t> dims;        // -1: dynamic
  std::vector<OvDimension> bounds;  // the same with the bounds of dynamic dims

  // The most rows in the first dim; -1: no limit.
  int64_t most_rows() const { return bounds.empty() ? -1 : bounds[0].max; }

  // Whether all dims from `first` on are static.
  bool IsStatic(size_t first = 0) const;
};

// Reads the ports in their order.
StatusOr<std::vector<PortFacts>> ReadPorts(const Library& library, const OvModel* model, Side side);

// The name by which ReadPorts lists the port that has this name: a port may have several. Empty: no
// port has it.
std::string ListedName(const Library& library, const OvModel* model, Side side,
                       const std::string& name);

using Shapes = std::vector<std::vector<OvDimension>>;

// Gives the inputs, by their order, other shapes. The model's other shapes follow. INTERNAL with
// the library's text if that is not possible; then the model may be changed in part.
Status Reshape(const Library& library, const OvModel* model, const std::vector<PortFacts>& inputs,
               const Shapes& shapes);

}  // namespace tritonts::openvino
