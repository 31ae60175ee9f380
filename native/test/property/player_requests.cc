#include <cstring>

#include "player.h"
#include "sink.h"

namespace tritonts::test {

std::vector<float> Player::Values(const Life& life, uint32_t salt) const {
  std::vector<float> values;
  for (uint32_t i = 0; i < life.rows * life.width; i++) {
    values.push_back(static_cast<float>(64 * life.id + i) + static_cast<float>(salt % 8) / 8);
  }
  return values;
}

Player::Slot* Player::SlotOf(const Life& life) {
  for (const auto& slot : slots_) {
    if (slot->life == &life) return slot.get();
  }
  return nullptr;
}

Life* Player::Prepare(const Step& step, uint32_t number) {
  const uint32_t hash = step.b / 7 + number * 2'654'435'761u;
  Slot* slot = nullptr;
  for (const auto& one : slots_) {
    if (!one->life && !one->held) slot = one.get();
  }
  if (!slot) slot = slots_.emplace_back(std::make_unique<Slot>()).get();
  Life* const life = lives_.emplace_back(std::make_unique<Life>()).get();
  life->id = static_cast<uint32_t>(lives_.size() - 1);
  const uint32_t most = schedule_.setup.max_batch_size;
  life->rows = most == 0 ? 1 : 1 + (hash >> 3) % (hash % 4 == 0 ? most : std::min(most, 2u));
  life->width = (hash >> 8) % 6 == 0 ? 2 : 1;
  const auto instances = static_cast<uint32_t>(schedule_.setup.asynchronous.size());
  if ((hash >> 11) % 4 == 0) life->bound = (hash >> 13) % instances;
  life->arrival_ns = model_.now_ns;
  const uint32_t timeout_us = (hash >> 16) % 4 == 0 ? 1 + (hash >> 18) % 24 : 0;
  if (timeout_us > 0) life->expires_ns = life->arrival_ns + 1000 * uint64_t{timeout_us};

  slot->life = life;
  const std::vector<float> values = Values(*life, 0);
  slot->input = std::make_unique<float[]>(values.size());
  std::memcpy(slot->input.get(), values.data(), values.size() * sizeof(float));
  RequestHeader& header = slot->header;
  header.sink = sinks_[(hash >> 24) % 2].get();
  header.executor = version_.get();
  header.slot = life->id;
  header.batch_size = life->rows;
  header.arrival_ns = life->arrival_ns;
  header.timeout_us = timeout_us;
  header.ClearInputs();
  InputTensor& input = header.AddInput();
  input.index = 0;
  input.datatype = DataType::kFp32;
  input.shape = std::vector<int64_t>{life->rows, life->width};
  input.first_chunks.push_back(
      {slot->input.get(), values.size() * sizeof(float), MemoryKind::kHost, 0, {}});
  version_->SetShapeKey(&header);
  slot->request.header = &header;
  slot->request.Prepare();
  slot->request.bound = life->bound;
  return life;
}

void Player::CheckInput(const Life& life) {
  Slot* const slot = SlotOf(life);
  const std::string who = "request " + std::to_string(life.id);
  if (!slot) return Fail(who + ": is in a run, but ended");
  const Request& request = slot->request;
  const InputTensor* input = request.input(0);
  if (!input) return Fail(who + ": has no input");
  if (request.chunks(*input) != (life.released ? 0u : 1u)) {
    return Fail(who + ": has " + std::to_string(request.chunks(*input)) + " pieces of input" +
                (life.released ? " that were given back" : ""));
  }
  if (life.released) return;
  const std::vector<float> values = Values(life, 0);
  const Buffer bytes = request.chunk(*input);
  if (bytes.size != values.size() * sizeof(float) ||
      std::memcmp(bytes.data, values.data(), values.size() * sizeof(float)) != 0) {
    Fail(who + ": has another input");
  }
}

void Player::CheckInputs(const PlayedRun& played) {
  const ModelRun& model = *played.model;
  for (uint32_t i = 0; i < model.batch.size(); i++) {
    if (!model.done[i]) CheckInput(*model.batch[i]);
  }
}

void Player::CheckResponse(const Response& response, const Life& life, const Expected& expected) {
  const std::string who = "request " + std::to_string(life.id);
  const auto same = [&](uint32_t is, uint32_t should, const char* what) {
    if (is == should) return;
    Fail(who + ": " + what + " " + std::to_string(is) + " instead of " + std::to_string(should) +
         " (" + response.status.message() + ")");
  };
  same(static_cast<uint32_t>(response.status.code()), static_cast<uint32_t>(expected.code), "code");
  same(response.final, expected.final, "final");
  same(response.timings != nullptr, expected.ran, "ran");
  same(response.unserved, expected.unserved, "unserved");
  same(response.abandoned, expected.abandoned, "abandoned");
  same(static_cast<uint32_t>(response.outputs.size()), expected.values.empty() ? 0 : 1, "outputs");
  if (response.timings && life.run) {
    same(response.timings->batch_size, life.run->rows, "batch size");
  }
  if (response.outputs.empty() || expected.values.empty()) return;
  const OutputTensor& output = response.outputs.front();
  std::vector<float> values(expected.values.size());
  if (output.size != values.size() * sizeof(float)) {
    return Fail(who + ": an output of " + std::to_string(output.size) + " bytes");
  }
  const Buffer from{const_cast<void*>(output.data), output.size, output.kind, 0,
                    BlockRef::Share(output.block)};
  const Status copied = CopyBytes(from, {values.data(), output.size, MemoryKind::kHost, 0, {}});
  if (!copied.ok()) Fail(who + ": " + copied.message());
  if (values != expected.values) Fail(who + ": another output");
}

void Player::GiveBack(Slot* slot, bool abandoned) {
  slot->life = nullptr;
  slot->held = abandoned;
  if (abandoned) return;
  slot->input.reset();
  slot->request.set_state(Request::State::kIdle);
}

Buffer Player::Sink::Place(const Request& request, uint32_t, size_t size, MemoryKind) {
  if (!own_) return {};
  std::lock_guard lock(player_->mutex_);
  Slot* const slot = player_->SlotOf(*player_->lives_[request.header->slot]);
  if (!slot) return {};
  slot->place.assign(size / sizeof(float), 0);
  return {slot->place.data(), size, MemoryKind::kHost, 0, {}};
}

}  // namespace tritonts::test
