// Shared by the bare loops: what a tensor is, the requests, the clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace tritonts::bench {

// Different requests, as many as the other contestants have.
constexpr size_t kRequests = 64;

// Ends the program on an error.
inline void Check(const Status& status) {
  if (status.ok()) return;
  std::cerr << status.message() << '\n';
  std::exit(1);
}

// An input or output: its name, whether it has ids (INT64) instead of floats, and the dims of one
// item.
struct Tensor {
  std::string name;
  bool ids = false;
  std::vector<int64_t> dims;

  size_t elements() const {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    return count;
  }
  size_t bytes() const { return elements() * (ids ? 8 : 4); }
  std::vector<int64_t> Shape(int64_t batch) const {
    std::vector<int64_t> shape = {batch};
    shape.insert(shape.end(), dims.begin(), dims.end());
    return shape;
  }
};

// Numbers that any model takes: small floats, or ids below 1,024.
inline std::vector<char> MakeRequest(const Tensor& tensor, uint32_t seed) {
  std::vector<char> bytes(tensor.bytes());
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < tensor.elements(); i++) {
    state = state * 1664525u + 1013904223u;
    if (tensor.ids) {
      const int64_t value = state >> 22;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    } else {
      const float value = static_cast<float>(state >> 8) / (1 << 23) - 1;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    }
  }
  return bytes;
}

// The memory of the requests, which a batch is gathered from.
class Requests {
 public:
  explicit Requests(const Tensor& tensor) {
    for (uint32_t i = 0; i < kRequests; i++) requests_.push_back(MakeRequest(tensor, i));
  }
  void Gather(int64_t batch, char* target) {
    for (int64_t i = 0; i < batch; i++) {
      const std::vector<char>& request = requests_[next_++ % kRequests];
      std::memcpy(target, request.data(), request.size());
      target += request.size();
    }
  }

 private:
  std::vector<std::vector<char>> requests_;
  size_t next_ = 0;
};

// Runs batches for about this time, and prints how many items that were. The first run with a shape
// plans its memory, and is not counted.
template <typename Run>
void Measure(int64_t batch, std::chrono::milliseconds time, const Run& run) {
  run();
  int64_t items = 0;
  const auto start = std::chrono::steady_clock::now();
  auto now = start;
  while (now - start < time) {
    run();
    items += batch;
    now = std::chrono::steady_clock::now();
  }
  const double seconds = std::chrono::duration<double>(now - start).count();
  std::printf("{\"batch\":%lld,\"items\":%lld,\"seconds\":%.6f}\n", static_cast<long long>(batch),
              static_cast<long long>(items), seconds);
  std::fflush(stdout);
}

inline std::vector<int64_t> ReadDims(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream stream(text);
  for (std::string dim; std::getline(stream, dim, ',');) dims.push_back(std::atoll(dim.c_str()));
  return dims;
}

// The arguments of a loop: see the head of bare_loop.cc.
struct Arguments {
  std::string library;
  std::string model;
  int threads = 1;
  Tensor input;
  Tensor output;
};

inline Arguments ReadArguments(int count, char** arguments) {
  if (count != 9) {
    std::cerr << "usage: " << arguments[0]
              << " <library> <model> <threads> <input> <FP32|INT64> <dims> <output> <dims>\n";
    std::exit(2);
  }
  return {arguments[1],
          arguments[2],
          std::atoi(arguments[3]),
          {arguments[4], std::string(arguments[5]) == "INT64", ReadDims(arguments[6])},
          {arguments[7], false, ReadDims(arguments[8])}};
}

// Answers the lines of standard input. `measure` gets a batch size and a time.
template <typename Function>
void AnswerLines(const Function& measure) {
  int64_t batch = 0;
  int64_t milliseconds = 0;
  while (std::cin >> batch >> milliseconds) {
    measure(batch, std::chrono::milliseconds(milliseconds));
  }
}

}  // namespace tritonts::bench
