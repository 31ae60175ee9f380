#include "children.h"

#if !defined(_WIN32)
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>

#include "thread.h"
#endif

namespace tritonts::platform {

#if defined(_WIN32)

void Children::End() {
  processes_.clear();
}

#else

namespace {

// A process that nobody has waited for keeps its number, so that no other gets the signal.
bool IsOurs(int process) {
  siginfo_t state{};
  return waitid(P_PID, static_cast<id_t>(process), &state, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void Reap(const std::unordered_set<int>& processes) {
  for (const int process : processes) {
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

void Children::End() {
  std::erase_if(processes_, [](int process) { return !IsOurs(process); });
  for (const int process : processes_) kill(-process, SIGKILL);
  if (processes_.empty()) return;
  // One in the midst of a call of the system ends only after it. The worker does not wait for that.
  Thread reaper;
  if (reaper.Start([left = processes_] { Reap(left); })) {
    reaper.Detach();
  } else {
    Reap(processes_);
  }
  processes_.clear();
}

#endif

}  // namespace tritonts::platform
