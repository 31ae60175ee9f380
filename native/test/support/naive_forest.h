// Evaluates a forest the slow and obvious way, and checks what its header promises.
#pragma once

#include <string>
#include <vector>

#include "backends/fil/forest.h"

namespace tritonts::test {

// The margins of a row, by column, summed in double.
std::vector<double> MarginsOf(const fil::Forest& forest, const std::vector<float>& row);

// What is wrong with a forest; empty if nothing is.
std::string FaultOf(const fil::Forest& forest);

}  // namespace tritonts::test
