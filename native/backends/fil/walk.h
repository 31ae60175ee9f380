// Walks trees of a compiled forest for many rows at once. There is one kernel for each kind of
// processor. All give the same bits: they add the same numbers in the same order.
//
// Immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiled_forest.h"
#include "ranks.h"

namespace tritonts::fil {

// The functions of a kernel. `ranks` are those of a block (RankBlock), followed by at least two
// bytes that may be read. `rows` is the number of rows, at most kBlockRows. Results of further rows
// have no meaning, but memory for all of kBlockRows must be there.
struct Kernel {
  std::string_view name;
  // Adds the leaves' values of consecutive trees to the sums. `sums` has kBlockRows sums for each
  // column. No tree is plain, and all leaves are values.
  void (*add_float)(const CompiledForest& forest, const CompiledTree* trees, size_t count,
                    const uint16_t* ranks, uint32_t rows, float* sums);
  void (*add_double)(const CompiledForest& forest, const CompiledTree* trees, size_t count,
                     const uint16_t* ranks, uint32_t rows, double* sums);
  // Finds the leaf of each row, as a position behind CompiledTree::leaves. The tree is not plain.
  void (*find)(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks,
               uint32_t rows, uint32_t* leaves);
  // RankBlock.
  void (*rank)(const Part& part, const Rows& rows, uint16_t* ranks);
};

// The kernels that this processor can run, the fastest first. The last one runs everywhere.
const std::vector<const Kernel*>& Kernels();

// Null: this build, or this processor, has no such kernel.
const Kernel* GenericKernel();
const Kernel* Avx2Kernel();
const Kernel* Avx512Kernel();

// The leaf of a plain tree for one row, as a position behind CompiledTree::leaves.
uint32_t FindPlain(const CompiledForest& forest, const CompiledTree& tree, const float* row);

// The same for any other tree, with the ranks of the row (RankRow).
uint32_t FindOne(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks);

}  // namespace tritonts::fil
