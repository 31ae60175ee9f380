#include "gather_kernel.h"

#include <algorithm>

#include "gpu.h"

namespace tritonts::device {

namespace {

// The driver compiles this for GPUs with compute capability 5.0 or more. A block of threads copies
// a slice of a piece: the block's first index selects the piece, the second the slice. A thread
// copies 16 bytes at a time if addresses and size allow it, else one.
constexpr char kPtx[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry gather(.param .u64 table)
{
  .reg .pred %p<6>;
  .reg .b16 %h<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<16>;
  ld.param.u64 %rd1, [table];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 24;
  add.s64 %rd2, %rd1, %rd2;
  ld.global.u64 %rd3, [%rd2];
  ld.global.u64 %rd4, [%rd2+8];
  ld.global.u64 %rd5, [%rd2+16];
  cvta.to.global.u64 %rd3, %rd3;
  cvta.to.global.u64 %rd4, %rd4;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %rd6, %r5;
  mov.u32 %r6, %nctaid.y;
  mul.wide.u32 %rd7, %r6, %r3;
  or.b64 %rd8, %rd3, %rd4;
  or.b64 %rd8, %rd8, %rd5;
  and.b64 %rd9, %rd8, 15;
  setp.ne.u64 %p1, %rd9, 0;
  @%p1 bra NARROW;
  shl.b64 %rd6, %rd6, 4;
  shl.b64 %rd7, %rd7, 4;
WIDE:
  setp.ge.u64 %p2, %rd6, %rd5;
  @%p2 bra DONE;
  add.s64 %rd10, %rd3, %rd6;
  add.s64 %rd11, %rd4, %rd6;
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd10];
  st.global.v4.u32 [%rd11], {%r7, %r8, %r9, %r10};
  add.s64 %rd6, %rd6, %rd7;
  bra WIDE;
NARROW:
  setp.ge.u64 %p3, %rd6, %rd5;
  @%p3 bra DONE;
  add.s64 %rd10, %rd3, %rd6;
  add.s64 %rd11, %rd4, %rd6;
  ld.global.u8 %h1, [%rd10];
  st.global.u8 [%rd11], %h1;
  add.s64 %rd6, %rd6, %rd7;
  bra NARROW;
DONE:
  ret;
}
)";
constexpr unsigned kThreads = 256;
// The bytes that a block copies of a large piece, and the maximum number of blocks per piece.
constexpr size_t kSlice = size_t{64} << 10;
constexpr size_t kMostSlices = 64;

}  // namespace

StatusOr<std::unique_ptr<GatherKernel>> GatherKernel::Load(const Gpu& gpu) {
  std::unique_ptr<GatherKernel> kernel(new GatherKernel(gpu));
  Status status =
      gpu.Check(gpu.call().ModuleLoadDataEx(&kernel->module_, kPtx, 0, nullptr, nullptr),
                "cuModuleLoadDataEx");
  if (!status.ok()) {
    kernel->module_ = nullptr;
    return status;
  }
  status = gpu.Check(gpu.call().ModuleGetFunction(&kernel->kernel_, kernel->module_, "gather"),
                     "cuModuleGetFunction");
  if (!status.ok()) return status;
  return kernel;
}

GatherKernel::~GatherKernel() {
  // Calls on a lost device fail and free nothing. The process goes on without the device.
  if (module_) (void)gpu_.call().ModuleUnload(module_);
}

Status GatherKernel::Launch(const Piece* pieces, size_t count, size_t largest,
                            cuda::Stream stream) const {
  auto table = reinterpret_cast<cuda::Address>(pieces);
  void* arguments[] = {&table};
  const auto slices =
      static_cast<unsigned>(std::clamp<size_t>((largest + kSlice - 1) / kSlice, 1, kMostSlices));
  return gpu_.Check(gpu_.call().LaunchKernel(kernel_, static_cast<unsigned>(count), slices, 1,
                                             kThreads, 1, 1, 0, stream, arguments, nullptr),
                    "cuLaunchKernel");
}

}  // namespace tritonts::device
