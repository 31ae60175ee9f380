// Conduct: which versions of foreign code may run batches on submitting threads.
#include "engine/version/conduct.h"

#include "check.h"

namespace tritonts::test {

namespace {

// How many batches without a wait prove a version from now on.
uint32_t ProofOf(Conduct* conduct) {
  uint32_t batches = 0;
  while (!conduct->proven() && batches <= Conduct::kLongestProof) {
    conduct->Note(false);
    batches++;
  }
  return batches;
}

}  // namespace

TEST(conduct_is_proven_by_batches_in_a_row_that_do_not_wait) {
  Conduct conduct;
  CHECK(!conduct.proven());
  for (uint32_t i = 1; i < Conduct::kProof; i++) conduct.Note(false);
  CHECK(!conduct.proven());
  conduct.Note(true);
  CHECK_EQ(ProofOf(&conduct), Conduct::kProof);
}

TEST(conduct_takes_twice_as_long_to_prove_after_each_failure) {
  Conduct conduct;
  uint32_t expected = Conduct::kProof;
  for (int failures = 0; failures < 30; failures++) {
    CHECK_EQ(ProofOf(&conduct), expected);
    conduct.Note(true);
    CHECK(!conduct.proven());
    // A wait during the proof does not count twice.
    conduct.Note(true);
    if (expected < Conduct::kLongestProof) expected *= 2;
  }
  CHECK_EQ(expected, Conduct::kLongestProof);
}

}  // namespace tritonts::test
