#include "engine/waiting/polled_source.h"

#include <utility>

namespace tritonts {

namespace {

thread_local std::weak_ptr<PolledSource> last_source;

}  // namespace

void PolledSource::Note(const std::shared_ptr<PolledSource>& source) {
  // Mostly it is the same source. Comparing owners avoids the cost of reference counts.
  if (last_source.owner_before(source) || source.owner_before(last_source)) last_source = source;
}

std::shared_ptr<PolledSource> PolledSource::Last() {
  return last_source.lock();
}

void Polling::Poll() {
  std::shared_ptr<PolledSource> last = PolledSource::Last();
  if (last && !last->has_work()) last = nullptr;
  if (last != source_) {
    Stop();
    source_ = std::move(last);
    if (source_) source_->StartPolling();
  }
  if (source_) source_->Poll();
}

void Polling::Stop() {
  if (source_) std::exchange(source_, nullptr)->StopPolling();
}

}  // namespace tritonts
