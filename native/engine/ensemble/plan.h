// An ensemble's plan: a graph of steps, which TypeScript has checked and compiled (src/ensemble/).
//
// Tensors are numbered. The first tensors are the ensemble's inputs, in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/version/served.h"

namespace tritonts {

struct EnsembleStep {
  // Maps an input or output of the step's model to a tensor of the ensemble.
  struct Mapping {
    std::string name;
    uint32_t tensor = 0;
  };
  std::string model;
  std::vector<Mapping> inputs;
  std::vector<Mapping> outputs;
  // Whether the model gives any number of responses. The steps that depend on it run once for each
  // response.
  bool decoupled = false;
};

struct EnsemblePlan {
  ModelIo io;
  uint32_t tensors = 0;
  std::vector<std::string> tensor_names;  // for messages, which else show numbers
  std::vector<uint32_t> outputs;          // the tensor of each output
  std::vector<EnsembleStep> steps;
  uint32_t max_inflight = 0;  // of each step, over all requests; 0: no limit
  // Several steps may produce one tensor, and a step without a required input is skipped.
  bool conditional = false;
  LatencyPolicy latencies = {};
  // Whether its responses are cached (Triton: response_cache), if the server has a cache.
  bool cached = false;

  bool decoupled() const;
  std::string NameOf(uint32_t tensor) const;
};

// Derived from a plan alone: the steps that read and produce each tensor, and the steps that run
// once for each response of a decoupled step.
//
//   x --> a --> D ==> b --> y         region of b: D; origin of y: D; D carries z, because the
//          `---------> z              responses to the caller have it
struct EnsembleGraph {
  explicit EnsembleGraph(const EnsemblePlan& plan);

  // The region of steps that run once for the request, and so for no decoupled step.
  static constexpr uint32_t kRoot = ~0u;

  std::vector<std::vector<uint32_t>> readers;    // by tensor: the steps, each once
  std::vector<std::vector<uint32_t>> producers;  // by tensor
  // By step: the tensors, each once. A decoupled step also waits for the tensors that it carries.
  std::vector<std::vector<uint32_t>> inputs;
  std::vector<uint32_t> region;  // by step: the decoupled step whose responses it runs for
  std::vector<uint32_t> origin;  // by tensor: the decoupled step whose responses it is made for
  // By decoupled step: tensors from outside of its responses that its children need.
  std::vector<std::vector<uint32_t>> carried;

 private:
  bool IsWithin(uint32_t region_of, uint32_t step) const;
  void FindRegions(const EnsemblePlan& plan);
  void FindCarried(const EnsemblePlan& plan);
};

// An ensemble's steps with the versions that serve them. It never changes. A new binding of the
// ensemble makes another object, and requests keep the object that they began with. It counts as a
// use of its versions (served.h).
class EnsembleBindings {
 public:
  struct Step {
    std::shared_ptr<Served> version;
    std::vector<uint32_t> inputs;     // the version's input of each mapping
    std::vector<uint32_t> wanted;     // the version's output of each mapping
    std::vector<int32_t> mapping_of;  // by output of the version; -1: not mapped
  };

  // Null, with the reason: a version lacks a mapped input or output, or differs in being decoupled.
  // Throws std::bad_alloc.
  static std::shared_ptr<const EnsembleBindings> Make(const std::string& ensemble,
                                                      const EnsemblePlan& plan,
                                                      std::vector<std::shared_ptr<Served>> versions,
                                                      Status* reason);
  ~EnsembleBindings();
  EnsembleBindings(const EnsembleBindings&) = delete;
  EnsembleBindings& operator=(const EnsembleBindings&) = delete;

  const std::vector<Step>& steps() const { return steps_; }
  // Whether a step has sequences, also one of a nested ensemble (Served::alone).
  bool alone() const { return alone_; }
  // The number of requests of `rows` rows that may travel together: as many as fit in one batch of
  // each step.
  uint32_t Together(uint32_t rows) const;
  // The output bytes of all steps, without outputs whose size is not known beforehand.
  uint64_t KnownOutputBytes(uint64_t rows) const;

 private:
  EnsembleBindings() = default;

  std::vector<Step> steps_;
  uint32_t most_rows_ = 0;  // 0: a step does not batch, or each request must fly alone
  bool alone_ = false;
};

}  // namespace tritonts
