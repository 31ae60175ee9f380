// Whether the calling thread may run batches for native code that submits on it.
//
// A thread is occupied while it runs a batch of foreign code (a plug-in of Triton). That code may
// submit, and would then run batches of other models before it goes on. Two kinds of threads are
// always occupied: those of instances, and those of JavaScript, whose event loop has a budget for
// each tick of its own.
//
// Each thread has a state of its own. Functions concern the calling thread, and throw nothing.
#pragma once

#include <cstdint>

namespace tritonts {

// Occupies the thread for a batch, for the lifetime of this object.
class Occupied {
 public:
  Occupied();
  ~Occupied();
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;

  // Whether the thread is occupied.
  static bool Here();
  // How many such batches the thread is in: one may run within another.
  static uint32_t Batches();
  // Occupies the thread until it ends.
  static void Stay();
};

}  // namespace tritonts
