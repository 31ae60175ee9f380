#include "tensor_file.h"

#include <fstream>
#include <type_traits>

namespace tritonts::onnxruntime::bare {

namespace {

// Both the files and the supported machines are little-endian.
template <typename Number>
Number ReadNumber(std::istream& in) {
  static_assert(std::is_integral_v<Number>);
  Number number = 0;
  in.read(reinterpret_cast<char*>(&number), sizeof(number));
  return in ? number : 0;
}

template <typename Number>
void WriteNumber(std::ostream& out, Number number) {
  static_assert(std::is_integral_v<Number>);
  out.write(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string ReadText(std::istream& in, size_t size) {
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  return text;
}

}  // namespace

StatusOr<std::vector<NamedTensor>> ReadTensors(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<NamedTensor> tensors(ReadNumber<uint32_t>(in));
  for (NamedTensor& tensor : tensors) {
    tensor.name = ReadText(in, ReadNumber<uint32_t>(in));
    tensor.element = ReadNumber<int32_t>(in);
    tensor.shape.resize(ReadNumber<uint32_t>(in));
    for (int64_t& dim : tensor.shape) dim = ReadNumber<int64_t>(in);
    tensor.bytes = ReadText(in, ReadNumber<uint64_t>(in));
  }
  if (!in) return Status::Internal("can't read '" + file.string() + "'");
  return tensors;
}

Status WriteTensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors) {
  std::ofstream out(file, std::ios::binary);
  WriteNumber(out, static_cast<uint32_t>(tensors.size()));
  for (const NamedTensor& tensor : tensors) {
    WriteNumber(out, static_cast<uint32_t>(tensor.name.size()));
    out << tensor.name;
    WriteNumber(out, tensor.element);
    WriteNumber(out, static_cast<uint32_t>(tensor.shape.size()));
    for (const int64_t dim : tensor.shape) WriteNumber(out, dim);
    WriteNumber(out, static_cast<uint64_t>(tensor.bytes.size()));
    out << tensor.bytes;
  }
  out.close();
  return out ? Status::Ok() : Status::Internal("can't write '" + file.string() + "'");
}

}  // namespace tritonts::onnxruntime::bare
