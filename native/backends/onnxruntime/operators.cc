#include "operators.h"

#include <algorithm>
#include <array>

namespace tritonts::onnxruntime {

namespace {

struct Row {
  std::string_view name;
  bool rows_vary;
  bool time_varies;
};

// Operators of ONNX and of its domain for classical machine learning. For an operator not listed
// here, rows and time follow from the shapes of its inputs. Some operators have a shape as an
// input, but models nearly always compute that from shapes, too. The rows of an If follow from the
// operators of its branches.
constexpr std::array kOnnx = std::to_array<Row>({
    {"Compress", true, true},
    {"ConcatFromSequence", true, true},
    {"If", false, true},
    {"Loop", true, true},
    {"NonMaxSuppression", true, true},
    {"NonZero", true, true},
    {"Optional", true, true},
    {"OptionalGetElement", true, true},
    {"OptionalHasElement", true, true},
    {"Range", false, true},
    {"Scan", true, true},
    {"SequenceAt", true, true},
    {"SequenceConstruct", true, true},
    {"SequenceEmpty", true, true},
    {"SequenceErase", true, true},
    {"SequenceInsert", true, true},
    {"SequenceLength", true, true},
    {"SequenceMap", true, true},
    {"SplitToSequence", true, true},
    {"StringNormalizer", true, true},
    {"StringSplit", false, true},
    {"Unique", true, true},
    {"ZipMap", true, true},
});

// Operators that ONNX Runtime adds.
constexpr std::array kRuntime = std::to_array<Row>({
    {"BeamSearch", true, true},
    {"BifurcationDetector", true, true},
    {"DynamicTimeWarping", true, true},
    {"EPContext", true, true},
    {"GreedySearch", true, true},
    {"Range", false, true},
    {"RemovePadding", true, true},
    {"RestorePadding", true, true},
    {"Sampling", true, true},
    {"Tokenizer", false, true},
    {"Unique", true, true},
    {"WhisperBeamSearch", true, true},
});

template <size_t kCount>
OperatorTraits Find(const std::array<Row, kCount>& rows, std::string_view name) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [name](const Row& candidate) { return candidate.name == name; });
  return row == rows.end() ? OperatorTraits{}
                           : OperatorTraits{true, row->rows_vary, row->time_varies};
}

}  // namespace

OperatorTraits TraitsOf(std::string_view domain, std::string_view name) {
  if (domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.ml") return Find(kOnnx, name);
  if (domain == "com.microsoft") return Find(kRuntime, name);
  // Files that the runtime saved contain these domains, with convolutions rewritten for other
  // layouts.
  if (domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc") return {};
  return {false, true, true};
}

}  // namespace tritonts::onnxruntime
