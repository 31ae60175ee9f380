#include <algorithm>
#include <stdexcept>

#include "player.h"

namespace tritonts::test {

void Player::OnExecute(uint32_t instance, tritonts::Run& run) {
  const bool asynchronous = schedule_.setup.is_asynchronous(instance);
  const bool here = std::this_thread::get_id() == thread_;
  std::unique_lock lock(mutex_);
  if (failed_) return;
  const std::string who = "instance " + std::to_string(instance);
  // A run that gave its last request back has ended by now.
  if (!model_.next(instance)) model_.DroppedHold();
  ModelRun* const model = model_.Begin(instance);
  if (!model) return Fail(who + ": was given a batch that is not for it now");
  PlayedRun* const one = (played_[model] = std::make_unique<PlayedRun>()).get();
  one->model = model;
  one->run = &run;
  if (model->id % 2 == 0) one->reference = RunRef(run);
  std::string got, wanted;
  std::vector<uint32_t> null_rows;
  for (uint32_t i = 0; i < run.requests().size(); i++) {
    const Request& request = *run.requests()[i];
    if (request.header->null_row) null_rows.push_back(i);
    got += request.header->null_row ? "- " : std::to_string(IdOf(request)) + " ";
    if (!schedule_.setup.adds) continue;
    const InputTensor* const slot = run.input(i, 1);
    if (!slot || run.inputs(i).size() != 2 ||
        *static_cast<const uint32_t*>(request.chunk(*slot).data) != i) {
      return Fail(who + ": slot " + std::to_string(i) + " has another injected input");
    }
  }
  for (uint32_t i = 0, at = 0; i < model->slots; i++) {
    const bool null_row = at == model->slot.size() || model->slot[at] != i;
    wanted += null_row ? "- " : std::to_string(model->batch[at++]->id) + " ";
  }
  if (got != wanted) return Fail(who + ": was given [ " + got + "], not [ " + wanted + "]");
  if (run.total_batch_size() != model->rows) Fail(who + ": another number of rows");
  if (!model->half && view_->closed_by[instance] != model->closed_by) {
    Fail(who + ": a batch that was closed by " +
         std::to_string(static_cast<int>(view_->closed_by[instance].load())) + " instead of " +
         std::to_string(static_cast<int>(model->closed_by)));
  }
  CheckInputs(*one);
  CheckRagged(*one);
  CheckControls(*one);
  CheckStates(*one);
  for (const PlayedRun* other : executing_[instance]) {
    // Execute may overlap only with a run that has freed its instance.
    if (asynchronous || other->parked || !other->model->freed)
      Fail(who + ": Execute within Execute");
  }
  executing_[instance].push_back(one);
  if (!null_rows.empty()) {
    lock.unlock();
    for (const uint32_t position : null_rows) run.Respond(position, Status::Ok());
    lock.lock();
  }
  if (asynchronous || here) {
    lock.unlock();
    if (here) {
      visible_.push_back(one);
      inner_.push_back(one);
      DoInside();
      inner_.pop_back();
    }
    lock.lock();
    if (!failed_) model_.Returned(model, one->throws);
  } else {
    one->parked = true;
    changed_.notify_all();
    while (!one->leaves) {
      changed_.wait(lock, [&] { return one->leaves || one->task; });
      if (!one->task) break;
      lock.unlock();
      one->task();
      lock.lock();
      one->task = nullptr;
      changed_.notify_all();
    }
    one->parked = false;
  }
  std::erase(executing_[instance], one);
  lock.unlock();
  if (one->throws) throw std::runtime_error("thrown");
}

void Player::OnDeliver(std::span<const Response> responses) {
  const bool here = std::this_thread::get_id() == thread_;
  bool quiet = !here;
  std::vector<const ModelRun*> busy;
  std::vector<ModelRun*> runs;
  {
    std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      Life* const life = lives_[IdOf(*response.request)].get();
      Slot* const slot = SlotOf(*life);
      if (failed_) {
        if (slot && response.final) GiveBack(slot, response.abandoned);
        continue;
      }
      // A run that gave its last request back has ended by now, and freed its instance.
      if (life->expected.empty()) model_.DroppedHold();
      if (!slot || life->expected.empty()) {
        Fail("request " + std::to_string(life->id) + ": a response that nobody expects: " +
             std::to_string(static_cast<int>(response.status.code())) + " " +
             response.status.message());
        continue;
      }
      if (life->run && life->expected.front().ran) runs.push_back(life->run);
      CheckResponse(response, *life, life->expected.front());
      quiet = quiet || life->expected.front().quiet;
      life->expected.pop_front();
      if (response.final) {
        if (!life->ended) Fail("request " + std::to_string(life->id) + ": ended too early");
        GiveBack(slot, response.abandoned);
      } else {
        busy.push_back(life->run);
      }
    }
    if (failed_) quiet = true;
    model_.Delivering(runs);
  }
  if (!quiet) {
    busy_.insert(busy.begin(), busy.end());
    DoInside();
    for (const ModelRun* run : busy) busy_.erase(busy_.find(run));
  }
  const std::lock_guard lock(mutex_);
  model_.Delivered(runs);
}

}  // namespace tritonts::test
