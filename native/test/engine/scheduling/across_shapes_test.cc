// WordBatches across shapes: requests with a batch's shape join it from behind requests with other
// shapes. Tables.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "engine/scheduling/batch_rule.h"
#include "engine/scheduling/dynamic_scheduler.h"
#include "engine/scheduling/policy_scheduler.h"

namespace tritonts::test {

namespace {

// A queue with one word per request: its shape as a letter, its rows if not 1, '!' for level 1
// (else 2), '@' if bound to instance 0, '*' if it arrived at time 50.
class Queue {
 public:
  explicit Queue(const std::string& words, uint32_t most, std::vector<uint32_t> preferred,
                 uint64_t delay_ns, bool across = true)
      : scheduler_({most, std::move(preferred), delay_ns, across}, Policies(), "m") {
    std::string word;
    for (const char one : words + " ") {
      if (one != ' ') {
        word += one;
      } else if (!word.empty()) {
        Arrive(word);
        word.clear();
      }
    }
  }
  void Arrive(const std::string& word) {
    const auto has = [&word](char what) { return word.find(what) != std::string::npos; };
    RequestHeader& header = headers_.emplace_back();
    header.shape_key = {word[0]};
    if (word.size() > 1 && word[1] >= '1' && word[1] <= '9') {
      header.batch_size = static_cast<uint32_t>(word[1] - '0');
    }
    header.level = has('!') ? 1 : 2;
    header.arrival_ns = has('*') ? 50 : 0;
    Request& request = requests_.emplace_back();
    request.header = &header;
    if (has('@')) request.bound = 0;
    words_.push_back(word);
    CHECK(scheduler_.Enqueue(&request, 0).ok());
  }
  // The batches that instance 0 gets one after the other at a time, and when it asks again: "a a |
  // b, at 100".
  std::string WordBatches(uint64_t now_ns = 0) {
    std::string all;
    while (true) {
      Batch batch;
      scheduler_.Next(0, now_ns, &batch);
      if (batch.members.empty()) {
        if (batch.wake_at_ns > 0) all += ", at " + std::to_string(batch.wake_at_ns);
        return all;
      }
      if (!all.empty()) all += " | ";
      for (const Request* one : batch.members) {
        for (size_t i = 0; i < requests_.size(); i++) {
          if (&requests_[i] == one) all += (one == batch.members[0] ? "" : " ") + words_[i];
        }
      }
      closed_by = batch.closed_by;
    }
  }
  Scheduler& scheduler() { return scheduler_; }
  Request* request(size_t i) { return &requests_[i]; }

  ClosedBy closed_by = ClosedBy::kNothingMore;  // of the last batch

 private:
  static std::shared_ptr<const QueuePolicies> Policies() {
    QueuePolicies policies;
    policies.levels = 2;
    policies.default_level = 2;
    return std::make_shared<const QueuePolicies>(policies);
  }

  PolicyScheduler scheduler_;
  std::deque<RequestHeader> headers_;
  std::deque<Request> requests_;
  std::vector<std::string> words_;
};

std::string WordBatches(const std::string& words, uint32_t most = 8,
                        std::vector<uint32_t> preferred = {}, uint64_t delay_ns = 0,
                        uint64_t now_ns = 0) {
  return Queue(words, most, std::move(preferred), delay_ns).WordBatches(now_ns);
}

ClosedBy FirstClosedBy(const std::string& words, uint32_t most) {
  Queue queue(words, most, {}, 0);
  Batch batch;
  queue.scheduler().Next(0, 0, &batch);
  return batch.closed_by;
}

}  // namespace

TEST(requests_of_the_shape_of_a_batch_join_it_from_behind_others) {
  CHECK_EQ(WordBatches("a b a b a"), "a a a | b b");
  CHECK_EQ(Queue("a b a b a", 8, {}, 0, false).WordBatches(), "a | b | a | b | a");
  CHECK_EQ(WordBatches("a b c c b a"), "a a | b b | c c");
  // Up to the maximum; the oldest waiting request leads each batch.
  CHECK_EQ(WordBatches("a b a b a a b", 2), "a a | b b | a a | b");
  CHECK_EQ(WordBatches("a b b b b a", 2), "a a | b b | b b");
}

TEST(a_request_that_does_not_fit_is_not_overtaken_by_others_of_its_shape) {
  CHECK_EQ(WordBatches("a3 b a3 a1", 4), "a3 | b | a3 a1");
  CHECK_EQ(WordBatches("a3 b9 a1", 4), "a3 a1 | b9");
}

TEST(a_batch_is_cut_to_preferred_sizes_across_shapes) {
  CHECK_EQ(WordBatches("a b a a b a a", 8, {4}), "a a a a | b b | a");
  CHECK_EQ(WordBatches("a b a a b a a", 8, {2, 4}), "a a a a | b b | a");
}

TEST(nobody_is_passed_over_across_levels) {
  // Level 1 goes first; the second `a` of level 2 would overtake `b` of level 1.
  CHECK_EQ(WordBatches("a! b! a a!"), "a! a! | b! | a");
  CHECK_EQ(WordBatches("a! a b"), "a! a | b");
  CHECK_EQ(WordBatches("a! b a"), "a! | b | a");
}

TEST(nobody_passes_what_is_bound_to_an_instance_nor_is_passed_by_it) {
  CHECK_EQ(WordBatches("a b@ a"), "a | b@ | a");
  CHECK_EQ(WordBatches("a b a@"), "a | b | a@");
  CHECK_EQ(WordBatches("a@ b a"), "a@ | b | a");
}

TEST(a_batch_that_waits_lets_few_others_wait_with_it_until_the_first_of_all_is_late) {
  CHECK_EQ(WordBatches("a* b*", 8, {}, 100), ", at 150");
  CHECK_EQ(WordBatches("a* b", 8, {}, 100), ", at 100");
  CHECK_EQ(WordBatches("a* b", 8, {}, 100, 100), "a* | b");
  CHECK_EQ(WordBatches("a b*", 8, {}, 100, 100), "a, at 150");
  // Enough requests that could run themselves close the batch.
  CHECK_EQ(WordBatches("a b2 c", 8, {4}, 100), ", at 100");
  CHECK_EQ(WordBatches("a b2 c2", 8, {4}, 100), "a, at 100");
  CHECK_EQ(WordBatches("a b b b b", 8, {4}, 100), "a | b b b b");
}

TEST(a_batch_across_shapes_says_why_it_has_no_more_requests) {
  CHECK(FirstClosedBy("a b a", 8) == ClosedBy::kShape);
  CHECK(FirstClosedBy("a b a", 2) == ClosedBy::kFull);
  CHECK(FirstClosedBy("a b a2", 2) == ClosedBy::kFull);
  CHECK(FirstClosedBy("a! b! a", 8) == ClosedBy::kPriority);
  CHECK(FirstClosedBy("a a", 8) == ClosedBy::kNothingMore);
}

TEST(a_batch_passes_over_so_many_and_no_more) {
  for (const size_t others : {BatchRule::kMostPassed, BatchRule::kMostPassed + 1}) {
    std::string words = "a";
    for (size_t i = 0; i < others; i++) words += " b";
    Queue queue(words + " a", 8, {}, 0);
    Batch batch;
    queue.scheduler().Next(0, 0, &batch);
    CHECK_EQ(batch.members.size(), others == BatchRule::kMostPassed ? 2u : 1u);
    CHECK(batch.closed_by == ClosedBy::kShape);
  }
}

TEST(a_request_that_was_late_elsewhere_is_passed_over_and_passes_as_any_other) {
  // Its sink reuses the memory for a request to a model without deadlines.
  QueuePolicies policies;
  policies.general = {QueuePolicy::OnTimeout::kDelay, 10, false, 0};
  PolicyScheduler levelled({8, {}, 0, false}, std::make_shared<const QueuePolicies>(policies), "m");
  DynamicScheduler plain({8, {}, 0, true});
  RequestHeader a, b;
  a.shape_key = {'a'};
  b.shape_key = {'b'};
  Request requests[3];
  for (size_t i = 0; i < 3; i++) requests[i].header = i == 1 ? &b : &a;
  a.deadline_ns = 10;
  CHECK(levelled.Enqueue(&requests[2], 0).ok());
  Expired expired;
  levelled.Expire(20, &expired);
  Batch batch;
  levelled.Next(0, 20, &batch);
  CHECK_EQ(batch.members.size(), 1u);
  CHECK(requests[2].delayed);
  a.deadline_ns = 0;
  for (Request& request : requests) {
    request.Prepare();
    CHECK(plain.Enqueue(&request, 30).ok());
  }
  batch.Clear();
  plain.Next(0, 30, &batch);
  CHECK_EQ(batch.members, (std::vector<Request*>{&requests[0], &requests[2]}));
  CHECK(batch.closed_by == ClosedBy::kShape);
}

TEST(a_queue_is_whole_after_requests_were_taken_from_the_middle) {
  Queue queue("a b a b c a", 8, {}, 0);
  Batch batch;
  queue.scheduler().Next(0, 0, &batch);
  CHECK_EQ(batch.members.size(), 3u);
  CHECK_EQ(queue.scheduler().waiting(), 3u);
  CHECK(queue.scheduler().Cancel(queue.request(1)));
  CHECK(!queue.scheduler().Cancel(queue.request(2)));
  queue.Arrive("c");
  CHECK_EQ(queue.WordBatches(), "b | c c");
}

}  // namespace tritonts::test
