// A library of operators for TensorFlow: TritontsTriple(x) = 3 x, for floats. It uses TensorFlow's
// C interface, whose declarations are here, so that it needs no headers.
#include <cstddef>
#include <cstdint>

extern "C" {
struct TF_KernelBuilder;
struct TF_OpDefinitionBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_ShapeInferenceContext;
struct TF_Status;
struct TF_Tensor;
TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status*);
TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char* specification);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char* specification);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*)(TF_ShapeInferenceContext*,
                                                              TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext*, TF_Status*);
TF_KernelBuilder* TF_NewKernelBuilder(const char* name, const char* device,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*),
                                      void (*destroy)(void*));
void TF_RegisterKernelBuilder(const char* kernel, TF_KernelBuilder*, TF_Status*);
void TF_GetInput(TF_OpKernelContext*, int index, TF_Tensor**, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int index, int type, const int64_t* dims,
                             int rank, size_t bytes, TF_Status*);
int TF_NumDims(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int index);
size_t TF_TensorByteSize(const TF_Tensor*);
void* TF_TensorData(const TF_Tensor*);
void TF_DeleteTensor(TF_Tensor*);
}

namespace {

constexpr int kFloat = 1;
constexpr int kMostDims = 8;
constexpr const char* kName = "TritontsTriple";

void Compute(void*, TF_OpKernelContext* context) {
  TF_Status* const status = TF_NewStatus();
  TF_Tensor* x = nullptr;
  TF_GetInput(context, 0, &x, status);
  int64_t dims[kMostDims];
  const int rank = TF_NumDims(x);
  for (int i = 0; i < rank && i < kMostDims; i++) dims[i] = TF_Dim(x, i);
  const size_t bytes = TF_TensorByteSize(x);
  TF_Tensor* const y = TF_AllocateOutput(context, 0, kFloat, dims, rank, bytes, status);
  const float* const from = static_cast<const float*>(TF_TensorData(x));
  float* const to = static_cast<float*>(TF_TensorData(y));
  for (size_t i = 0; i < bytes / sizeof(float); i++) to[i] = 3 * from[i];
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(status);
}

struct Registration {
  Registration() {
    TF_Status* const status = TF_NewStatus();
    TF_OpDefinitionBuilder* const definition = TF_NewOpDefinitionBuilder(kName);
    TF_OpDefinitionBuilderAddInput(definition, "x: float");
    TF_OpDefinitionBuilderAddOutput(definition, "y: float");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(definition,
                                                    TF_ShapeInferenceContextSetUnknownShape);
    TF_RegisterOpDefinition(definition, status);
    const auto create = [](TF_OpKernelConstruction*) -> void* { return nullptr; };
    TF_KernelBuilder* const kernel =
        TF_NewKernelBuilder(kName, "CPU", create, Compute, [](void*) {});
    TF_RegisterKernelBuilder(kName, kernel, status);
    TF_DeleteStatus(status);
  }
} const registration;

}  // namespace
