// What is known about TensorFlow's operations, by the names of their kinds.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace tritonts::tensorflow {

struct OperatorFacts {
  // An operation that may keep an input after a run, or change what later runs compute; "": none.
  std::string keeps;
  // An operation whose time depends on the data; "": none.
  std::string time_varies;
  // An operation whose result has as many rows as the data says; "": none.
  std::string rows_vary;
};

// `is_stateful` tells whether the library declares an operation as one with state.
OperatorFacts FactsOf(const std::set<std::string>& kinds,
                      const std::function<bool(const std::string&)>& is_stateful);

}  // namespace tritonts::tensorflow
