// Computes the outputs of a model of trees: margins, transformed values, classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiled_forest.h"
#include "engine/base/status.h"
#include "ranks.h"
#include "walk.h"

namespace tritonts::fil {

// What an output has for each row.
enum class Answer : uint8_t {
  kValues,      // the transformed values of all columns
  kClass,       // the class: of one column by the threshold, else the index of the greatest value
  kTwoColumns,  // [1 - p, p] of a model with one column
};

struct AnswerRule {
  Answer answer = Answer::kValues;
  float threshold = 0.5F;

  // The values of a row.
  size_t width(const CompiledForest& forest) const;
};

// The memory that one thread needs. Not thread-safe.
class Scratch {
 public:
  // Throws std::bad_alloc.
  void Reserve(const CompiledForest& forest, size_t rows);

  // A register of a kernel then never reads two cache lines.
  LineVector<uint16_t> ranks;
  LineVector<float> float_sums;
  LineVector<double> double_sums;
  std::vector<double> explained;  // SHAP values of a row
};

// Evaluates a forest. Immutable, so any thread may use it. The forest must outlive it.
class Evaluator {
 public:
  explicit Evaluator(const CompiledForest& forest, const Kernel& kernel = *Kernels().front());

  // Rows that are evaluated together, so that they and the trees stay in the caches.
  size_t chunk_rows() const { return chunk_rows_; }
  // Evaluates at most chunk_rows() rows. `output` gets rule.width() values for each.
  void Evaluate(const Rows& rows, const AnswerRule& rule, Scratch* scratch, float* output) const;
  // About the time of so many rows on one thread.
  double EstimatedNs(size_t rows) const { return static_cast<double>(rows) * row_ns_; }

 private:
  template <typename Sum>
  void EvaluateAs(const Rows& rows, const AnswerRule& rule, Scratch* scratch, Sum* sums,
                  float* output) const;
  template <typename Sum>
  void EvaluateEach(const Rows& rows, const AnswerRule& rule, Scratch* scratch, Sum* sums,
                    float* output) const;
  template <typename Sum>
  void AddTrees(size_t first, size_t count, const Rows& rows, const uint16_t* ranks,
                Sum* sums) const;
  template <typename Sum>
  void AddLeaf(const CompiledTree& tree, uint32_t leaf, const float* row, size_t stride,
               Sum* sums) const;
  template <typename Sum>
  void Start(Sum* sums, size_t stride, size_t count) const;
  template <typename Sum>
  void Finish(const Sum* sums, size_t stride, size_t count, const AnswerRule& rule, Sum* margins,
              float* output) const;

  const CompiledForest& forest_;
  const Kernel& kernel_;
  double row_ns_;
  size_t chunk_rows_ = kBlockRows;
  std::vector<size_t> tiles_;  // positions of trees: the first of each group that is walked
                               // together, and the end
};

}  // namespace tritonts::fil
