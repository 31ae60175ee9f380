// The requests of a run, while several threads respond to them.
#include "engine/batch/run_members.h"

#include <thread>

#include "check.h"

namespace tritonts::test {

TEST(run_members_refuse_a_response_that_waited_until_the_run_was_suspended) {
  RequestHeader header;
  Request request;
  request.header = &header;
  request.set_state(Request::State::kQueued);
  std::vector<Request*> requests = {&request};
  RunMembers members(requests);
  members.Assign();
  {
    const RunMembers::Lock lock(members.lock());
    members.Seize(0);
  }
  std::atomic<bool> waits{false};
  bool is_open = true;
  std::thread responder([&] {
    RunMembers::Lock lock(members.lock());
    waits = true;
    is_open = members.AwaitOpen(0, &lock);
  });
  while (!waits) std::this_thread::yield();
  {
    // The responder has released the lock, because it waits for the request.
    const RunMembers::Lock lock(members.lock());
    members.Reopen(0);
    members.Suspend();
  }
  responder.join();
  CHECK(!is_open);
  const RunMembers::Lock lock(members.lock());
  CHECK(members.Resume());
  members.EndAll();
}

}  // namespace tritonts::test
