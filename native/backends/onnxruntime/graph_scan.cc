#include "graph_scan.h"

#include <set>
#include <utility>

#include "../common/wire_reader.h"
#include "operators.h"

namespace tritonts::onnxruntime {

namespace {

// Limits for malformed files: the length of a name, the depth of nested graphs, and the number of
// unknown operators.
constexpr size_t kLongestName = 256;
constexpr int kDeepest = 50;
constexpr size_t kMostUnknown = 4096;

// The field numbers of onnx.proto that lead to operators.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kModelFunctions = 25;
constexpr uint32_t kGraphNode = 1;
constexpr uint32_t kFunctionName = 1;
constexpr uint32_t kFunctionNode = 7;
constexpr uint32_t kFunctionDomain = 10;
constexpr uint32_t kNodeOperator = 4;
constexpr uint32_t kNodeAttribute = 5;
constexpr uint32_t kNodeDomain = 7;
constexpr uint32_t kAttributeGraph = 6;
constexpr uint32_t kAttributeGraphs = 11;

// Makes a name readable that may contain any bytes.
std::string Readable(std::string name) {
  constexpr size_t kShown = 64;
  if (name.size() > kShown) name = name.substr(0, kShown) + "...";
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name;
}

class Scan {
 public:
  explicit Scan(WireReader* reader) : reader_(*reader) {}

  GraphFacts Model() {
    WireField field;
    bool has_graph = false;
    while (reader_.Next(reader_.size(), &field)) {
      const uint64_t end = reader_.position() + field.length;
      if (field.number == kModelGraph && field.has_length) {
        has_graph = true;
        Graph(end, 0);
      } else if (field.number == kModelFunctions && field.has_length) {
        Function(end);
      } else {
        reader_.Skip(field.length);
      }
    }
    if (too_deep_) return UnknownGraph("the model has graphs too deep in each other to look into");
    if (reader_.failed() || !has_graph) {
      return UnknownGraph("the operators in the model's file cannot be read");
    }
    for (const auto& [domain, name] : unknown_) {
      if (functions_.contains({domain, name})) continue;
      Note({false, true, true}, "the model has the operator " + Readable(name) +
                                    " of the domain '" + Readable(domain) +
                                    "', which is not ONNX's");
      break;
    }
    return facts_;
  }

 private:
  using Operator = std::pair<std::string, std::string>;  // domain and name

  void Graph(uint64_t end, int depth) {
    WireField field;
    while (reader_.Next(end, &field)) {
      if (field.number == kGraphNode && field.has_length) {
        Node(reader_.position() + field.length, depth);
      } else {
        reader_.Skip(field.length);
      }
    }
  }

  void Function(uint64_t end) {
    WireField field;
    Operator function;
    while (reader_.Next(end, &field)) {
      if (field.number == kFunctionNode && field.has_length) {
        Node(reader_.position() + field.length, 0);
      } else if (field.number == kFunctionName && field.has_length) {
        reader_.Text(field, kLongestName, &function.second);
      } else if (field.number == kFunctionDomain && field.has_length) {
        reader_.Text(field, kLongestName, &function.first);
      } else {
        reader_.Skip(field.length);
      }
    }
    if (functions_.size() < kMostUnknown) functions_.insert(std::move(function));
  }

  void Node(uint64_t end, int depth) {
    WireField field;
    Operator op;
    while (reader_.Next(end, &field)) {
      if (field.number == kNodeAttribute && field.has_length) {
        Attribute(reader_.position() + field.length, depth);
      } else if (field.number == kNodeOperator && field.has_length) {
        reader_.Text(field, kLongestName, &op.second);
      } else if (field.number == kNodeDomain && field.has_length) {
        reader_.Text(field, kLongestName, &op.first);
      } else {
        reader_.Skip(field.length);
      }
    }
    if (reader_.failed()) return;
    const OperatorTraits traits = TraitsOf(op.first, op.second);
    if (traits.known) {
      if (traits.rows_vary || traits.time_varies) {
        Note(traits, "the model has the operator " + op.second);
      }
    } else if (unknown_.size() < kMostUnknown) {
      unknown_.insert(std::move(
          op));  // it may still be one of the model's functions, which may come later in the file
    } else {
      Note(traits, "the model has too many operators that are not ONNX's");
    }
  }

  void Attribute(uint64_t end, int depth) {
    WireField field;
    while (reader_.Next(end, &field)) {
      const bool is_graph = field.number == kAttributeGraph || field.number == kAttributeGraphs;
      if (!is_graph || !field.has_length) {
        reader_.Skip(field.length);
      } else if (depth < kDeepest) {
        Graph(reader_.position() + field.length, depth + 1);
      } else {
        too_deep_ = true;
        reader_.Skip(field.length);
      }
    }
  }

  void Note(const OperatorTraits& traits, const std::string& reason) {
    if (traits.rows_vary && facts_.rows_vary.empty()) facts_.rows_vary = reason;
    if (traits.time_varies && facts_.time_varies.empty()) facts_.time_varies = reason;
  }

  WireReader& reader_;
  GraphFacts facts_;
  std::set<Operator> functions_;
  std::set<Operator> unknown_;
  bool too_deep_ = false;
};

GraphFacts ScanWith(WireReader* reader, bool is_runtime_format) {
  // Files in the runtime's own format have this mark at offset 4.
  if (is_runtime_format || reader->SeesAt(4, "ORTM")) {
    return UnknownGraph(
        "the model's file has ONNX Runtime's own format (.ort), whose operators are not looked at");
  }
  return Scan(reader).Model();
}

}  // namespace

GraphFacts UnknownGraph(const std::string& reason) {
  return {reason, reason};
}

GraphFacts ScanGraph(const std::filesystem::path& file) {
  WireReader reader(file);
  return ScanWith(&reader, file.extension() == ".ort");
}

GraphFacts ScanGraph(std::string_view bytes) {
  WireReader reader(bytes);
  return ScanWith(&reader, false);
}

}  // namespace tritonts::onnxruntime
