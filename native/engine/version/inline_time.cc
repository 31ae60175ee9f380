#include "engine/version/inline_time.h"

#include <algorithm>

namespace tritonts {

namespace {

thread_local InlineTime* instance_time = nullptr;

}  // namespace

InlineTime* InlineTime::OfInstance() {
  return instance_time;
}

InstanceTimeScope::InstanceTimeScope(InlineTime* inline_time) {
  inline_time->of_instance = true;
  instance_time = inline_time;
}

InstanceTimeScope::~InstanceTimeScope() {
  instance_time = nullptr;
}

void ThreadWatch::Begin(uint64_t now_ns) {
  began_ns_ = now_ns;
  if (read_at_ns_ != 0 && now_ns - read_at_ns_ < kStaleNs) return;
  read_at_ns_ = now_ns;
  had_ns_ = read_();
}

uint64_t ThreadWatch::Had(uint64_t ns) const {
  const uint64_t had = read_() - had_ns_;
  // The thread may have had a core for all of the time before the run.
  const uint64_t before = began_ns_ - read_at_ns_;
  return std::min(ns, had - std::min(had, before));
}

}  // namespace tritonts
