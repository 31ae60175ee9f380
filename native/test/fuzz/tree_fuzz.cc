// Damages model files of trees at random, and reads them. Each must be refused with a message, or
// give a forest that keeps the promises of its header; within bounds of memory and time.
//
//   tritonts_tree_fuzz [--seconds <n>] [--seed <n>] [file]...
//
// Files are further models to begin with; their format follows from their names, as a repository
// has them. Sanitizers find what is read outside.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "backends/fil/read_forest.h"
#include "naive_forest.h"
#include "tree_files.h"

namespace {

// The bytes that are allocated, and the most of them since it was set. One thread only.
size_t allocated = 0;
size_t most = 0;
constexpr size_t kHeader = 2 * sizeof(void*);

void* Allocate(size_t size) {
  void* memory =
      size > std::numeric_limits<size_t>::max() - kHeader ? nullptr : std::malloc(size + kHeader);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<size_t*>(memory) = size;
  allocated += size;
  most = std::max(most, allocated);
  return static_cast<char*>(memory) + kHeader;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  void* const begin = static_cast<char*>(memory) - kHeader;
  allocated -= *static_cast<size_t*>(begin);
  std::free(begin);
}

}  // namespace

void* operator new(size_t size) {
  return Allocate(size);
}
void* operator new[](size_t size) {
  return Allocate(size);
}
void operator delete(void* memory) noexcept {
  Free(memory);
}
void operator delete[](void* memory) noexcept {
  Free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  Free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  Free(memory);
}

namespace tritonts::test {

namespace {

using fil::Forest;
using fil::Format;

struct Model {
  std::string name;
  Format format;
  std::string bytes;
};

struct Counts {
  uint64_t runs = 0;
  uint64_t read = 0;
};

class Fuzzer {
 public:
  explicit Fuzzer(uint64_t seed) : random_(seed) {
    TreeliteFile vectors;
    vectors.classes = {3};
    vectors.leaf_shape = {1, 3};
    vectors.class_of_tree = {-1};
    vectors.base = {0, 0, 0};
    vectors.vectors = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    vectors.vector_begin = {0, 0, 3, 3, 6};
    vectors.vector_end = {0, 3, 3, 6, 9};
    models_ = {
        {"JSON", Format::kXgboostJson, TreesAsJson()},
        {"JSON", Format::kXgboostJson, VectorsAsJson()},
        {"UBJSON", Format::kXgboostUbj, AsUbj(TreesAsJson(), false)},
        {"UBJSON", Format::kXgboostUbj, AsUbj(TreesAsJson(), true)},
        {"UBJSON", Format::kXgboostUbj, AsUbj(VectorsAsJson(), true)},
        {"legacy", Format::kXgboostLegacy, TreesAsLegacy()},
        {"LightGBM", Format::kLightgbm, TreesAsLightgbm()},
        {"LightGBM", Format::kLightgbm, TreesAsLinear()},
        {"Treelite", Format::kTreelite, TreesAsTreelite()},
        {"Treelite", Format::kTreelite, vectors.Bytes()},
        {"Treelite", Format::kTreelite, TreesAsOlderTreelite(false)},
        {"Treelite", Format::kTreelite, TreesAsOlderTreelite(true)},
    };
  }

  // False if the file cannot be read, or its name says no format.
  bool Add(const std::string& path) {
    static const std::map<std::string, std::pair<const char*, Format>> kEnds = {
        {"json", {"JSON", Format::kXgboostJson}},      {"ubj", {"UBJSON", Format::kXgboostUbj}},
        {"model", {"legacy", Format::kXgboostLegacy}}, {"txt", {"LightGBM", Format::kLightgbm}},
        {"tl", {"Treelite", Format::kTreelite}},
    };
    const auto end = kEnds.find(path.substr(path.rfind('.') + 1));
    std::ifstream file(path, std::ios::binary);
    if (end == kEnds.end() || !file) return false;
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    models_.push_back({end->second.first, end->second.second, bytes});
    return true;
  }

  // What is wrong with the models as they are; empty if nothing is.
  std::string CheckModels() {
    for (const Model& model : models_) {
      const auto read = fil::ReadForest(model.format, model.bytes);
      if (!read.ok()) return model.name + ": " + read.status().message();
    }
    return "";
  }

  // Reads one damaged file; returns what went wrong, or nothing.
  std::string Run() {
    const Model& model = models_[Below(models_.size())];
    last_ = model.bytes;
    for (size_t left = 1 + Below(4); left > 0 || last_ == model.bytes; left -= left > 0 ? 1 : 0) {
      Damage(model.format);
    }
    Counts& counts = counts_[model.name];
    counts.runs++;
    const size_t before = allocated;
    most = before;
    const auto begin = std::chrono::steady_clock::now();
    StatusOr<Forest> read = fil::ReadForest(model.format, last_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    // Sets of categories may always have 64 MiB, and grow by doubling.
    const size_t limit = (size_t{256} << 20) + 64 * last_.size();
    if (most - before > limit) return "it took " + std::to_string(most - before) + " bytes";
    if (took.count() > 10) return "it took " + std::to_string(took.count()) + " s";
    if (!read.ok()) {
      const Status status = read.status();
      if (status.message().empty()) return "it was refused without a message";
      return status.code() == Code::kInvalidArg || status.code() == Code::kUnsupported
                 ? ""
                 : "it was refused as " + status.message();
    }
    counts.read++;
    const std::string fault = FaultOf(read.value());
    if (!fault.empty()) return "the forest breaks a promise: " + fault;
    Evaluate(read.value());
    return "";
  }

  const std::string& last() const { return last_; }
  const std::map<std::string, Counts>& counts() const { return counts_; }

 private:
  static std::string VectorsAsJson() {
    const std::string json =
        Replaced(TreesAsJson(), R"("size_leaf_vector":"1")", R"("size_leaf_vector":"3")");
    const std::string weights =
        Replaced(json, R"("id":0)", R"("leaf_weights":[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0])");
    return Replaced(
        Replaced(weights, R"("right_children":[2,-1,4,-1,-1])", R"("right_children":[2,0,4,1,2])"),
        R"("num_class":"0")", R"("num_class":"3")");
  }

  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void Evaluate(const Forest& forest) {
    constexpr uint32_t kMostFeatures = 1000;
    if (forest.features > kMostFeatures || forest.columns > kMostFeatures) return;
    std::vector<float> row(forest.features);
    for (float& value : row) {
      const float values[] = {0, 1, -1, 0.5f, 1e9f, 33, -0.5f, INFINITY, NAN, 3};
      value = values[Below(std::size(values))];
    }
    MarginsOf(forest, row);
  }

  void Damage(Format format) {
    const bool is_text = format == Format::kXgboostJson || format == Format::kLightgbm;
    const size_t at = Below(last_.size());
    switch (Below(is_text ? 8 : 7)) {
      case 0:
        if (!last_.empty()) last_[at] = static_cast<char>(random_());
        return;
      case 1:
        if (!last_.empty()) last_[at] = static_cast<char>(last_[at] ^ 1 << Below(8));
        return;
      case 2:
        last_.insert(at, 1 + Below(4), static_cast<char>(random_()));
        return;
      case 3:
        last_.erase(at, 1 + Below(Below(4) == 0 ? 1000 : 8));
        return;
      case 4: {
        // A piece of this file or of another one of the format, in another place.
        const Model& other = models_[Below(models_.size())];
        const std::string& from = other.format == format ? other.bytes : last_;
        const std::string piece = from.substr(Below(from.size()), 1 + Below(64));
        if (Below(2) == 0) {
          last_.insert(at, piece);
        } else {
          last_.replace(at, std::min(piece.size(), last_.size() - at), piece);
        }
        return;
      }
      case 5:
        if (Below(4) == 0) last_.resize(at);
        return;
      case 6: {
        // A whole number of several bytes, in either order.
        const uint64_t numbers[] = {0,
                                    1,
                                    2,
                                    ~uint64_t{0},
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x10000,
                                    uint64_t{1} << 63,
                                    5,
                                    Below(256),
                                    random_(),
                                    0x7ff8000000000000};
        uint64_t number = numbers[Below(std::size(numbers))];
        const size_t size = size_t{1} << Below(4);
        std::string raw(size, '\0');
        const bool is_big = Below(2) == 0;
        for (size_t i = 0; i < size; i++, number >>= 8) {
          raw[is_big ? size - 1 - i : i] = static_cast<char>(number);
        }
        last_.replace(at, std::min(size, last_.size() - at), raw);
        return;
      }
      default: {
        // Another number in a text.
        const char* const numbers[] = {
            "0",           "1",          "-1",       "2147483647",
            "-2147483648", "4294967295", "1e9",      "nan",
            "inf",         "NaN",        "16777215", "1e-400",
            "3",           "0.25",       "-3",       "99999999999999999999"};
        const size_t begin = last_.find_first_of("-0123456789", at);
        if (begin == std::string::npos) return;
        const size_t end = last_.find_first_not_of("-.0123456789", begin);
        last_.replace(begin, end == std::string::npos ? end : end - begin,
                      numbers[Below(std::size(numbers))]);
        return;
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Model> models_;
  std::string last_;
  std::map<std::string, Counts> counts_;
};

int Main(int argc, char** argv) {
  double seconds = 60;
  uint64_t seed = std::random_device{}();
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (option == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      files.push_back(option);
    }
  }
  Fuzzer fuzzer(seed);
  for (const std::string& file : files) {
    if (fuzzer.Add(file)) continue;
    std::fprintf(stderr, "%s cannot be read, or is of no known format\n", file.c_str());
    return 2;
  }
  std::string fault = fuzzer.CheckModels();
  const auto begin = std::chrono::steady_clock::now();
  while (fault.empty() &&
         std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds)) {
    fault = fuzzer.Run();
  }
  uint64_t runs = 0;
  for (const auto& [name, counts] : fuzzer.counts()) {
    std::printf("%-10s %10llu executions, of which %llu gave a forest\n", name.c_str(),
                static_cast<unsigned long long>(counts.runs),
                static_cast<unsigned long long>(counts.read));
    runs += counts.runs;
  }
  std::printf("seed %llu: %llu executions\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(runs));
  if (fault.empty()) return 0;
  std::ofstream("tree_fuzz.failed", std::ios::binary) << fuzzer.last();
  std::printf("failed: %s; the file is tree_fuzz.failed\n", fault.c_str());
  return 1;
}

}  // namespace

}  // namespace tritonts::test

int main(int argc, char** argv) {
  return tritonts::test::Main(argc, argv);
}
