// What the bytes of a graph say (GraphDef, MetaGraphDef) that the C interface does not tell: the
// signatures, and the operations that a run executes. Malformed bytes are harmless.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tritonts::tensorflow {

// A tensor of a signature.
struct SignatureTensor {
  std::string name;   // as callers name it
  std::string place;  // in the graph: "operation:index"; "": it consists of several tensors
  int type = 0;       // TensorFlow's number
  bool has_rank = true;
  std::vector<int64_t> dims;  // -1: dynamic
};

// The tensors of a signature, each sorted by name.
struct Signature {
  std::vector<SignatureTensor> inputs;
  std::vector<SignatureTensor> outputs;
};

// An operation of a graph or of a function.
struct Node {
  std::string op;
  std::vector<std::string> inputs;     // names of operations in the same graph
  std::vector<std::string> functions;  // that it calls
};

struct GraphContent {
  std::map<std::string, Node> nodes;                   // by name
  std::map<std::string, std::vector<Node>> functions;  // by name
  std::map<std::string, Signature> signatures;         // by name
  bool readable = true;                                // false: something is missing

  // The operations that compute `outputs` ("operation" or "operation:index"), those of called
  // functions included, as the names of their kinds.
  std::set<std::string> KindsFor(const std::vector<std::string>& outputs) const;
  // The names of operations whose outputs no other operation takes.
  std::vector<std::string> Last() const;
};

// What TF_LoadSessionFromSavedModel returns.
GraphContent ReadMetaGraph(std::string_view bytes);
// A file model.graphdef.
GraphContent ReadGraph(std::string_view bytes);

// The operation in "operation", "operation:index" or "^operation".
std::string OperationOf(const std::string& place);

}  // namespace tritonts::tensorflow
