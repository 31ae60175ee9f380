#include "pool_threads.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "../../platform/cores.h"

namespace tritonts::onnxruntime {

namespace {

// Threads of sixteen sessions on two cores, and of four on many.
int Most() {
  constexpr int kLeast = 16;
  constexpr int kEachCore = 4;
  static const int most =
      std::max(kLeast, kEachCore * static_cast<int>(platform::AvailableCores()));
  return most;
}

// The sessions of a model that have threads.
struct Sessions {
  int number = 0;
  int threads = 0;  // of each that counts

  int counted() const { return (number + 1) / 2 * threads; }
};

struct AllSessions {
  std::mutex mutex;  // guards the others
  std::map<std::string, Sessions> by_model;
  int threads = 0;  // in all, as they count
};

AllSessions& All() {
  // Never destroyed, because sessions may end on other threads at exit.
  static auto* const all = new AllSessions();
  return *all;
}

}  // namespace

bool PoolThreads::Take(const std::string& model, int count) {
  AllSessions& all = All();
  std::lock_guard lock(all.mutex);
  Sessions& sessions = all.by_model[model];
  Sessions more = sessions;
  more.number++;
  more.threads = std::max(more.threads, count);
  const int threads = all.threads + more.counted() - sessions.counted();
  if (threads > std::max(Most(), all.threads)) {
    if (sessions.number == 0) all.by_model.erase(model);
    return false;
  }
  sessions = more;
  all.threads = threads;
  model_ = model;
  return true;
}

void PoolThreads::Return() {
  if (!taken()) return;
  AllSessions& all = All();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_model.find(model_);
  Sessions& sessions = found->second;
  const int before = sessions.counted();
  sessions.number--;
  all.threads += sessions.counted() - before;
  if (sessions.number == 0) all.by_model.erase(found);
  model_.clear();
}

}  // namespace tritonts::onnxruntime
