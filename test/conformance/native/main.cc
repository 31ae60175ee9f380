// Runs exported cases through the bare runtime.
//
//   bare_runtime LIBRARY < folders
//
// Reads folders from standard input, one per line. For each folder it loads 1/model.onnx, runs it
// with inputs.bin, and writes the outputs to bare.bin. Then it prints a line: `ok`, or the failed
// step (`load` or `run`), a tab, and the runtime's text.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "model.h"

namespace tritonts::onnxruntime::bare {

namespace {

struct Outcome {
  std::string word;
  Status status;
};

Outcome RunCase(const Runtime& runtime, const std::filesystem::path& folder) {
  auto inputs = ReadTensors(folder / "inputs.bin");
  if (!inputs.ok()) return {"run", inputs.status()};
  Model model(runtime);
  Status status = model.Load(folder / "1" / "model.onnx");
  if (!status.ok()) return {"load", status};
  auto outputs = model.Run(inputs.value());
  if (!outputs.ok()) return {"run", outputs.status()};
  status = WriteTensors(folder / "bare.bin", outputs.value());
  return {status.ok() ? "ok" : "run", status};
}

int RunAll(const std::string& library) {
  auto runtime = Runtime::Open(library);
  if (!runtime.ok()) {
    std::cerr << runtime.status().message() << std::endl;
    return 1;
  }
  for (std::string folder; std::getline(std::cin, folder);) {
    const Outcome outcome = RunCase(runtime.value(), folder);
    std::string text = outcome.status.message();
    std::replace(text.begin(), text.end(), '\n', ' ');
    // Flush, so that the lines show the case on which the runtime crashed.
    std::cout << outcome.word << '\t' << text << std::endl;
  }
  return 0;
}

}  // namespace

}  // namespace tritonts::onnxruntime::bare

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bare_runtime LIBRARY < folders" << std::endl;
    return 1;
  }
  return tritonts::onnxruntime::bare::RunAll(argv[1]);
}
