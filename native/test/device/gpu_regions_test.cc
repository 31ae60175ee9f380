// Memory of a GPU that other processes share. The fake driver's handle is the path of a file, which
// is the memory.
#include "device/gpu_regions.h"

#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "engine/memory/memory_copier.h"
#include "gpu_work.h"
#include "temporary_folder.h"

namespace tritonts::test {

namespace {

using device::GpuRegions;

// Memory of another process.
class Shared {
 public:
  explicit Shared(const std::string& bytes) : path_(folder_.File("m", bytes)) {}
  device::cuda::IpcHandle handle() const {
    device::cuda::IpcHandle handle{};
    CHECK(path_.size() < sizeof(handle.bytes));
    std::memcpy(handle.bytes, path_.data(), path_.size());
    return handle;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  TemporaryFolder folder_;
  const std::string path_;
};

// What a call has told.
class Told {
 public:
  GpuRegions::Done done() {
    return [this](const Status& status, const BlockRef& memory) {
      const std::lock_guard lock(mutex_);
      status_ = status;
      memory_ = memory;
      is_told_ = true;
      changed_.notify_all();
    };
  }
  const Status& status() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_told_; });
    return status_;
  }
  BlockRef take() {
    CHECK_EQ(status().message(), "");
    return std::move(memory_);
  }

 private:
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  bool is_told_ = false;
  Status status_;
  BlockRef memory_;
};

Status Open(GpuRegions& regions, int device, const Shared& shared, uint64_t size,
            BlockRef* memory = nullptr) {
  Told told;
  regions.Open(device, shared.handle(), size, told.done());
  const Status status = told.status();
  if (memory && status.ok()) *memory = told.take();
  return status;
}

Status Copy(GpuRegions& regions, Buffer from, Buffer to) {
  Told told;
  regions.Copy(std::move(from), std::move(to), told.done());
  return told.status();
}

Buffer Part(const BlockRef& memory, size_t offset, size_t size) {
  return {static_cast<char*>(memory->data()) + offset, size, memory->kind(), memory->device(),
          memory};
}

Buffer Here(char* data, size_t size) {
  Buffer here;
  here.data = data;
  here.size = size;
  return here;
}

}  // namespace

TEST(gpu_regions_are_read_and_written_and_close_with_their_last_reference) {
  {
    const Shared shared("0123456789");
    const auto regions = GpuRegions::Share();
    BlockRef memory;
    CHECK(Open(*regions, 1, shared, 8, &memory).ok());
    CHECK(memory->kind() == MemoryKind::kDevice);
    CHECK_EQ(memory->device(), 1);
    CHECK_EQ(memory->size(), 8u);
    char host[4] = {};
    CHECK(Copy(*regions, Part(memory, 2, 3), Here(host, sizeof(host))).ok());
    CHECK_EQ(std::string(host), "234");
    CHECK(Copy(*regions, Here(host, 3), Part(memory, 5, 3)).ok());
    CHECK_EQ(shared.bytes(), "0123423489");
    // On the calling thread, as a model's outputs are stored.
    char more[] = "abc";
    CHECK(CopyBytes(Here(more, 3), Part(memory, 0, 3)).ok());
    CHECK(CopyBytes(Part(memory, 0, 3), Part(memory, 5, 3)).ok());
    CHECK_EQ(shared.bytes(), "abc34abc89");
    // The GPU stays open for the memory alone.
    CHECK_EQ(Objects()[0], 1);
    std::thread([last = std::move(memory)]() mutable { last.reset(); }).join();
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_regions_share_one_thread_and_keep_their_gpu) {
  const Shared one("0123");
  const Shared two("4567");
  {
    const auto regions = GpuRegions::Share();
    CHECK(GpuRegions::Share() == regions);
    BlockRef first;
    BlockRef second;
    CHECK(Open(*regions, 0, one, 4, &first).ok());
    CHECK(Open(*regions, 0, two, 4, &second).ok());
    first.reset();
    char host[4] = {};
    CHECK(Copy(*regions, Part(second, 0, 4), Here(host, 4)).ok());
    CHECK_EQ(std::string(host, 4), "4567");
    // Opened again after all was closed.
    second.reset();
    CHECK(Open(*regions, 0, one, 4, &first).ok());
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_regions_that_cannot_be_opened_say_why) {
  const Shared shared("0123");
  {
    const auto regions = GpuRegions::Share();
    CHECK_EQ(Open(*regions, 0, shared, 5).message(), "the memory has 4 bytes, and so not 5");
    CHECK_EQ(Open(*regions, 7, shared, 4).message(), "there is no GPU 7, but 2 from 0 on");
    CHECK_EQ(Open(*regions, -1, shared, 4).message(), "there is no GPU -1, but 2 from 0 on");
    Told wrong;
    regions->Open(0, device::cuda::IpcHandle{}, 4, wrong.done());
    CHECK(wrong.status().code() == Code::kInvalidArg);
    CHECK_EQ(wrong.status().message(), "GPU 0: cuIpcOpenMemHandle failed with 1");
    CHECK(Objects() == kNone);
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_regions_survive_each_call_that_fails) {
  const Shared shared("0123");
  const auto regions = GpuRegions::Share();
  for (const char* function :
       {"cuDevicePrimaryCtxRetain", "cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority",
        "cuIpcOpenMemHandle_v2", "cuMemGetAddressRange_v2"}) {
    FailOnce(function, 2);
    const Status status = Open(*regions, 0, shared, 4);
    CHECK(Contains(status, "CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK(Objects() == kNone);
  }
  BlockRef memory;
  CHECK(Open(*regions, 0, shared, 4, &memory).ok());
  char host[4] = {'a', 'b', 'c', 'd'};
  FailOnce("cuMemcpyDtoHAsync_v2", 2);
  CHECK(Contains(Copy(*regions, Part(memory, 0, 4), Here(host, 4)), "CUDA_ERROR_OUT_OF_MEMORY"));
  FailOnce("cuMemcpyHtoDAsync_v2", 2);
  CHECK(Contains(Copy(*regions, Here(host, 4), Part(memory, 0, 4)), "CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK(Copy(*regions, Here(host, 4), Part(memory, 0, 4)).ok());
  CHECK_EQ(shared.bytes(), std::string(host, 4));
}

TEST(gpu_regions_of_a_lost_gpu_fail_and_are_given_back) {
  const Shared shared("0123");
  {
    const auto regions = GpuRegions::Share();
    BlockRef memory;
    CHECK(Open(*regions, 0, shared, 4, &memory).ok());
    LoseGpu(0);
    char host[4];
    const Status failed = Copy(*regions, Part(memory, 0, 4), Here(host, 4));
    CHECK(failed.reason() == Reason::kDeviceLost);
    // The lost context is given back, although its memory is in use, so that the GPU can be opened
    // again. What was open stays lost.
    BlockRef again;
    CHECK_EQ(Open(*regions, 0, shared, 4, &again).message(), "");
    CHECK(Copy(*regions, Part(again, 0, 4), Here(host, 4)).ok());
    CHECK(CopyBytes(Part(memory, 0, 4), Here(host, 4)).SameAs(failed));
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_regions_give_back_a_lost_gpu_by_themselves) {
  const Shared shared("0123");
  const auto regions = GpuRegions::Share();
  BlockRef memory;
  CHECK(Open(*regions, 0, shared, 4, &memory).ok());
  {
    const std::shared_ptr<device::Gpu> gpu = OpenGpu();
    LoseGpu(0);
    char host[4];
    CHECK(!CopyBytes(Part(memory, 0, 4), Here(host, 4)).ok());
    CHECK(gpu->lost());
  }
  while (Objects() != kNone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_EQ(OpenGpu()->fault().message(), "");
}

TEST(gpu_regions_end_without_a_driver_that_answers) {
  const Shared shared("0123");
  BlockRef memory;
  char host[4] = {};
  Told told;
  HeldWork held(GpuWork::kDown);
  {
    const auto regions = GpuRegions::Share();
    CHECK(Open(*regions, 0, shared, 4, &memory).ok());
    regions->Copy(Part(memory, 0, 4), Here(host, 4), told.done());
  }
  held.Release();
  CHECK_EQ(told.status().message(), "");
  CHECK_EQ(std::string(host, 4), "0123");
  memory.reset();
  while (Objects() != kNone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(gpu_regions_in_use_after_their_server_close_later) {
  const Shared shared("0123");
  BlockRef memory;
  {
    const auto regions = GpuRegions::Share();
    CHECK(Open(*regions, 0, shared, 4, &memory).ok());
  }
  char host[4] = {};
  CHECK(CopyBytes(Part(memory, 0, 4), Here(host, 4)).ok());
  CHECK_EQ(std::string(host, 4), "0123");
  memory.reset();
  while (Objects() != kNone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tritonts::test
