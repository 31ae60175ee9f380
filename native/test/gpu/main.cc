// Checks and measures the GPUs of this machine through the layer that the server uses.
//
//   tritonts_gpu [seconds]
//
// Each figure is measured for this long; default 1. Without a GPU it prints the reason and exits
// with 0.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench.h"
#include "platform/dynamic_library.h"

namespace tritonts::test {

void Expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::exit(1);
}

void Expect(const Status& status) {
  Expect(status.ok(), status.message());
}

void ExpectDriver(const device::Gpu& gpu, int result, const char* function) {
  Expect(gpu.Check(result, function));
}

void* DriverSymbol(const char* symbol) {
  std::string fault;
  static const auto library = platform::DynamicLibrary::Open(device::Driver::kFile, &fault);
  Expect(library.has_value(), fault);
  void* const found = library->Symbol(symbol);
  Expect(found != nullptr, std::string("the driver has no ") + symbol);
  return found;
}

namespace {

constexpr int kRounds = 5;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints a row: the engine beside the bare loop, measured alternately.
void PrintRow(const std::shared_ptr<device::Gpu>& gpu, const char* name, const Load& load,
              double seconds) {
  std::vector<double> engine;
  std::vector<double> bare;
  std::vector<double> ratios;
  std::vector<double> rows;
  for (int i = 0; i < kRounds; i++) {
    bare.push_back(RunBare(gpu, load, seconds).rows_a_second);
    const Measured measured = RunEngine(gpu, load, seconds);
    engine.push_back(measured.rows_a_second);
    rows.push_back(measured.rows_a_second / measured.batches_a_second);
    ratios.push_back(engine.back() / bare.back());
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("| %s | %u | %.0f | %.1f | %.0f | %.2f (%.2f to %.2f) |\n", name, load.lanes,
              Median(engine), Median(rows), Median(bare), Median(ratios), *least, *most);
}

int Main(double seconds) {
  const device::CudaDevices& found = device::FindCudaDevices();
  if (found.devices.empty()) {
    std::printf("skipped: there is no GPU: %s\n", found.reason.c_str());
    return 0;
  }
  std::printf("driver %s, CUDA %d.%d\n", found.driver->path().c_str(),
              found.driver->version() / 1000, found.driver->version() / 10 % 100);
  for (size_t i = 0; i < found.devices.size(); i++) {
    const device::CudaDevice& device = found.devices[i];
    std::printf("GPU %zu: %s\n", i,
                device.fault.empty() ? device.name.c_str() : device.fault.c_str());
    if (!device.fault.empty()) continue;
    auto gpu = device::Gpu::Open(found.driver, static_cast<int>(i));
    Expect(gpu.status());
    CheckGpu(gpu.value());
    CheckSharing(gpu.value());
    if (i > 0) continue;
    PrintBandwidths(gpu.value());
    std::printf(
        "\n| rows of floats through a kernel, 64 at once | batches under way | rows/s | rows a "
        "batch | bare loop's rows/s | ratio |\n| --- | --- | --- | --- | --- | --- |\n");
    for (const uint32_t lanes : {1U, 2U}) {
      PrintRow(gpu.value(), "of 256", {64, 64, lanes, 256}, seconds);
      PrintRow(gpu.value(), "of 262,144, 16 a batch", {64, 16, lanes, 262144}, seconds);
    }
  }
  return 0;
}

}  // namespace

}  // namespace tritonts::test

int main(int count, char** arguments) {
  if (count == 4 && std::string(arguments[1]) == "--open") {
    return tritonts::test::OpenShared(std::atoi(arguments[2]), arguments[3]);
  }
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  return tritonts::test::Main(seconds > 0 ? seconds : 1);
}
