// TensorFlow's C interface, declared here because its headers are not used: the types, and the
// functions that this backend calls. They are those of 2.4 and newer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../common/handle.h"

namespace tritonts::tensorflow {

// Objects of the library. Their content is its own.
struct TfStatus;
struct TfSessionOptions;
struct TfGraph;
struct TfSession;
struct TfOperation;
struct TfTensor;
struct TfImportOptions;
struct TfLibrary;

struct TfBuffer {
  const void* data;
  size_t length;
  void (*deallocator)(void* data, size_t length);
};
// An output of an operation.
struct TfOutput {
  TfOperation* operation;
  int index;
};
// An element of a string tensor. Its content is the library's own; zeros are an empty string.
struct alignas(8) TfString {
  char content[24];
};

// Results of functions: the codes of a TfStatus.
constexpr int kTfOk = 0;
constexpr int kTfCancelled = 1;
constexpr int kTfNotFound = 5;
constexpr int kTfResourceExhausted = 8;

// The functions by their names in the library, without "TF_".
//
// OF(name, result, parameters): every supported version has it. MAYBE: some may lack it.
#define TRITONTS_TENSORFLOW_FUNCTIONS(OF, MAYBE)                                                \
  OF(Version, const char*, ())                                                                  \
  OF(NewStatus, TfStatus*, ())                                                                  \
  OF(DeleteStatus, void, (TfStatus*))                                                           \
  OF(GetCode, int, (const TfStatus*))                                                           \
  OF(Message, const char*, (const TfStatus*))                                                   \
  OF(NewBuffer, TfBuffer*, ())                                                                  \
  OF(NewBufferFromString, TfBuffer*, (const void*, size_t))                                     \
  OF(DeleteBuffer, void, (TfBuffer*))                                                           \
  OF(NewSessionOptions, TfSessionOptions*, ())                                                  \
  OF(DeleteSessionOptions, void, (TfSessionOptions*))                                           \
  OF(SetConfig, void, (TfSessionOptions*, const void*, size_t, TfStatus*))                      \
  OF(NewGraph, TfGraph*, ())                                                                    \
  OF(DeleteGraph, void, (TfGraph*))                                                             \
  OF(LoadSessionFromSavedModel, TfSession*,                                                     \
     (const TfSessionOptions*, const TfBuffer*, const char*, const char* const*, int, TfGraph*, \
      TfBuffer*, TfStatus*))                                                                    \
  OF(NewImportGraphDefOptions, TfImportOptions*, ())                                            \
  OF(DeleteImportGraphDefOptions, void, (TfImportOptions*))                                     \
  OF(GraphImportGraphDef, void, (TfGraph*, const TfBuffer*, const TfImportOptions*, TfStatus*)) \
  OF(NewSession, TfSession*, (TfGraph*, const TfSessionOptions*, TfStatus*))                    \
  OF(CloseSession, void, (TfSession*, TfStatus*))                                               \
  OF(DeleteSession, void, (TfSession*, TfStatus*))                                              \
  OF(SessionRun, void,                                                                          \
     (TfSession*, const TfBuffer*, const TfOutput*, TfTensor* const*, int, const TfOutput*,     \
      TfTensor**, int, const TfOperation* const*, int, TfBuffer*, TfStatus*))                   \
  OF(GraphOperationByName, TfOperation*, (TfGraph*, const char*))                               \
  OF(OperationNumOutputs, int, (TfOperation*))                                                  \
  OF(OperationOutputType, int, (TfOutput))                                                      \
  OF(GraphGetTensorNumDims, int, (TfGraph*, TfOutput, TfStatus*))                               \
  OF(GraphGetTensorShape, void, (TfGraph*, TfOutput, int64_t*, int, TfStatus*))                 \
  OF(NewTensor, TfTensor*,                                                                      \
     (int, const int64_t*, int, void*, size_t, void (*)(void*, size_t, void*), void*))          \
  OF(DeleteTensor, void, (TfTensor*))                                                           \
  OF(TensorType, int, (const TfTensor*))                                                        \
  OF(NumDims, int, (const TfTensor*))                                                           \
  OF(Dim, int64_t, (const TfTensor*, int))                                                      \
  OF(TensorByteSize, size_t, (const TfTensor*))                                                 \
  OF(TensorData, void*, (const TfTensor*))                                                      \
  OF(StringInit, void, (TfString*))                                                             \
  OF(StringCopy, void, (TfString*, const char*, size_t))                                        \
  OF(StringDealloc, void, (TfString*))                                                          \
  OF(StringGetDataPointer, const char*, (const TfString*))                                      \
  OF(StringGetSize, size_t, (const TfString*))                                                  \
  OF(LoadLibrary, TfLibrary*, (const char*, TfStatus*))                                         \
  MAYBE(GraphGetOpDef, void, (TfGraph*, const char*, TfBuffer*, TfStatus*))

struct Table {
#define TRITONTS_TENSORFLOW_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TRITONTS_TENSORFLOW_FUNCTIONS(TRITONTS_TENSORFLOW_MEMBER, TRITONTS_TENSORFLOW_MEMBER)
#undef TRITONTS_TENSORFLOW_MEMBER
};

using StatusObject = Handle<Table, TfStatus, &Table::DeleteStatus>;
using BufferObject = Handle<Table, TfBuffer, &Table::DeleteBuffer>;
using SessionOptions = Handle<Table, TfSessionOptions, &Table::DeleteSessionOptions>;
using ImportOptions = Handle<Table, TfImportOptions, &Table::DeleteImportGraphDefOptions>;
using Graph = Handle<Table, TfGraph, &Table::DeleteGraph>;
using TensorObject = Handle<Table, TfTensor, &Table::DeleteTensor>;

}  // namespace tritonts::tensorflow
