// Shared by tests of the onnxruntime backend: a batch that records its responses, and models loaded
// from bytes. TRITONTS_TEST_ORT_LIBRARY has the path of a runtime library.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "backends/onnxruntime/onnxruntime.h"
#include "check.h"
#include "engine/backend.h"
#include "onnx_bytes.h"
#include "temporary_folder.h"

namespace tritonts::test {

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> Values(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// A serialised BYTES tensor of these elements.
inline std::string Strings(const std::vector<std::string>& elements) {
  std::string bytes;
  for (const std::string& element : elements) {
    const auto length = static_cast<uint32_t>(element.size());
    bytes += std::string(reinterpret_cast<const char*>(&length), 4) + element;
  }
  return bytes;
}

class RecordingBatch final : public Run {
 public:
  struct Given {
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> tail;
    std::string bytes;
    std::vector<size_t> offsets;
    BlockRef block;  // keeps the memory alive, as a response does
    const void* data = nullptr;
  };

  // Adds a request of `rows` rows. Call Input next to add its inputs.
  RecordingBatch& Add(uint32_t rows = 1, std::vector<uint32_t> wanted = {}) {
    RequestHeader& header = headers_.emplace_back();
    header.batch_size = rows;
    header.wanted = std::move(wanted);
    owned_.emplace_back().header = &header;
    requests_.push_back(&owned_.back());
    total_batch_size_ += rows;
    return *this;
  }
  RecordingBatch& Input(uint32_t index, DataType datatype, std::vector<int64_t> shape,
                        const std::string& bytes) {
    memory_.push_back(std::make_unique<std::string>(bytes));
    return InputAt(index, datatype, std::move(shape), memory_.back()->data(), bytes.size());
  }
  // The same with memory of the caller.
  RecordingBatch& InputAt(uint32_t index, DataType datatype, std::vector<int64_t> shape, void* data,
                          size_t size) {
    InputTensor& input = headers_.back().AddInput();
    input.index = index;
    input.datatype = datatype;
    input.shape = std::move(shape);
    input.first_chunks.push_back({data, size, MemoryKind::kHost, 0, {}});
    return *this;
  }
  RecordingBatch& Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
    return Input(0, DataType::kFp32, std::move(shape), Raw(values));
  }

  BlockPool& pool() override { return pool_; }
  MemoryCopier* memory() override { return nullptr; }
  StatusOr<Buffer> Output(uint32_t, uint32_t index, DataType datatype,
                          std::span<const int64_t> shape, MemoryKind) override {
    size_t size = ByteSize(datatype) * total_batch_size_;
    for (const int64_t dim : shape) size *= static_cast<size_t>(dim);
    const BlockRef block = pool_.Acquire(size);
    SetOutput(index, datatype, shape, block->data(), size, block.get());
    return Buffer{block->data(), size, MemoryKind::kHost, 0, block};
  }
  void MarkInputsReady(uint64_t = 0) override {
    marks += 'i';
    started = true;
    if (lacks_memory) throw std::bad_alloc();
  }
  void MarkComputed(uint64_t = 0) override { marks += 'c'; }
  void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail, const void* data,
                 size_t size, Block* block) override {
    declared_[index] = {tail, data, size, {}};
    Given& output = outputs[index];
    output.datatype = datatype;
    output.block = BlockRef::Share(block);
    output.data = data;
  }
  void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                       const void* data, std::span<const size_t> offsets, Block* block) override {
    SetOutput(index, datatype, tail, data, offsets.back(), block);
    declared_[index].offsets = offsets;
  }
  void SetRequestOutput(uint32_t, uint32_t, DataType, std::span<const int64_t>, const void*, size_t,
                        Block*) override {}
  void SetParameters(uint32_t, ResponseParameters) override {}
  void DropOutputs(uint32_t) override {}
  void Respond(uint32_t, const Status& result, bool) override {
    status = result;
    marks += 'r';
    if (!result.ok()) outputs.clear();
    for (auto& [index, output] : outputs) {
      const Declared& declared = declared_[index];
      output.tail.assign(declared.tail.begin(), declared.tail.end());
      output.bytes.assign(static_cast<const char*>(declared.data), declared.size);
      output.offsets.assign(declared.offsets.begin(), declared.offsets.end());
    }
  }
  void Release(uint32_t) override {}
  void Reschedule(uint32_t, bool) override {}
  void EndResponses(uint32_t) override {}
  std::optional<Unread> UnreadOf(uint32_t, uint32_t) override { return Unread(); }
  bool AwaitRead(uint32_t, uint32_t, std::shared_ptr<ReadListener>) override { return false; }
  void InstanceFree() override {}
  void Retain() override {}
  void Drop() override {}

  std::map<uint32_t, Given> outputs;
  Status status = Status::Internal("nobody answered");
  std::string marks;  // i, c and r in the order of the calls
  std::atomic<bool> started{false};
  bool lacks_memory = false;  // whether the run has no memory for outputs

 private:
  struct Declared {
    std::span<const int64_t> tail;
    const void* data = nullptr;
    size_t size = 0;
    std::span<const size_t> offsets;
  };
  BlockPool pool_{1 << 20};
  std::deque<RequestHeader> headers_;
  std::deque<Request> owned_;
  std::vector<std::unique_ptr<std::string>> memory_;
  std::map<uint32_t, Declared> declared_;
};

// The path of the tests' runtime library; "": none is configured.
inline std::string LibraryPath() {
  const char* path = std::getenv("TRITONTS_TEST_ORT_LIBRARY");
  return path ? path : "";
}

// The minor version of that library: x of 1.x.
inline int LibraryMinor() {
  struct ApiBase {
    const void* (*get_api)(uint32_t version);
    const char* (*get_version_string)();
  };
  void* const library = dlopen(LibraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const base = library ? dlsym(library, "OrtGetApiBase") : nullptr;
  if (!base) return 0;
  const std::string version = reinterpret_cast<const ApiBase* (*)()>(base)()->get_version_string();
  return std::atoi(version.substr(version.find('.') + 1).c_str());
}

inline bool Contains(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

using SettingMap = std::map<std::string, std::string>;

inline Backend* OnnxRuntimeBackend() {
  static Backend* const backend = onnxruntime::MakeBackend();
  return backend;
}

// Loads a model from a file. Defaults of the settings: the library, and one thread.
inline StatusOr<std::unique_ptr<Model>> LoadFile(const std::string& path,
                                                 SettingMap settings = {}) {
  settings.try_emplace("library", LibraryPath());
  if (!settings.contains("shared_pool")) settings.try_emplace("intra_op_threads", "1");
  return OnnxRuntimeBackend()->Load({"m", 1, path, std::move(settings)});
}

inline StatusOr<std::unique_ptr<Model>> LoadBytes(const std::string& bytes,
                                                  SettingMap settings = {}) {
  const TemporaryFolder folder;
  return LoadFile(folder.File("model.onnx", bytes), std::move(settings));
}

// A configured model with one instance. The instance is declared last, so that it is destroyed
// first, as in the engine.
struct Ready {
  std::unique_ptr<Model> model;
  std::unique_ptr<Instance> instance;
  Status status;

  Ready(const OnnxModelWriter& writer, const ModelIo& io, SettingMap settings = {}) {
    auto loaded = LoadBytes(writer.Model(), std::move(settings));
    status = loaded.status();
    if (status.ok()) model = loaded.take();
    if (status.ok()) status = model->Configure(io, "{}");
    if (!status.ok()) return;
    auto created = model->CreateInstance({"m_0", 0, MemoryKind::kHost, 0});
    status = created.status();
    if (status.ok()) instance = created.take();
  }
};

// y = x of one type, [N, width]. A negative width is dynamic.
inline OnnxModelWriter Identity(OnnxType type, int64_t width) {
  const int64_t symbol = width < 0 ? -2 : width;  // not the symbol of the batch
  return OnnxModelWriter()
      .Input("x", Tensor(type, {-1, symbol}))
      .Node("Identity", {"x"}, {"y"})
      .Output("y", Tensor(type, {-1, symbol}));
}

inline ModelIo IdentityIo(DataType type, int64_t width) {
  return {8, {{"x", type, {-1, width}, false}}, {{"y", type, {-1, width}, false}}};
}

}  // namespace tritonts::test

// A test that is skipped unless a runtime library of at least version 1.`minor` is configured.
#define RUNTIME_TEST_FROM(minor, name)                                            \
  static void Runtime##name();                                                    \
  TEST(name) {                                                                    \
    if (LibraryPath().empty()) SKIP("TRITONTS_TEST_ORT_LIBRARY is not set");      \
    if (LibraryMinor() < minor) SKIP("needs ONNX Runtime 1." #minor " or newer"); \
    Runtime##name();                                                              \
  }                                                                               \
  static void Runtime##name()

// A test that is skipped unless a runtime library is configured.
#define RUNTIME_TEST(name)                                                   \
  static void Runtime##name();                                               \
  TEST(name) {                                                               \
    if (LibraryPath().empty()) SKIP("TRITONTS_TEST_ORT_LIBRARY is not set"); \
    Runtime##name();                                                         \
  }                                                                          \
  static void Runtime##name()
