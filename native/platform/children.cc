#include "children.h"

#if !defined(_WIN32)
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "thread.h"
#endif
#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tritonts::platform {

#if defined(__linux__)

NewChildren::NewChildren() : list_(open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC)) {
  try {
    before_ = List();
  } catch (...) {
    if (list_ >= 0) close(list_);
    throw;
  }
}

NewChildren::~NewChildren() {
  if (list_ >= 0) close(list_);
}

std::vector<int> NewChildren::List() const {
  std::string text;
  char part[4096];
  while (list_ >= 0) {
    const ssize_t size = pread(list_, part, sizeof(part), static_cast<off_t>(text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(part, static_cast<size_t>(size));
  }
  std::vector<int> found;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end; at++) {
    int process = 0;
    const auto [next, error] = std::from_chars(at, end, process);
    if (error != std::errc()) break;
    found.push_back(process);
    at = next;
  }
  return found;
}

std::vector<int> NewChildren::Find() const {
  std::vector<int> found = List();
  std::erase_if(found, [this](int process) {
    return std::find(before_.begin(), before_.end(), process) != before_.end();
  });
  return found;
}

#else

NewChildren::NewChildren() = default;
NewChildren::~NewChildren() = default;

std::vector<int> NewChildren::Find() const {
  return {};
}

#endif

#if defined(_WIN32)

void Children::End() {
  processes_.clear();
}

#else

namespace {

// Whether the process is a child that has not been waited for. Such a process keeps its id, so a
// signal cannot reach another process.
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
  for (const int process : processes_) {
    kill(-process, SIGKILL);
    // The child may not be the leader of a group of its own.
    kill(process, SIGKILL);
  }
  if (processes_.empty()) return;
  // A child ends only after its current system call. The worker does not wait for that.
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
