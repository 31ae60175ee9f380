#include "bench.h"

namespace tritonts::test {

namespace {

// For all GPUs with compute capability 5.0 or more: the driver compiles it.
constexpr char kPtx[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry add_one(.param .u64 to, .param .u64 from, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.u32 %rd5, %r5, 4;
  add.s64 %rd6, %rd4, %rd5;
  add.s64 %rd7, %rd3, %rd5;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%rd7], %f2;
DONE:
  ret;
}
)";
constexpr unsigned kThreads = 256;

}  // namespace

AddOne::AddOne(const device::Gpu& gpu) : gpu_(gpu) {
  using Load = int (*)(void**, const void*, unsigned, int*, void**);
  using Find = int (*)(void**, void*, const char*);
  ExpectDriver(gpu,
               reinterpret_cast<Load>(DriverSymbol("cuModuleLoadDataEx"))(&module_, kPtx, 0,
                                                                          nullptr, nullptr),
               "cuModuleLoadDataEx");
  ExpectDriver(
      gpu,
      reinterpret_cast<Find>(DriverSymbol("cuModuleGetFunction"))(&function_, module_, "add_one"),
      "cuModuleGetFunction");
}

AddOne::~AddOne() {
  (void)reinterpret_cast<int (*)(void*)>(DriverSymbol("cuModuleUnload"))(module_);
}

Status AddOne::Launch(device::cuda::Stream stream, device::cuda::Address to,
                      device::cuda::Address from, size_t count) const {
  using Function = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, device::cuda::Stream, void**, void**);
  static const auto launch = reinterpret_cast<Function>(DriverSymbol("cuLaunchKernel"));
  auto number = static_cast<uint32_t>(count);
  void* arguments[] = {&to, &from, &number};
  return gpu_.Check(launch(function_, (number + kThreads - 1) / kThreads, 1, 1, kThreads, 1, 1, 0,
                           stream, arguments, nullptr),
                    "cuLaunchKernel");
}

}  // namespace tritonts::test
