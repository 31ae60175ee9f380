// Memory shared with a process, on a system with little of it.
#if defined(__linux__)

#include "platform/shared_memory.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "check.h"
#include "no_threads.h"
#include "units.h"

namespace tritonts::test {

namespace {

using platform::SharedMemory;

constexpr int kNotAllowed = 77;

// Runs a function in a child process. Returns its exit status.
int Apart(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  // ThreadSanitizer keeps memory for each thread that ever existed, and a system does not fork a
  // process with a mapping larger than its memory.
  if (kWatched && child < 0 && errno == ENOMEM) return kNotAllowed;
  int status = 0;
  CHECK(child > 0);
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Replaces /dev/shm with a separate file system, for this process only.
bool Replace(const char* options, unsigned long flags) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", flags, options) == 0;
}

bool Has(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' does not say '%s'\n", text.c_str(), part);
  return false;
}

void CheckUnlessNotAllowed(int result) {
  if (result == kNotAllowed) {
    std::fprintf(stderr, "skipped: no process with a file system of its own can be made here\n");
    return;
  }
  CHECK_EQ(result, 0);
}

}  // namespace

TEST(shared_memory_says_that_dev_shm_is_too_small_and_how_much_is_left) {
  CheckUnlessNotAllowed(Apart([] {
    if (!Replace("size=2m", 0)) return kNotAllowed;
    SharedMemory memory;
    std::string fault;
    if (!memory.Create("test", 64 * kMiB, kMiB, SharedMemory::Place::kFile, &fault)) return 1;
    if (!memory.may_run_out() || !memory.Commit(0, kMiB, &fault)) return 2;
    // Committed memory is usable; a commit beyond the limit is refused without a signal.
    memory.data()[kMiB - 1] = 1;
    if (memory.Commit(kMiB, 4 * kMiB, &fault)) return 3;
    if (!Has(fault, "no room for 4194304 bytes of shared memory in /dev/shm, where ")) return 4;
    if (!Has(fault, "bytes are left: No space left on device")) return 5;
    return memory.data()[kMiB - 1] == 1 ? 0 : 6;
  }));
}

TEST(shared_memory_is_in_the_folder_for_temporary_files_without_dev_shm) {
  CheckUnlessNotAllowed(Apart([] {
    if (!Replace("size=2m", MS_RDONLY)) return kNotAllowed;
    SharedMemory memory;
    std::string fault;
    if (!memory.Create("test", 16 * kMiB, kMiB, SharedMemory::Place::kFile, &fault)) return 1;
    if (!memory.Commit(0, 8 * kMiB, &fault)) return 2;
    memory.data()[8 * kMiB - 1] = 1;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    SharedMemory none;
    if (none.Create("test", 16 * kMiB, kMiB, SharedMemory::Place::kFile, &fault)) return 3;
    return Has(fault, "no file for shared memory in '/nowhere/at/all'") ? 0 : 4;
  }));
}

TEST(shared_memory_keeps_to_the_limit_of_file_sizes) {
  for (const auto place : {SharedMemory::Place::kAny, SharedMemory::Place::kFile}) {
    const int result = Apart([place] {
      const rlimit limit{8 * kMiB, 8 * kMiB};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
      SharedMemory memory;
      std::string fault;
      if (memory.Create("test", 64 * kMiB, 16 * kMiB, place, &fault)) return 2;
      if (!Has(fault, "limit of file sizes is 8388608 bytes")) return 3;
      SharedMemory smaller;
      if (!smaller.Create("test", 64 * kMiB, kMiB, place, &fault)) return 4;
      if (smaller.size() != 8 * kMiB || !smaller.Commit(0, 8 * kMiB, &fault)) return 5;
      return smaller.Commit(kMiB, 8 * kMiB, &fault) ? 6 : 0;
    });
    CheckUnlessNotAllowed(result);
  }
}

}  // namespace tritonts::test

#endif
