#include "describe.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <set>
#include <streambuf>
#include <vector>

#include "value_shapes.h"

namespace tritonts::onnxruntime {

namespace {

struct TypeRow {
  const char* name;  // the runtime's name
  DataType datatype;
};

// The index is the runtime's number of the type.
constexpr std::array<TypeRow, 27> kTypes = {{
    {"undefined", DataType::kInvalid},
    {"float32", DataType::kFp32},
    {"uint8", DataType::kUint8},
    {"int8", DataType::kInt8},
    {"uint16", DataType::kUint16},
    {"int16", DataType::kInt16},
    {"int32", DataType::kInt32},
    {"int64", DataType::kInt64},
    {"string", DataType::kBytes},
    {"bool", DataType::kBool},
    {"float16", DataType::kFp16},
    {"float64", DataType::kFp64},
    {"uint32", DataType::kUint32},
    {"uint64", DataType::kUint64},
    {"complex64", DataType::kInvalid},
    {"complex128", DataType::kInvalid},
    {"bfloat16", DataType::kBf16},
    {"float8e4m3fn", DataType::kInvalid},
    {"float8e4m3fnuz", DataType::kInvalid},
    {"float8e5m2", DataType::kInvalid},
    {"float8e5m2fnuz", DataType::kInvalid},
    {"uint4", DataType::kInvalid},
    {"int4", DataType::kInvalid},
    {"float4e2m1", DataType::kInvalid},
    {"uint2", DataType::kInvalid},
    {"int2", DataType::kInvalid},
    {"float8e8m0", DataType::kInvalid},
}};

// The index is the runtime's number of the ValueKind.
constexpr std::array<const char*, 7> kKinds = {"unknown", "tensor", "sequence", "map",
                                               "opaque",  "sparse", "optional"};

std::string NameOf(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return number < kTypes.size() ? kTypes[number].name : "type " + std::to_string(number);
}

Status ReadDims(const Session& session, const OrtTensorInfo* info, std::vector<int64_t>* dims) {
  const Library& library = session.library();
  const Table& api = session.table();
  size_t rank = 0;
  Status status = library.Take(api.Call(kGetDimensionsCount, info, &rank));
  if (!status.ok()) return status;
  dims->resize(rank);
  return library.Take(api.Call(kGetDimensions, info, dims->data(), rank));
}

// Reads the names of dynamic dims; "": the dim is fixed, or has no name in the file.
Status ReadDimNames(const Session& session, const OrtTensorInfo* info, size_t rank,
                    std::vector<std::string>* names) {
  std::vector<const char*> texts(rank, nullptr);
  Status status = session.library().Take(
      session.table().Call(kGetSymbolicDimensions, info, texts.data(), rank));
  if (!status.ok()) return status;
  for (const char* text : texts) names->emplace_back(text ? text : "");
  return status;
}

Status DescribeTensor(const Session& session, const OrtTypeInfo* type, TensorDescription* tensor) {
  const Library& library = session.library();
  const Table& api = session.table();
  const OrtTensorInfo* info = nullptr;
  Status status = library.Take(api.Call(kCastToTensorInfo, type, &info));
  if (!status.ok() || !info) return status;
  ElementType element = ElementType::kUndefined;
  status = library.Take(api.Call(kGetElementType, info, &element));
  if (!status.ok()) return status;
  tensor->datatype = ToDataType(element);
  tensor->type_name = NameOf(element);
  if (api.Has(kHasShape)) tensor->has_rank = api.Call(kHasShape, info);
  status = ReadDims(session, info, &tensor->dims);
  if (!status.ok()) return status;
  return ReadDimNames(session, info, tensor->dims.size(), &tensor->dim_names);
}

Status DescribeType(const Session& session, const OrtTypeInfo* type, TensorDescription* tensor) {
  ValueKind kind = ValueKind::kUnknown;
  Status status = session.library().Take(session.table().Call(kGetValueKind, type, &kind));
  if (!status.ok()) return status;
  if (kind == ValueKind::kTensor) return DescribeTensor(session, type, tensor);
  const auto number = static_cast<size_t>(kind);
  tensor->type_name = number < kKinds.size() ? kKinds[number] : "kind " + std::to_string(number);
  return Status::Ok();
}

// Appends the descriptions of a group of tensors, read with three functions of the runtime.
template <typename Count, typename Name, typename Type>
Status DescribeGroup(const Session& session, Count count_entry, Name name_entry, Type type_entry,
                     bool optional, std::vector<TensorDescription>* tensors) {
  const Library& library = session.library();
  const Table& api = session.table();
  OrtAllocator* allocator = session.environment().allocator;
  size_t count = 0;
  Status status = library.Take(api.Call(count_entry, session.get(), &count));
  for (size_t i = 0; status.ok() && i < count; i++) {
    TensorDescription& tensor = tensors->emplace_back();
    tensor.optional = optional;
    char* name = nullptr;
    status = library.Take(api.Call(name_entry, session.get(), i, allocator, &name));
    if (!status.ok()) break;
    tensor.name = name;
    status = library.Take(api.Call(kAllocatorFree, allocator, name));
    if (!status.ok()) break;
    Handle<OrtTypeInfo, kReleaseTypeInfo> type(api);
    status = library.Take(api.Call(type_entry, session.get(), i, type.out()));
    if (status.ok()) status = DescribeType(session, type.get(), &tensor);
  }
  return status;
}

// Lets a stream read bytes in memory. std::istringstream would copy them.
class MemoryBuffer final : public std::streambuf {
 public:
  explicit MemoryBuffer(const std::string& bytes) {
    char* begin = const_cast<char*>(bytes.data());  // it is only read
    setg(begin, begin, begin + bytes.size());
  }

 protected:
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode) override {
    const char* base = from == std::ios::beg ? eback() : from == std::ios::cur ? gptr() : egptr();
    const off_type position = base - eback() + offset;
    if (position < 0 || position > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + position, egptr());
    return pos_type(position);
  }
  pos_type seekpos(pos_type position, std::ios::openmode mode) override {
    return seekoff(position, std::ios::beg, mode);
  }
};

// Finds in the model's file which tensors without dims have no rank. Older runtimes do not report
// that.
void FindUnranked(const ModelSpec& spec, ModelDescription* description) {
  const auto may_be = [](const TensorDescription& tensor) {
    return tensor.datatype != DataType::kInvalid && tensor.dims.empty();
  };
  if (std::none_of(description->inputs.begin(), description->inputs.end(), may_be) &&
      std::none_of(description->outputs.begin(), description->outputs.end(), may_be)) {
    return;
  }
  std::set<std::string> unshaped;
  if (spec.files.empty()) {
    std::ifstream file(ModelFile(spec.path), std::ios::binary);
    unshaped = UnshapedValues(file);
  } else {
    MemoryBuffer buffer(*spec.files.at(spec.path));
    std::istream bytes(&buffer);
    unshaped = UnshapedValues(bytes);
  }
  for (auto* tensors : {&description->inputs, &description->outputs}) {
    for (TensorDescription& tensor : *tensors) {
      tensor.has_rank = !may_be(tensor) || !unshaped.contains(tensor.name);
    }
  }
}

}  // namespace

DataType ToDataType(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return number < kTypes.size() ? kTypes[number].datatype : DataType::kInvalid;
}

ElementType ToElementType(DataType type) {
  if (type == DataType::kInvalid) return ElementType::kUndefined;
  for (size_t number = 0; number < kTypes.size(); number++) {
    if (kTypes[number].datatype == type) return static_cast<ElementType>(number);
  }
  return ElementType::kUndefined;
}

StatusOr<ModelDescription> DescribeSession(const Session& session, const ModelSpec& spec) {
  ModelDescription description;
  Status status = DescribeGroup(session, kSessionGetInputCount, kSessionGetInputName,
                                kSessionGetInputType, false, &description.inputs);
  if (status.ok()) {
    status = DescribeGroup(session, kSessionGetInitializerCount, kSessionGetInitializerName,
                           kSessionGetInitializerType, true, &description.inputs);
  }
  if (status.ok()) {
    status = DescribeGroup(session, kSessionGetOutputCount, kSessionGetOutputName,
                           kSessionGetOutputType, false, &description.outputs);
  }
  if (!status.ok()) return status;
  if (!session.table().Has(kHasShape)) FindUnranked(spec, &description);
  return description;
}

Status ReadTensorShape(const Session& session, const OrtValue* value, std::vector<int64_t>* shape) {
  const Library& library = session.library();
  const Table& api = session.table();
  if (api.Has(kGetTensorShape)) {
    ElementType element = ElementType::kUndefined;
    const int64_t* dims = nullptr;
    size_t rank = 0;
    Status status = library.Take(api.Call(kGetTensorShape, value, &element, &dims, &rank));
    if (status.ok()) shape->assign(dims, dims + rank);
    return status;
  }
  Handle<OrtTensorInfo, kReleaseTensorInfo> info(api);
  Status status = library.Take(api.Call(kGetTensorInfo, value, info.out()));
  if (!status.ok()) return status;
  return ReadDims(session, info.get(), shape);
}

}  // namespace tritonts::onnxruntime
