#include <algorithm>
#include <cstring>

#include "engine/batch/collector.h"
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

uint32_t Player::IdOf(const Request& request) {
  return request.header->slot + request.position;
}

Player::Group* Player::MakeGroup(uint32_t hash, uint32_t count) {
  Group* group = nullptr;
  for (const auto& one : groups_) {
    if (one->open == 0) group = one.get();
  }
  if (!group) group = groups_.emplace_back(std::make_unique<Group>()).get();
  group->open = count;
  RequestHeader& header = group->header;
  const uint32_t most = schedule_.setup.max_batch_size;
  header.batch_size = most == 0 ? 1 : 1 + (hash >> 3) % (hash % 4 == 0 ? most : std::min(most, 2u));
  const uint32_t width = (hash >> 8) % 6 == 0 ? 2 : 1;
  header.sink = sinks_[(hash >> 24) % 2].get();
  header.executor = version_.get();
  header.arrival_ns = model_.now_ns;
  header.timeout_ns = (hash >> 16) % 3 == 0 ? 1000 * (1 + (hash >> 18) % 24) : 0;
  header.priority = (hash >> 20) % 6;
  header.slot = static_cast<uint32_t>(lives_.size());
  header.requests = count;
  header.ClearMarks();
  if (schedule_.setup.sequences) {
    if (hash % 16 > 0) header.batch_size = 1;
    // Some senders name no sequence.
    if ((hash >> 14) % 8 > 0) header.AddMarks();
  }
  header.ClearInputs();
  const size_t floats = header.batch_size * width;
  group->input = std::make_unique<float[]>(count * floats);
  InputTensor& input = header.AddInput();
  input.index = 0;
  input.datatype = DataType::kFp32;
  input.shape = std::vector<int64_t>{header.batch_size, width};
  input.first_chunks.push_back(
      {group->input.get(), floats * sizeof(float), MemoryKind::kHost, 0, {}});
  version_->SetQueueKeys(&header);
  return group;
}

Life* Player::MakeLife(Group* group, uint32_t position, uint32_t hash) {
  Slot* slot = nullptr;
  for (const auto& one : slots_) {
    if (!one->life && !one->held) slot = one.get();
  }
  if (!slot) slot = slots_.emplace_back(std::make_unique<Slot>()).get();
  RequestHeader& header = group->header;
  Life* const life = lives_.emplace_back(std::make_unique<Life>()).get();
  life->id = header.slot + position;
  life->header = header.slot;
  life->rows = header.batch_size;
  life->width = static_cast<uint32_t>(header.input(0)->shape[1]);
  const auto instances = static_cast<uint32_t>(schedule_.setup.asynchronous.size());
  const bool sequenced = schedule_.setup.sequences.has_value();
  // Nothing binds requests to instances that may go.
  const bool binds = !sequenced && !schedule_.setup.changes();
  if (binds && (hash >> 11) % 4 == 0) life->bound = (hash >> 13) % instances;
  if (!header.marks().empty()) {
    SequenceMark& mark = header.marks()[position];
    // Few ids, so that many requests are of live sequences.
    life->sequence = mark.id.number = (hash >> 5) % 5;
    life->start = mark.start = (hash >> 9) % 3 == 0;
    life->end = mark.end = (hash >> 11) % 4 == 0;
  }
  life->arrival_ns = header.arrival_ns;
  life->priority = static_cast<uint32_t>(header.priority);
  life->timeout_ns = header.timeout_ns;
  slot->life = life;
  slot->group = group;
  Request& request = slot->request;
  request.header = &header;
  request.position = position;
  request.Prepare();
  request.bound = life->bound;
  const std::vector<float> values = Values(*life, 0);
  const Buffer chunk = request.chunk(*request.input(0));
  std::memcpy(chunk.data, values.data(), values.size() * sizeof(float));
  return life;
}

std::vector<Life*> Player::Prepare(const Step& step, uint32_t count) {
  std::vector<Life*> lives;
  const bool together = step.b % 2 == 0;
  Group* group = nullptr;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t hash = (step.b / 2 + i) * 2'654'435'761u;
    if (!together || !group) group = MakeGroup(hash, together ? count : 1);
    lives.push_back(MakeLife(group, together ? i : 0, hash));
  }
  return lives;
}

void Player::Spoil(const Slot& slot) {
  const InputTensor& input = *slot.request.input(0);
  const Buffer chunk = slot.request.chunk(input);
  std::memset(chunk.data, 0xff, chunk.size);
}

void Player::CheckInput(const Life& life) {
  Slot* const slot = SlotOf(life);
  const std::string who = "request " + std::to_string(life.id);
  if (!slot) return Fail(who + ": is in a run, but ended");
  const Request& request = slot->request;
  if (request.released != life.released) {
    return Fail(who + (life.released ? ": still has its input" : ": has no input any more"));
  }
  const InputTensor& input = *request.input(0);
  if (request.chunks(input) != (life.released ? 0u : 1u)) return Fail(who + ": other inputs");
  if (life.released) return;
  const std::vector<float> values = Values(life, 0);
  const Buffer chunk = request.chunk(input);
  if (chunk.size != values.size() * sizeof(float) ||
      std::memcmp(chunk.data, values.data(), chunk.size) != 0) {
    Fail(who + ": has another input");
  }
}

void Player::CheckInputs(const PlayedRun& played) {
  const ModelRun& model = *played.model;
  for (uint32_t i = 0; i < model.batch.size(); i++) {
    if (!model.done[i]) CheckInput(*model.batch[i]);
  }
}

void Player::CheckRagged(const PlayedRun& played) {
  const std::vector<Life*>& batch = played.model->batch;
  const bool released =
      std::any_of(batch.begin(), batch.end(), [](const Life* life) { return life->released; });
  if (!schedule_.setup.ragged || released) return;
  Gathered gathered;
  std::vector<int64_t> counts;
  std::vector<int64_t> wanted_counts;
  std::vector<float> wanted;
  // A null row has as many zeros as the first request has elements.
  const std::vector<float> zeros(Values(*batch.front(), 0).size(), 0.0f);
  for (uint32_t i = 0, at = 0; i < played.model->slots; i++) {
    const bool null_row = at == batch.size() || played.model->slot[at] != i;
    const std::vector<float> values = null_row ? zeros : Values(*batch[at++], 0);
    wanted_counts.push_back(static_cast<int64_t>(values.size()));
    wanted.insert(wanted.end(), values.begin(), values.end());
  }
  if (!GatherRagged(*played.run, 0, &gathered, &counts).ok())
    Fail("a ragged input is not gathered");
  if (counts != wanted_counts) Fail("a ragged input has other counts");
  if (gathered.buffer.size != wanted.size() * sizeof(float) ||
      std::memcmp(gathered.buffer.data, wanted.data(), gathered.buffer.size) != 0) {
    Fail("a ragged input has other elements");
  }
}

void Player::CheckControls(const PlayedRun& played) {
  const auto& sequences = schedule_.setup.sequences;
  if (!sequences || !sequences->controls) return;
  const ModelRun& model = *played.model;
  for (uint32_t i = 0, at = 0; i < model.slots; i++) {
    const bool null_row = at == model.slot.size() || model.slot[at] != i;
    const Life* const life = null_row ? nullptr : model.batch[at++];
    const Request& request = *played.run->requests()[i];
    int32_t start = -1;
    uint64_t id = ~uint64_t{0};
    std::memcpy(&start, request.chunk(*played.run->input(i, 1)).data, sizeof(start));
    std::memcpy(&id, request.chunk(*played.run->input(i, 2)).data, sizeof(id));
    if (start != (life && life->start ? 1 : 0)) Fail("a control tensor START of another value");
    if (life ? life->sequence != 0 && id != life->sequence : id != 0) {
      Fail("a control tensor of another id");
    }
  }
}

void Player::CheckStates(const PlayedRun& played) {
  const auto& sequences = schedule_.setup.sequences;
  if (!sequences || !sequences->state) return;
  const ModelRun& model = *played.model;
  const uint32_t input = sequences->controls ? 3 : 1;
  for (uint32_t i = 0, at = 0; i < model.slots; i++) {
    const bool null_row = at == model.slot.size() || model.slot[at] != i;
    std::vector<float> wanted = model_.StateOf(model.batch[null_row ? 0 : at++]);
    if (null_row) std::fill(wanted.begin(), wanted.end(), 0.0f);
    const Request& request = *played.run->requests()[i];
    const InputTensor& tensor = *played.run->input(i, input);
    const Buffer chunk = request.chunk(tensor);
    if (tensor.shape.size() != 2 || tensor.shape[0] != 1 ||
        tensor.shape[1] != static_cast<int64_t>(wanted.size())) {
      return Fail("a state of another shape in slot " + std::to_string(i));
    }
    if (chunk.size != wanted.size() * sizeof(float) ||
        std::memcmp(chunk.data, wanted.data(), chunk.size) != 0) {
      return Fail("another state in slot " + std::to_string(i));
    }
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
  same(response.limited, expected.limited, "limited");
  same(static_cast<uint32_t>(response.outputs.size()), expected.values.empty() ? 0 : 1, "outputs");
  if (response.timings && expected.rows > 0) {
    same(response.timings->batch_size, expected.rows, "batch size");
  }
  if (response.outputs.empty() || expected.values.empty()) return;
  const OutputTensor& output = response.outputs.front();
  std::vector<float> values(expected.values.size());
  int64_t elements = output.batch >= 0 ? output.batch : 1;
  for (const int64_t dim : output.tail) elements *= dim;
  if (elements != static_cast<int64_t>(values.size())) Fail(who + ": an output of another shape");
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
  // The group of an abandoned request is never reused.
  if (abandoned) return;
  Spoil(*slot);
  if (--slot->group->open == 0) slot->group->input.reset();
  slot->request.set_state(Request::State::kIdle);
}

Buffer Player::Sink::Place(const Request& request, uint32_t, size_t size, MemoryKind) {
  if (!own_) return {};
  std::lock_guard lock(player_->mutex_);
  Slot* const slot = player_->SlotOf(*player_->lives_[IdOf(request)]);
  if (!slot) return {};
  slot->place.assign(size / sizeof(float), 0);
  return {slot->place.data(), size, MemoryKind::kHost, 0, {}};
}

}  // namespace tritonts::test
