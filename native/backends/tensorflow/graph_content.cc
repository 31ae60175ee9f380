#include "graph_content.h"

#include <algorithm>
#include <utility>

#include "../common/wire_reader.h"

namespace tritonts::tensorflow {

namespace {

// Limits for malformed bytes: the length of a name, and the depth of attributes in each other.
constexpr size_t kLongestName = 4096;
constexpr int kDeepest = 8;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : reader_(bytes) {}

  GraphContent MetaGraph() {
    Message(reader_.size(), [this](const WireField& field) {
      if (field.number == 2) return Graph(End(field));
      if (field.number != 5) return false;
      std::string name;
      Signature signature;
      Entry(End(field), &name, [&](uint64_t end) { ReadSignature(end, &signature); });
      content_.signatures[name] = std::move(signature);
      return true;
    });
    return Finish();
  }

  GraphContent Alone() {
    Graph(reader_.size());
    return Finish();
  }

 private:
  GraphContent Finish() {
    content_.readable = content_.readable && !reader_.failed();
    return std::move(content_);
  }

  uint64_t End(const WireField& field) const { return reader_.position() + field.length; }

  // Calls `take` with each field that has a length. It reads the field and returns true, or returns
  // false, and the field is skipped.
  template <typename Take>
  bool Message(uint64_t end, const Take& take) {
    WireField field;
    while (reader_.Next(end, &field)) {
      if (field.has_length && !take(field)) reader_.Skip(field.length);
    }
    return true;
  }

  std::string Text(const WireField& field) {
    std::string text;
    reader_.Text(field, kLongestName, &text);
    if (field.length > kLongestName) content_.readable = false;
    return text;
  }

  // An entry of a map with names as keys.
  template <typename Value>
  void Entry(uint64_t end, std::string* key, const Value& value) {
    Message(end, [&](const WireField& field) {
      if (field.number == 1) *key = Text(field);
      if (field.number == 2) value(End(field));
      return field.number == 1 || field.number == 2;
    });
  }

  void ReadSignature(uint64_t end, Signature* signature) {
    Message(end, [&](const WireField& field) {
      if (field.number != 1 && field.number != 2) return false;
      SignatureTensor tensor;
      Entry(End(field), &tensor.name, [&](uint64_t inner) { ReadTensor(inner, &tensor); });
      auto& tensors = field.number == 1 ? signature->inputs : signature->outputs;
      tensors.push_back(std::move(tensor));
      return true;
    });
    const auto by_name = [](const SignatureTensor& a, const SignatureTensor& b) {
      return a.name < b.name;
    };
    std::sort(signature->inputs.begin(), signature->inputs.end(), by_name);
    std::sort(signature->outputs.begin(), signature->outputs.end(), by_name);
  }

  // A TensorInfo.
  void ReadTensor(uint64_t end, SignatureTensor* tensor) {
    WireField field;
    while (reader_.Next(end, &field)) {
      if (field.number == 2 && !field.has_length) {
        tensor->type = static_cast<int>(field.value);
      } else if (field.number == 1 && field.has_length) {
        tensor->place = Text(field);
      } else if (field.number == 3 && field.has_length) {
        ReadShape(End(field), tensor);
      } else {
        reader_.Skip(field.length);
      }
    }
  }

  void ReadShape(uint64_t end, SignatureTensor* tensor) {
    WireField field;
    while (reader_.Next(end, &field)) {
      if (field.number == 3 && !field.has_length) tensor->has_rank = field.value == 0;
      if (field.number == 2 && field.has_length) {
        // A size of zero is not written.
        int64_t size = 0;
        const uint64_t dim_end = End(field);
        WireField dim;
        while (reader_.Next(dim_end, &dim)) {
          if (dim.number == 1 && !dim.has_length) size = static_cast<int64_t>(dim.value);
          reader_.Skip(dim.length);
        }
        tensor->dims.push_back(size < 0 ? -1 : size);
      } else {
        reader_.Skip(field.length);
      }
    }
  }

  bool Graph(uint64_t end) {
    return Message(end, [this](const WireField& field) {
      if (field.number == 1) {
        auto [name, node] = ReadNode(End(field));
        content_.nodes[name] = std::move(node);
        return true;
      }
      if (field.number != 2) return false;
      return Message(End(field), [this](const WireField& inner) {
        return inner.number == 1 && ReadFunction(End(inner));
      });
    });
  }

  bool ReadFunction(uint64_t end) {
    std::string name;
    std::vector<Node> nodes;
    Message(end, [&](const WireField& field) {
      if (field.number == 1) {
        return Message(End(field), [&](const WireField& signature) {
          if (signature.number != 1) return false;
          name = Text(signature);
          return true;
        });
      }
      if (field.number != 3) return false;
      nodes.push_back(ReadNode(End(field)).second);
      return true;
    });
    content_.functions[name] = std::move(nodes);
    return true;
  }

  std::pair<std::string, Node> ReadNode(uint64_t end) {
    std::string name;
    Node node;
    Message(end, [&](const WireField& field) {
      switch (field.number) {
        case 1:
          name = Text(field);
          return true;
        case 2:
          node.op = Text(field);
          return true;
        case 3:
          node.inputs.push_back(OperationOf(Text(field)));
          return true;
        case 5:
          ReadAttribute(End(field), &node, 0);
          return true;
        default:
          return false;
      }
    });
    // Functions may also be called as if they were operations.
    node.functions.push_back(node.op);
    return {std::move(name), std::move(node)};
  }

  // An entry of a map of attributes.
  void ReadAttribute(uint64_t end, Node* node, int depth) {
    std::string key;
    Entry(end, &key, [&](uint64_t inner) {
      Message(inner, [&](const WireField& field) {
        if (field.number == 10) return ReadCall(End(field), node, depth);
        if (field.number != 1) return false;
        return Message(End(field), [&](const WireField& item) {
          return item.number == 9 && ReadCall(End(item), node, depth);
        });
      });
    });
  }

  // A function as the value of an attribute (NameAttrList).
  bool ReadCall(uint64_t end, Node* node, int depth) {
    return Message(end, [&](const WireField& field) {
      if (field.number == 1) {
        node->functions.push_back(Text(field));
        return true;
      }
      if (field.number != 2) return false;
      if (depth == kDeepest) {
        content_.readable = false;
        return false;
      }
      ReadAttribute(End(field), node, depth + 1);
      return true;
    });
  }

  WireReader reader_;
  GraphContent content_;
};

}  // namespace

std::string OperationOf(const std::string& place) {
  const size_t start = !place.empty() && place[0] == '^' ? 1 : 0;
  return place.substr(start, place.find(':', start) - start);
}

std::set<std::string> GraphContent::KindsFor(const std::vector<std::string>& outputs) const {
  std::set<std::string> kinds;
  std::set<std::string> seen;
  std::set<std::string> called;
  std::vector<std::string> open;
  std::vector<std::string> calls;
  const auto visit = [&](const Node& node) {
    if (!functions.contains(node.op)) kinds.insert(node.op);
    for (const std::string& name : node.functions) {
      if (functions.contains(name) && called.insert(name).second) calls.push_back(name);
    }
  };
  for (const std::string& output : outputs) open.push_back(OperationOf(output));
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const auto node = nodes.find(name);
    if (node == nodes.end()) continue;
    visit(node->second);
    open.insert(open.end(), node->second.inputs.begin(), node->second.inputs.end());
  }
  while (!calls.empty()) {
    const auto function = functions.find(calls.back());
    calls.pop_back();
    for (const Node& node : function->second) visit(node);
  }
  return kinds;
}

std::vector<std::string> GraphContent::Last() const {
  std::set<std::string> taken;
  for (const auto& [name, node] : nodes) taken.insert(node.inputs.begin(), node.inputs.end());
  std::vector<std::string> last;
  for (const auto& [name, node] : nodes) {
    if (!taken.contains(name)) last.push_back(name);
  }
  return last;
}

GraphContent ReadMetaGraph(std::string_view bytes) {
  return Reader(bytes).MetaGraph();
}

GraphContent ReadGraph(std::string_view bytes) {
  return Reader(bytes).Alone();
}

}  // namespace tritonts::tensorflow
