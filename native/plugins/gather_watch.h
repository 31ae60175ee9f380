// Delivers responses that wait for others of their batch, if the plug-in is busy meanwhile.
//
// One thread of the process, which is started when it is needed first and never ends. It looks from
// time to time while batches gather, and a moment longer, so that a batch rarely has to wake it.
#pragma once

namespace tritonts::plugins {

class Batch;

class GatherWatch {
 public:
  // Begins to watch a batch. For the thread in Execute. False: the system has no thread or no
  // memory for that, so responses must not wait.
  [[nodiscard]] static bool Add(Batch* batch) noexcept;
  // Ends it. The watch may still deliver responses that it has taken; it has its own reference to
  // the batch then.
  static void Remove(Batch* batch) noexcept;

 private:
  struct State;
  static State& Get();
  // The thread.
  static void Watch(State* state);
  // Takes the responses of a batch that have waited for long, with a reference to the batch.
  static bool Take(Batch* batch);
  static void Flush(Batch* batch);
};

}  // namespace tritonts::plugins
