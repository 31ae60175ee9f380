// How the instances of a version have behaved, if they may leave requests open. It decides whether
// their batches may run on a thread that submitted them.
//
//   unproven --(kProof batches in a row: none waited, none left a request open)--> proven
//       ^                                                                            |
//       '---------------(a batch waited, or left a request open)---------------------'
//
// Code that leaves requests open is foreign (plug-ins of Triton): nothing says whether it waits for
// anything. So its first batches run on its own threads, where a wait harms nobody, and the system
// counts the waits. Each time that a proven version fails, the next proof takes twice as many
// batches.
//
// Owned by the version's inline policy, and guarded by the version's lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tritonts {

class Conduct {
 public:
  // Batches of the first proof, and of the longest one.
  static constexpr uint32_t kProof = 64;
  static constexpr uint32_t kLongestProof = 1 << 20;

  bool proven() const { return good_ >= proof_; }
  // A batch has ended. `waited`: its thread did, or the batch left a request open.
  void Note(bool waited) {
    if (!waited) {
      good_ += proven() ? 0 : 1;
      return;
    }
    if (proven()) proof_ = std::min(2 * proof_, kLongestProof);
    good_ = 0;
  }

 private:
  uint32_t good_ = 0;  // batches in a row, up to the proof
  uint32_t proof_ = kProof;
};

}  // namespace tritonts
