#include "ports.h"

#include <algorithm>

namespace tritonts::openvino {

namespace {

StatusOr<PortFacts> ReadPort(const Library& library, const OvPort* port) {
  const Table& table = library.table();
  PortFacts facts;
  char* name = nullptr;
  // Fails for a port without a name.
  if (table.port_get_any_name(port, &name) == kOvOk && name) {
    facts.name = name;
    table.free(name);
  }
  Status status = library.Take(table.port_get_element_type(port, &facts.element));
  if (!status.ok()) return status;
  OvPartialShape shape{};
  status = library.Take(table.port_get_partial_shape(port, &shape));
  if (!status.ok()) return status;
  facts.has_rank = shape.rank.is_static();
  for (int64_t i = 0; facts.has_rank && i < shape.rank.max; i++) {
    facts.dims.push_back(shape.dims[i].is_static() ? shape.dims[i].max : -1);
    facts.bounds.push_back(shape.dims[i]);
  }
  table.partial_shape_free(&shape);
  return facts;
}

}  // namespace

bool PortFacts::IsStatic(size_t first) const {
  return has_rank && dims.size() >= first &&
         std::none_of(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end(),
                      [](int64_t dim) { return dim < 0; });
}

StatusOr<std::vector<PortFacts>> ReadPorts(const Library& library, const OvModel* model,
                                           Side side) {
  const Table& table = library.table();
  const bool input = side == Side::kInput;
  size_t count = 0;
  Status status = library.Take(input ? table.model_inputs_size(model, &count)
                                     : table.model_outputs_size(model, &count));
  std::vector<PortFacts> ports;
  for (size_t i = 0; status.ok() && i < count; i++) {
    Port port(table);
    status = library.Take(input ? table.model_const_input_by_index(model, i, port.out())
                                : table.model_const_output_by_index(model, i, port.out()));
    if (!status.ok()) break;
    auto facts = ReadPort(library, port.get());
    if (!facts.ok()) return facts.status();
    ports.push_back(facts.take());
  }
  if (!status.ok()) return status;
  return ports;
}

std::string ListedName(const Library& library, const OvModel* model, Side side,
                       const std::string& name) {
  const Table& table = library.table();
  Port port(table);
  const int result = side == Side::kInput
                         ? table.model_const_input_by_name(model, name.c_str(), port.out())
                         : table.model_const_output_by_name(model, name.c_str(), port.out());
  char* listed = nullptr;
  if (result != kOvOk || table.port_get_any_name(port.get(), &listed) != kOvOk || !listed)
    return "";
  const std::string text = listed;
  table.free(listed);
  return text;
}

Status Reshape(const Library& library, const OvModel* model, const std::vector<PortFacts>& inputs,
               const Shapes& shapes) {
  Shapes dims = shapes;
  std::vector<OvPartialShape> partial;
  std::vector<const char*> names;
  for (size_t i = 0; i < shapes.size(); i++) {
    if (!inputs[i].has_rank) continue;
    const auto rank = static_cast<int64_t>(dims[i].size());
    partial.push_back({{rank, rank}, dims[i].data()});
    names.push_back(inputs[i].name.c_str());
  }
  if (names.empty()) return Status::Ok();
  return library.Take(
      library.table().model_reshape(model, names.data(), partial.data(), names.size()));
}

}  // namespace tritonts::openvino
