// Tickets: how the GPU learns that work has completed.
#include <chrono>
#include <new>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "gpu.h"

namespace tritonts::device {

namespace {

// How long work may take before its event is queried. Only a lost device makes that necessary.
constexpr auto kLook = std::chrono::milliseconds(100);

}  // namespace

struct Gpu::Entry {
  std::shared_ptr<Tickets> tickets;
  Ticket* ticket = nullptr;
  cuda::Event event = nullptr;
  // The driver's reference, until it has reached the entry.
  std::shared_ptr<Entry> self;
  bool spins = false;
  bool given_up = false;
  uint64_t reached_ns = 0;
};

bool Gpu::Tickets::TakeOpen(const std::shared_ptr<Entry>& entry) {
  if (std::erase(open, entry) == 0) return false;
  if (entry->spins) spinning--;
  return true;
}

Status Gpu::Notify(Ticket* ticket, cuda::Event event, cuda::Stream stream, Await await) try {
  auto entry = std::make_shared<Entry>();
  entry->tickets = tickets_;
  entry->ticket = ticket;
  entry->event = event;
  entry->spins = await == Await::kSpinning;
  Status status = Check(call().EventRecord(event, stream), "cuEventRecord");
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(tickets_->mutex);
    // Reserve now: the driver's thread must not allocate.
    tickets_->reached.reserve(tickets_->reached.size() + tickets_->open.size() + 1);
    tickets_->open.push_back(entry);
    if (entry->spins) tickets_->spinning++;
  }
  if (entry->spins) {
    tickets_->changed.notify_one();
    return status;
  }
  entry->self = entry;
  status = Check(call().LaunchHostFunc(stream, OnReached, entry.get()), "cuLaunchHostFunc");
  if (!status.ok()) {
    entry->self.reset();
    std::unique_lock lock(tickets_->mutex);
    // Wait for a query in progress: the event belongs to the caller again when this returns.
    tickets_->changed.wait(lock, [&] { return tickets_->asked != entry.get(); });
    // The ticket may have failed meanwhile; then Finish will be called.
    return tickets_->TakeOpen(entry) ? status : Status::Ok();
  }
  tickets_->changed.notify_one();
  return status;
} catch (const std::bad_alloc&) {
  return Status::NoMemory();
}

void Gpu::OnReached(void* data) {
  const std::shared_ptr<Entry> entry = std::move(static_cast<Entry*>(data)->self);
  Tickets& tickets = *entry->tickets;
  const uint64_t now = NowNs();
  const std::lock_guard lock(tickets.mutex);
  if (!tickets.TakeOpen(entry)) return;  // it was failed meanwhile
  entry->reached_ns = now;
  tickets.reached.push_back(entry);
  tickets.changed.notify_one();
}

void Gpu::RunFinishing() {
  platform::NameThread("tritonts-gpu-f");
  const Current current(*this);
  Tickets& tickets = *tickets_;
  std::unique_lock lock(tickets.mutex);
  while (true) {
    const auto ready = [&] { return !tickets.reached.empty() || tickets.end; };
    if (tickets.spinning > 0 && !ready()) {
      Spin(lock);
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } else if (tickets.open.empty()) {
      tickets.changed.wait(lock, [&] { return ready() || !tickets.open.empty(); });
    } else if (!tickets.changed.wait_for(lock, kLook, ready)) {
      Look(lock);
    }
    while (!tickets.reached.empty()) {
      const std::shared_ptr<Entry> entry = std::move(tickets.reached.front());
      tickets.reached.erase(tickets.reached.begin());
      Status status = entry->given_up ? tickets.fault : Status::Ok();
      lock.unlock();
      // The event of a spinning ticket was queried already.
      if (status.ok() && !entry->spins) {
        const RuntimeCall runtime;
        // The event tells how the work ended.
        status = runtime.allowed() ? Check(call().EventQuery(entry->event), "cuEventQuery")
                                   : Status::Unavailable(Reason::kClosed, "the process is exiting");
      }
      if (!status.ok() && !entry->given_up) {
        const std::lock_guard losing(tickets.mutex);
        tickets.Lose(status);
        status = tickets.fault;
      }
      entry->ticket->Finish(status, status.ok() ? entry->reached_ns : 0);
      lock.lock();
    }
    if (tickets.end) return;
  }
}

cuda::Result Gpu::Ask(std::unique_lock<std::mutex>& lock, const Entry& entry) {
  // Query without the lock, which the driver's thread needs. The driver may make this call wait for
  // another call that waits for all work, and thereby for its own thread.
  tickets_->asked = &entry;
  lock.unlock();
  const cuda::Result result = call().EventQuery(entry.event);
  lock.lock();
  tickets_->asked = nullptr;
  tickets_->changed.notify_all();
  return result;
}

void Gpu::Look(std::unique_lock<std::mutex>& lock) {
  const RuntimeCall runtime;
  if (!runtime.allowed()) return;
  // The lock is released meanwhile, so tickets may come and go. A skipped ticket is checked the
  // next time.
  for (size_t i = 0; i < tickets_->open.size(); i++) {
    const std::shared_ptr<Entry> entry = tickets_->open[i];
    const cuda::Result result = Ask(lock, *entry);
    if (result == 0 || result == cuda::kNotReady) continue;
    return tickets_->Lose(Check(result, "cuEventQuery"));
  }
}

void Gpu::Spin(std::unique_lock<std::mutex>& lock) {
  const RuntimeCall runtime;
  if (!runtime.allowed()) return;
  for (size_t i = 0; i < tickets_->open.size();) {
    const std::shared_ptr<Entry> entry = tickets_->open[i];
    const cuda::Result result = entry->spins ? Ask(lock, *entry) : cuda::kNotReady;
    if (result == cuda::kNotReady) {
      i++;
      continue;
    }
    if (result != 0) return tickets_->Lose(Check(result, "cuEventQuery"));
    if (!tickets_->TakeOpen(entry)) continue;  // it was failed meanwhile
    entry->reached_ns = NowNs();
    tickets_->reached.push_back(entry);
  }
}

void Gpu::Tickets::Lose(const Status& status) {
  // Entries that the driver may still reach live until the process ends.
  static auto* const kept = new std::vector<std::shared_ptr<Entry>>();
  static auto* const kept_mutex = new std::mutex();
  if (fault.ok()) {
    fault = MakeStatus([&] {
      return Status::Unavailable(Reason::kDeviceLost,
                                 "the GPU is lost for this process: " + status.message());
    });
    lost = true;
    NoteLost(*this);
  }
  const std::lock_guard lock(*kept_mutex);
  for (const auto& entry : open) {
    entry->given_up = true;
    reached.push_back(entry);
    if (entry->spins) continue;
    try {
      kept->push_back(entry);
    } catch (const std::bad_alloc&) {
      // The entry's reference to itself keeps it alive, too. This list only tells leak checkers.
    }
  }
  open.clear();
  spinning = 0;
  changed.notify_one();
}

Status Gpu::fault() const {
  const std::lock_guard lock(tickets_->mutex);
  return tickets_->fault;
}

}  // namespace tritonts::device
