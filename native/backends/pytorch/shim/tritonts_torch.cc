// The shim between tritonts and libtorch. `npx tritonts build-backend pytorch` compiles this file
// against the libtorch of the machine. It is C++17, or newer where libtorch needs it.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/script.h>
#include <torch/version.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "shim.h"

struct TorchModule {
  struct Argument {
    std::string name;
    std::string type;
    int32_t kind;
  };
  torch::jit::Module module;
  std::vector<Argument> arguments;
  int32_t traits = 0;
};

struct TorchResult {
  // Outputs that share memory with an input are found by it, so inputs live as long.
  std::vector<c10::IValue> inputs;
  std::vector<c10::IValue> values;
  std::vector<std::string> keys;  // of a dict
  // What the caller refers to, by value: a dense tensor on the CPU, and texts.
  std::vector<at::Tensor> tensors;
  std::vector<std::string> type_names;
};

struct TorchMemory {
  at::Tensor tensor;
};

namespace {

void (*release_owner)(void*) = nullptr;

// --- Faults.

struct OwnFault {
  TorchFault fault;
  std::string message;
  std::string origin;
};

// The fault for which there is no memory.
TorchFault no_memory{kTorchNoMemory, "no memory", ""};

TorchFault* MakeFault(int32_t kind, std::string message, std::string origin = "") noexcept {
  try {
    auto* const own = new OwnFault{{}, std::move(message), std::move(origin)};
    own->fault = {kind, own->message.c_str(), own->origin.c_str()};
    return &own->fault;
  } catch (...) {
    return &no_memory;
  }
}

void Trim(std::string* text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text->empty() && is_space(text->back())) text->pop_back();
}

// Whether a line is an error, such as "RuntimeError: …", and no line of a program.
bool IsError(const std::string& line) {
  size_t end = 0;
  const auto may_be_named = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  while (end < line.size() && may_be_named(line[end])) end++;
  const std::string name = line.substr(0, end);
  return end > 0 && line.compare(end, 2, ": ") == 0 && name != "else" && name != "try" &&
         name != "finally";
}

// The error at the end of a text with TorchScript's stack, which shows lines of the program.
std::string LastError(const std::string& text) {
  size_t at = text.rfind("<--- HERE");
  if (at == std::string::npos) return text;
  for (at = text.find('\n', at); at != std::string::npos; at = text.find('\n', at + 1)) {
    if (IsError(text.substr(at + 1, text.find('\n', at + 1) - at - 1))) return text.substr(at + 1);
  }
  return text;
}

TorchFault* FaultOf(std::string text) {
  Trim(&text);
  std::string last = LastError(text);
  const bool memory = text.find("can't allocate memory") != std::string::npos;
  if (last.size() == text.size()) text.clear();
  return MakeFault(memory ? kTorchNoMemory : kTorchFailed, std::move(last), std::move(text));
}

// Runs a function, and makes a fault of what it throws.
template <typename Function>
TorchFault* Guarded(Function&& function) noexcept {
  try {
    try {
      return function();
    } catch (const c10::Error& error) {
      return FaultOf(error.what_without_backtrace());
    } catch (const std::bad_alloc&) {
      return &no_memory;
    } catch (const std::exception& error) {
      return FaultOf(error.what());
    } catch (...) {
      return MakeFault(kTorchFailed, "an exception of an unknown type");
    }
  } catch (...) {
    return &no_memory;
  }
}

// --- Types.

struct TypePair {
  c10::ScalarType torch;
  int32_t type;
};
constexpr TypePair kTypes[] = {
    {c10::kBool, kTorchBool},     {c10::kByte, kTorchUint8}, {c10::kChar, kTorchInt8},
    {c10::kShort, kTorchInt16},   {c10::kInt, kTorchInt32},  {c10::kLong, kTorchInt64},
    {c10::kHalf, kTorchFp16},     {c10::kFloat, kTorchFp32}, {c10::kDouble, kTorchFp64},
    {c10::kBFloat16, kTorchBf16},
};

std::optional<c10::ScalarType> ScalarTypeOf(int32_t type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) return pair.torch;
  }
  return std::nullopt;
}

int32_t TypeOf(c10::ScalarType torch) {
  for (const TypePair& pair : kTypes) {
    if (pair.torch == torch) return pair.type;
  }
  return kTorchOtherType;
}

bool IsStringList(const c10::TypePtr& type) {
  const auto list = type->cast<c10::ListType>();
  return list && list->getElementType()->kind() == c10::TypeKind::StringType;
}

int32_t KindOf(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) return kTorchTensor;
  if (IsStringList(type)) return kTorchStrings;
  const auto dict = type->cast<c10::DictType>();
  const bool is_map = dict && dict->getKeyType()->kind() == c10::TypeKind::StringType &&
                      dict->getValueType()->kind() == c10::TypeKind::TensorType;
  return is_map ? kTorchTensorMap : kTorchOtherKind;
}

// --- The graph of a module.

// Whether values of a type may have parts that can be changed, such as a list of tensors.
bool HoldsOthers(const c10::TypePtr& type) {
  using c10::TypeKind;
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return HoldsOthers(optional->getElementType());
  }
  switch (type->kind()) {
    case TypeKind::TensorType:
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::BoolType:
    case TypeKind::NumberType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
      return false;
    case TypeKind::ListType:
    case TypeKind::TupleType:
    case TypeKind::DictType:
      for (const c10::TypePtr& part : type->containedTypes()) {
        if (part->kind() == TypeKind::TensorType || part->kind() == TypeKind::ListType ||
            HoldsOthers(part)) {
          return true;
        }
      }
      return false;
    default:
      return true;
  }
}

// Operators whose results are new memory, whatever their arguments are. Of others, libtorch's alias
// analysis does not know all results that are an argument itself, such as those of dropout.
bool MakesNew(const torch::jit::Node* node) {
  static const std::set<std::string> kNew = {
      "_convolution", "add",        "addmm",   "avg_pool2d", "batch_norm", "bmm",
      "cat",          "clone",      "conv1d",  "conv2d",     "conv3d",     "div",
      "empty",        "empty_like", "full",    "group_norm", "layer_norm", "linear",
      "matmul",       "max_pool2d", "mm",      "mul",        "ones",       "ones_like",
      "relu",         "sigmoid",    "softmax", "stack",      "sub",        "tanh",
      "zeros",        "zeros_like"};
  const c10::Symbol kind = node->kind();
  // A list may be written. What it holds is looked at where it is taken out.
  if (kind == c10::prim::ListConstruct || kind == c10::prim::DictConstruct) return true;
  if (!kind.is_aten()) return false;
  const std::string name = kind.toUnqualString();
  if (kNew.count(name) > 0) return true;
  // An operator in place returns its first argument.
  return name.size() > 1 && name.back() == '_' && !node->inputs().empty() &&
         MakesNew(node->input(0)->node());
}

// Whether a node writes to what may be an input's memory or the module's.
bool WritesElsewhere(const torch::jit::Node* node) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema || !schema->is_mutable()) return false;
  // It gives a tensor the memory of another one.
  if (node->kind().toUnqualString() == std::string("set_")) return true;
  const auto& arguments = schema->arguments();
  for (size_t i = 0; i < arguments.size(); i++) {
    const c10::AliasInfo* const alias = arguments[i].alias_info();
    if (!alias || !alias->isWrite()) continue;
    if (i >= node->inputs().size() || !MakesNew(node->input(i)->node())) return true;
  }
  return false;
}

// Looks at all nodes of a block. Whatever is not known to be harmless counts as an effect.
void LookAt(torch::jit::Block* block, const torch::jit::AliasDb& aliases, int32_t* traits) {
  namespace prim = c10::prim;
  for (torch::jit::Node* node : block->nodes()) {
    const c10::Symbol kind = node->kind();
    const std::string space = kind.ns().toUnqualString();
    // An operator of another library may keep its arguments. A call that is left may do anything. A
    // fork may run on after the call.
    const bool known = space == "aten" || space == "prim" || space == "quantized";
    if (!known || kind == prim::SetAttr || kind == prim::CallFunction || kind == prim::CallMethod ||
        kind == prim::fork || kind == prim::rpc_async || kind == prim::PythonOp) {
      *traits |= kTorchHasEffects;
    }
    if (WritesElsewhere(node)) *traits |= kTorchHasEffects;
    if (kind == prim::If || kind == prim::Loop) *traits |= kTorchBranches;
    // What is read from an attribute, or from a value with parts, may be shared with the module or
    // with an input.
    bool from_outside = kind == prim::GetAttr;
    for (const torch::jit::Value* input : node->inputs()) {
      from_outside = from_outside || HoldsOthers(input->type());
    }
    for (const torch::jit::Value* output : node->outputs()) {
      if (from_outside && aliases.hasWriters(output)) *traits |= kTorchHasEffects;
    }
    for (torch::jit::Block* inner : node->blocks()) LookAt(inner, aliases, traits);
  }
}

int32_t TraitsOf(const torch::jit::Method& method) {
  try {
    const auto graph = method.graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::AliasDb aliases(graph);
    int32_t traits = 0;
    for (const torch::jit::Value* input : graph->inputs()) {
      if (aliases.hasWriters(input)) traits |= kTorchHasEffects;
    }
    LookAt(graph->block(), aliases, &traits);
    return traits;
  } catch (const std::exception&) {
    // A module without a graph, such as one that a backend of libtorch compiled.
    return kTorchHasEffects | kTorchBranches;
  }
}

// --- Loading.

// Bytes of a caller as a stream.
class ByteStream final : public std::streambuf {
 public:
  ByteStream(const void* bytes, uint64_t size) {
    char* const begin = const_cast<char*>(static_cast<const char*>(bytes));
    setg(begin, begin, begin + size);
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base = from == std::ios_base::beg   ? 0
                          : from == std::ios_base::cur ? gptr() - eback()
                                                       : egptr() - eback();
    const off_type place = base + offset;
    if (place < 0 || place > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + place, egptr());
    return pos_type(place);
  }
  pos_type seekpos(pos_type place, std::ios_base::openmode mode) override {
    return seekoff(off_type(place), std::ios_base::beg, mode);
  }
};

TorchFault* Load(const char* path, const void* bytes, uint64_t size, int32_t flags,
                 TorchModule** module) {
  return Guarded([&]() -> TorchFault* {
    // As in Triton, the weights of a model of inference mode are inference tensors.
    const c10::InferenceMode inference((flags & kTorchInferenceMode) != 0);
    auto made = std::make_unique<TorchModule>();
    if (bytes) {
      ByteStream buffer(bytes, size);
      std::istream stream(&buffer);
      made->module = torch::jit::load(stream, c10::Device(c10::kCPU));
    } else {
      std::ifstream stream(path, std::ios::binary);
      if (!stream) return MakeFault(kTorchFailed, std::string("cannot open '") + path + "'");
      made->module = torch::jit::load(stream, c10::Device(c10::kCPU));
    }
    const auto method = made->module.find_method("forward");
    if (!method) return MakeFault(kTorchFailed, "the model has no method forward");
    const auto& arguments = method->function().getSchema().arguments();
    for (size_t i = 0; i < arguments.size(); i++) {
      const c10::Argument& argument = arguments[i];
      // The first one is the module itself.
      if (i == 0 && argument.type()->kind() == c10::TypeKind::ClassType) continue;
      made->arguments.push_back(
          {argument.name(), argument.type()->annotation_str(), KindOf(argument.type())});
    }
    made->traits = TraitsOf(*method);
    *module = made.release();
    return nullptr;
  });
}

// --- Running.

// The number of threads of one operation; 0: libtorch's own.
std::atomic<int32_t> intra_op_threads{0};

// OpenMP has a number for each calling thread, which a thread takes over when it runs its first
// operation. `threads`: 0: the process's number.
void UseThreads(int32_t threads) {
  thread_local int32_t used = 0;
  const int32_t all = intra_op_threads.load(std::memory_order_relaxed);
  const int32_t wanted = threads > 0 ? threads : all;
  if (wanted == used) return;
  // A new thread takes over the number that another one has set last. It does so here, and not
  // during its first operation.
  if (used == 0) at::get_num_threads();
  at::set_num_threads(wanted);
  used = wanted;
}

// What a caller gave with an input, released once.
class Owner {
 public:
  explicit Owner(void* owner) : owner_(owner) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { release_owner(owner_); }

 private:
  void* const owner_;
};

// The owners of inputs. Those that no tensor got are released, whatever throws.
class Owners {
 public:
  Owners(const TorchInput* inputs, uint32_t count) : inputs_(inputs), count_(count) {}
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;
  ~Owners() {
    for (; next_ < count_; next_++) {
      if (inputs_[next_].owner) release_owner(inputs_[next_].owner);
    }
  }
  // Called for each input, in order.
  std::shared_ptr<Owner> Next() {
    if (!inputs_[next_].owner) {
      next_++;
      return nullptr;
    }
    auto owner = std::make_shared<Owner>(inputs_[next_].owner);
    next_++;
    return owner;
  }

 private:
  const TorchInput* const inputs_;
  const uint32_t count_;
  uint32_t next_ = 0;
};

at::Tensor TensorOf(const TorchInput& input, const std::shared_ptr<Owner>& owner) {
  const auto type = ScalarTypeOf(input.type);
  if (!type) throw std::invalid_argument("an input has a type that the shim does not know");
  const at::IntArrayRef dims(input.dims, input.rank);
  const auto options = at::TensorOptions().dtype(*type);
  if (input.size == 0) return at::empty(dims, options);
  if (!owner) return at::from_blob(input.data, dims, options);
  // The owner ends with the deleter that has it.
  return at::from_blob(input.data, dims, [owner](void*) {}, options);
}

c10::IValue StringsOf(const TorchInput& input) {
  c10::List<std::string> list;
  list.reserve(input.text_count);
  for (uint64_t i = 0; i < input.text_count; i++) {
    list.push_back(std::string(input.texts[i].text, input.texts[i].size));
  }
  return list;
}

// Separates the values of what forward returned. Each stays shared with `returned` until that is
// gone, so that a container that the module keeps is noticed.
void Separate(const c10::IValue& returned, TorchResult* result) {
  if (returned.isTuple()) {
    for (const c10::IValue& one : returned.toTupleRef().elements()) result->values.push_back(one);
  } else if (returned.isTensorList()) {
    for (const at::Tensor& one : returned.toTensorVector()) result->values.emplace_back(one);
  } else if (returned.isGenericDict()) {
    for (const auto& entry : returned.toGenericDict()) {
      if (!entry.key().isString()) {
        throw std::invalid_argument("the keys of a dict of outputs must be strings, but one is " +
                                    entry.key().tagKind());
      }
      result->keys.push_back(entry.key().toStringRef());
      result->values.push_back(entry.value());
    }
  } else {
    result->values.push_back(returned);
  }
}

TorchFault* RunModule(TorchModule* module, int32_t flags, int32_t threads, const TorchInput* inputs,
                      uint32_t count, TorchResult** result) {
  return Guarded([&]() -> TorchFault* {
    Owners owners(inputs, count);
    UseThreads(threads);
    const c10::InferenceMode inference((flags & kTorchInferenceMode) != 0);
    const at::NoGradGuard no_grad;
    const torch::jit::GraphOptimizerEnabledGuard optimize((flags & kTorchOptimize) != 0);
    auto made = std::make_unique<TorchResult>();
    c10::Dict<std::string, at::Tensor> map;
    for (uint32_t i = 0; i < count; i++) {
      const TorchInput& input = inputs[i];
      const std::shared_ptr<Owner> owner = owners.Next();
      if (input.key) {
        map.insert(input.key, TensorOf(input, owner));
      } else if (input.kind == kTorchStrings) {
        made->inputs.push_back(StringsOf(input));
      } else {
        made->inputs.emplace_back(TensorOf(input, owner));
      }
    }
    if (!map.empty()) made->inputs.emplace_back(std::move(map));
    {
      const c10::IValue returned = module->module.forward(made->inputs);
      Separate(returned, made.get());
    }
    made->tensors.resize(made->values.size());
    made->type_names.resize(made->values.size());
    *result = made.release();
    return nullptr;
  });
}

// --- Results.

bool IsOnlyReference(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1 &&
         tensor.storage_offset() == 0 && tensor.storage().nbytes() == tensor.nbytes();
}

void TensorValue(TorchResult* result, uint32_t index, TorchValue* value) {
  at::Tensor& tensor = result->tensors[index];
  if (!tensor.defined()) {
    tensor = std::move(result->values[index]).toTensor();
    result->values[index] = c10::IValue();
    if (!tensor.defined()) throw std::invalid_argument("the model returned an undefined tensor");
    if (tensor.layout() != c10::kStrided || tensor.is_quantized()) {
      throw std::invalid_argument("the model returned a tensor that is not dense: " +
                                  tensor.toString());
    }
    if (!tensor.device().is_cpu()) tensor = tensor.cpu();
    tensor = tensor.resolve_conj().resolve_neg().contiguous();
  }
  value->kind = kTorchTensor;
  value->type = TypeOf(tensor.scalar_type());
  result->type_names[index] = c10::toString(tensor.scalar_type());
  value->rank = static_cast<uint64_t>(tensor.dim());
  value->dims = tensor.sizes().data();
  value->data = tensor.data_ptr();
  value->size = tensor.nbytes();
  if (value->size > 0 && IsOnlyReference(tensor)) value->memory = new TorchMemory{tensor};
}

TorchFault* ValueOf(TorchResult* result, uint32_t index, TorchValue* value) {
  return Guarded([&]() -> TorchFault* {
    *value = {};
    const c10::IValue& own = result->values[index];
    if (result->tensors[index].defined() || own.isTensor()) {
      TensorValue(result, index, value);
    } else if (own.isList() && IsStringList(own.type())) {
      value->kind = kTorchStrings;
      value->text_count = own.toListRef().size();
      result->type_names[index] = "List[str]";
    } else {
      value->kind = kTorchOtherKind;
      result->type_names[index] = own.isNone() ? "None" : own.type()->annotation_str();
    }
    value->type_name = result->type_names[index].c_str();
    return nullptr;
  });
}

TorchText TextOf(const TorchResult* result, uint32_t index, uint64_t element) {
  const std::string& text = result->values[index].toListRef()[element].toStringRef();
  return {text.data(), text.size()};
}

// --- The library.

// The version in the text that libtorch has about itself.
std::string LoadedVersion() {
  const std::string text = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const size_t begin = text.find(key);
  if (begin == std::string::npos) return "";
  const size_t value = begin + key.size();
  return text.substr(value, text.find_first_of(", \n", value) - value);
}

TorchFault* Prepare(void (*release)(void*), const char** loaded_version) {
  return Guarded([&]() -> TorchFault* {
    release_owner = release;
    // The standard output belongs to the program.
    torch::jit::setPrintHandler([](const std::string& text) { std::cerr << text; });
    static const auto* const version = new std::string(LoadedVersion());
    *loaded_version = version->c_str();
    return nullptr;
  });
}

TorchFault* SetThreads(int32_t intra_op, int32_t inter_op) {
  return Guarded([&]() -> TorchFault* {
    if (intra_op > 0) {
      intra_op_threads = intra_op;
      UseThreads(0);
    }
    if (inter_op > 0) at::set_num_interop_threads(inter_op);
    return nullptr;
  });
}

TorchFault* SetSwitches(int32_t executor, int32_t profiling, int32_t fuser) {
  return Guarded([&]() -> TorchFault* {
    if (executor >= 0) torch::jit::getExecutorMode() = executor != 0;
    if (profiling >= 0) torch::jit::getProfilingMode() = profiling != 0;
    if (fuser >= 0) torch::jit::setTensorExprFuserEnabled(fuser != 0);
    return nullptr;
  });
}

template <typename Object>
void Free(Object* object) {
  Guarded([&]() -> TorchFault* {
    delete object;
    return nullptr;
  });
}

const TorchApi api = {
    TRITONTS_TORCH_INTERFACE,
    TORCH_VERSION,
    [](TorchFault* fault) {
      if (fault && fault != &no_memory) delete reinterpret_cast<OwnFault*>(fault);
    },
    Free<TorchModule>,
    Free<TorchResult>,
    Free<TorchMemory>,
    Prepare,
    SetThreads,
    []() -> int32_t {
      const int32_t set = intra_op_threads;
      return set > 0 ? set : at::get_num_threads();
    },
    []() -> int32_t { return at::get_num_interop_threads(); },
    SetSwitches,
    Load,
    [](const TorchModule* module) { return static_cast<uint32_t>(module->arguments.size()); },
    [](const TorchModule* module, uint32_t index) -> TorchArgument {
      const TorchModule::Argument& argument = module->arguments[index];
      return {argument.name.c_str(), argument.type.c_str(), argument.kind};
    },
    [](const TorchModule* module) { return module->traits; },
    RunModule,
    [](const TorchResult* result) { return static_cast<uint32_t>(result->values.size()); },
    [](const TorchResult* result, uint32_t index) -> const char* {
      return result->keys.empty() ? nullptr : result->keys[index].c_str();
    },
    ValueOf,
    TextOf,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchApi* tritonts_torch_api(void) {
  return &api;
}
