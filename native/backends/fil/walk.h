// Walks trees of a compiled forest for many rows at once.
//
// The tops of trees have a kernel for each kind of processor. What is below them is walked row by
// row, all rows of a block in step. Gathers would be slower: processors whose gathers leak data
// (GDS) have them slowed down. All kernels give the same bits: they add the same numbers in the
// same order.
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

// The functions of a kernel. `ranks` are those of a block (RankBlock), and `rows` is the number of
// rows, at most kBlockRows. Results of further rows have no meaning, but the ranks and the memory
// for all of kBlockRows must be there.
struct Kernel {
  std::string_view name;
  // Finds each row's exit of a top of `levels` levels.
  void (*find_exits)(const TopNode* top, uint32_t levels, const uint16_t* ranks, uint32_t rows,
                     uint16_t* exits);
  // Adds `leaves`, by exit, to the sums. Null: the caller adds them.
  void (*add_exits)(const TopNode* top, uint32_t levels, const float* leaves, const uint16_t* ranks,
                    uint32_t rows, float* sums);
};

// The kernels that this processor can run, the fastest first. The last one runs everywhere.
const std::vector<const Kernel*>& Kernels();

// Null: this build, or this processor, has no such kernel.
const Kernel* GenericKernel();
const Kernel* Avx2Kernel();
const Kernel* Avx512Kernel();

// Adds the leaves' values of consecutive trees to the sums: kBlockRows for each column. No tree is
// plain, and all leaves are values.
void AddTrees(const Kernel& kernel, const CompiledForest& forest, const CompiledTree* trees,
              size_t count, const uint16_t* ranks, uint32_t rows, float* sums);
void AddTrees(const Kernel& kernel, const CompiledForest& forest, const CompiledTree* trees,
              size_t count, const uint16_t* ranks, uint32_t rows, double* sums);

// Finds the leaf of each row, as a position behind CompiledTree::leaves. The tree is not plain.
void FindLeaves(const Kernel& kernel, const CompiledForest& forest, const CompiledTree& tree,
                const uint16_t* ranks, uint32_t rows, uint32_t* leaves);

// The leaf of a plain tree for one row.
uint32_t FindPlain(const CompiledForest& forest, const CompiledTree& tree, const float* row);

// The leaf of any other tree for one row, with the ranks of RankRow.
uint32_t FindOne(const CompiledForest& forest, const CompiledTree& tree, const uint16_t* ranks);

// The same for kAlike trees (CompiledTree::alike), in step.
void FindAlike(const CompiledForest& forest, const CompiledTree* trees, const uint16_t* ranks,
               uint32_t* leaves);

}  // namespace tritonts::fil
