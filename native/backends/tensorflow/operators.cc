#include "operators.h"

#include <string_view>

namespace tritonts::tensorflow {

namespace {

// Operations that the library declares as stateful, because their results differ between runs or
// they refer to a resource, but that keep nothing and change nothing.
const std::set<std::string_view> kReads = {
    "Assert",
    "Case",
    "FakeQueue",
    "HashTable",
    "HashTableV2",
    "If",
    "ImmutableConst",
    "LookupTableFind",
    "LookupTableFindV2",
    "LookupTableSize",
    "LookupTableSizeV2",
    "Multinomial",
    "MutableHashTableV2",
    "ParameterizedTruncatedNormal",
    "PartitionedCall",
    "Placeholder",
    "Print",
    "PrintV2",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "ReadVariableOp",
    "ResourceGather",
    "ResourceGatherNd",
    "StatefulPartitionedCall",
    "Timestamp",
    "TruncatedNormal",
    "VarHandleOp",
    "VarIsInitializedOp",
    "Variable",
    "VariableShape",
    "VariableV2",
    "While",
};

// Operations whose time depends on the data and not only on shapes: control flow, and those that
// read strings or files.
const std::set<std::string_view> kVarying = {
    "Case",           "Enter",       "If",       "LoopCond",      "CombinedNonMaxSuppression",
    "PyFunc",         "EagerPyFunc", "ReadFile", "StatelessCase", "StatelessIf",
    "StatelessWhile", "Switch",      "While",
};

// Operations whose results have as many rows as the data says.
const std::set<std::string_view> kRowsVary = {
    "DynamicPartition", "SparseFillEmptyRows", "Unique", "UniqueV2",
    "UniqueWithCounts", "UniqueWithCountsV2",  "Where",
};

bool RowsVary(std::string_view kind) {
  return kRowsVary.contains(kind) || kind.starts_with("NonMaxSuppression");
}

bool TimeVaries(std::string_view kind) {
  return kVarying.contains(kind) || RowsVary(kind) || kind.starts_with("Decode") ||
         kind.starts_with("Parse") || kind.find("Regex") != std::string_view::npos ||
         kind.find("Map") == 0;
}

}  // namespace

OperatorFacts FactsOf(const std::set<std::string>& kinds,
                      const std::function<bool(const std::string&)>& is_stateful) {
  OperatorFacts facts;
  for (const std::string& kind : kinds) {
    if (facts.time_varies.empty() && TimeVaries(kind)) facts.time_varies = kind;
    if (facts.rows_vary.empty() && RowsVary(kind)) facts.rows_vary = kind;
    if (facts.keeps.empty() && !kReads.contains(kind) && is_stateful(kind)) facts.keeps = kind;
  }
  return facts;
}

}  // namespace tritonts::tensorflow
