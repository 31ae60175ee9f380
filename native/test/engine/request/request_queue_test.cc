// The queue and the chain of requests.
#include "engine/request/request_queue.h"

#include <array>

#include "check.h"
#include "engine/request/request_chain.h"

namespace tritonts::test {

namespace {

struct Queued {
  RequestQueue queue;
  std::array<Request, 4> requests;

  Queued() {
    for (Request& request : requests) queue.Append(&request);
  }
  // The positions of the queued requests. Checks that the links agree both ways.
  std::vector<size_t> Order() {
    std::vector<size_t> order;
    const Request* previous = nullptr;
    for (Request* request = queue.front(); request; request = request->next) {
      CHECK(request->previous == previous);
      CHECK(request->queued);
      order.push_back(static_cast<size_t>(request - requests.data()));
      previous = request;
    }
    CHECK_EQ(order.size(), queue.size());
    CHECK_EQ(order.empty(), queue.empty());
    return order;
  }
};

using Order = std::vector<size_t>;

}  // namespace

TEST(request_queue_is_first_in_first_out) {
  Queued queued;
  CHECK_EQ(queued.Order(), (Order{0, 1, 2, 3}));
}

TEST(request_queue_lets_go_of_a_request_anywhere) {
  for (const size_t which : {0u, 1u, 3u}) {
    Queued queued;
    queued.queue.Remove(&queued.requests[which]);
    CHECK(!queued.requests[which].queued);
    CHECK(queued.requests[which].next == nullptr && queued.requests[which].previous == nullptr);
    Order left{0, 1, 2, 3};
    left.erase(left.begin() + static_cast<ptrdiff_t>(which));
    CHECK_EQ(queued.Order(), left);
  }
}

TEST(request_queue_can_be_emptied_and_used_again) {
  Queued queued;
  while (!queued.queue.empty()) queued.queue.Remove(queued.queue.front());
  CHECK_EQ(queued.Order(), Order{});
  queued.queue.Append(&queued.requests[2]);
  queued.queue.Append(&queued.requests[0]);
  CHECK_EQ(queued.Order(), (Order{2, 0}));
}

TEST(request_chain_takes_over_the_requests_of_another_one) {
  std::array<Request, 4> requests;
  RequestChain chain;
  RequestChain other;
  chain.Append(std::move(other));
  CHECK(chain.empty());
  for (size_t i = 0; i < 4; i++) (i < 2 ? chain : other).Append(&requests[i]);
  chain.Append(std::move(other));
  CHECK(other.empty());
  CHECK_EQ(other.size(), 0u);
  CHECK_EQ(chain.size(), 4u);
  other.Append(chain.Pop());
  other.Append(std::move(chain));
  CHECK(chain.empty());
  CHECK_EQ(other.size(), 4u);
  for (Request& request : requests) CHECK(other.Pop() == &request);
  CHECK(other.empty());
}

}  // namespace tritonts::test
