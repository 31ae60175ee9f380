// How instances of a version that serves come and go.
//
//   added ---> serving ---ChangeInstances---> leaving ---nothing is left for it---> gone
//
// An instance that is leaving gets only what is bound to it: requests of its sequences. When it has
// no sequence and no run, the version has RemoveLeft called, which joins its thread.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/version/model_version.h"

namespace tritonts {

Status ModelVersion::ChangeInstances(std::span<const uint32_t> removed,
                                     std::vector<InstanceSpec> added, std::shared_ptr<Gate> gate,
                                     const std::vector<GateClaim>& claims,
                                     std::vector<uint32_t>* numbers) {
  const auto cancelled = [&] {
    return MakeStatus(
        [&] { return Status::Cancelled("model '" + name_ + "': loading was cancelled"); });
  };
  const auto unsupported = [&] {
    return MakeStatus([&] {
      return Status::Unsupported("model '" + name_ + "': its instances cannot be changed in place");
    });
  };
  const auto goes = [&](const InstanceRunner& runner) {
    return std::count(removed.begin(), removed.end(), runner.index) > 0;
  };
  {
    std::lock_guard lock(mutex_);
    if (closed_ || stop_ || !dispatcher_) return cancelled();
    size_t left = added.size();
    uint32_t number = 0;
    for (InstanceSpec& spec : added) {
      while (number < runners_.size() && runners_[number]) number++;
      spec.index = number++;
      if (spec.memory != MemoryKind::kHost || !spec.host_policy.empty()) return unsupported();
    }
    for (const auto& runner : runners_) {
      if (!runner || runner->leaving) continue;
      if (runner->asynchronous || runner->memory != MemoryKind::kHost) return unsupported();
      if (!goes(*runner)) left++;
    }
    if (left == 0) return unsupported();
    BeginCall();
  }
  Status status;
  Orders orders;
  try {
    std::vector<std::unique_ptr<InstanceRunner>> made;
    for (size_t i = 0; i < added.size() && status.ok(); i++) {
      auto runner = MakeRunner(added[i], gate, i < claims.size() ? claims[i] : GateClaim());
      status = runner.ok() && runner.value()->asynchronous ? unsupported() : runner.status();
      if (status.ok()) made.push_back(runner.take());
    }
    std::vector<uint32_t> given;
    for (const InstanceSpec& spec : added) given.push_back(spec.index);
    std::lock_guard lock(mutex_);
    if (status.ok() && (closed_ || stop_)) status = cancelled();
    if (status.ok()) {
      const auto leave = [this](InstanceRunner* runner) {
        dispatcher_->BeginRemoval(runner);
        leaving_++;
      };
      for (auto& runner : made) {
        const uint32_t number = runner->index;
        try {
          if (number >= runners_.size()) runners_.resize(size_t{number} + 1);
          dispatcher_->Add(runner.get());
          runners_[number] = std::move(runner);
        } catch (const std::bad_alloc&) {
          for (const uint32_t one : given) {
            if (one < runners_.size() && runners_[one] && one != number) leave(runners_[one].get());
          }
          status = context_.no_memory;
          break;
        }
      }
      for (const auto& runner : runners_) {
        if (status.ok() && runner && !runner->leaving && goes(*runner)) leave(runner.get());
      }
      *numbers = std::move(given);
      Dispatch(NowNs(), nullptr, &orders);
    }
  } catch (const std::bad_alloc&) {
    status = context_.no_memory;
  }
  // A larger need may have raised what there is of a resource.
  if (gate) gate->AdmitAndTell();
  Carry(&orders);
  EndCall();
  return status;
}

void ModelVersion::NoteLeft(Orders* orders) {
  if (leaving_ == 0 || told_left_ || stop_ || terminated_) return;
  orders->may_remove = std::any_of(runners_.begin(), runners_.end(), [this](const auto& runner) {
    return runner && dispatcher_->MayRemove(runner.get());
  });
  told_left_ = orders->may_remove;
}

void ModelVersion::TellLeft() {
  if (!on_left_ || !on_left_()) KeepLeft();
}

void ModelVersion::KeepLeft() {
  std::lock_guard lock(mutex_);
  told_left_ = false;
}

void ModelVersion::RemoveLeft() {
  std::vector<std::unique_ptr<InstanceRunner>> left;
  {
    std::lock_guard lock(mutex_);
    told_left_ = false;
    // Destroy frees the instances of a version that ends.
    if (stop_ || terminated_) return;
    try {
      left.reserve(leaving_);
    } catch (const std::bad_alloc&) {
      return;  // The next event has this called again.
    }
    for (auto& runner : runners_) {
      if (!runner || !dispatcher_->MayRemove(runner.get())) continue;
      dispatcher_->Remove(runner.get());
      runner->gone = true;
      leaving_--;
      left.push_back(std::move(runner));
    }
    if (left.empty()) return;
    BeginCall();
  }
  for (const auto& runner : left) {
    runner->bell->Ring();
    runner->thread.Join();
  }
  left.clear();
  EndCall();
}

}  // namespace tritonts
