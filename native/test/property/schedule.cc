#include "schedule.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace tritonts::test {

namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  // 0 to `most`. The standard library's distributions differ between systems, so none is used.
  uint32_t Up(uint32_t most) { return static_cast<uint32_t>(engine_() % (uint64_t{most} + 1)); }
  bool Once(uint32_t in) { return Up(in - 1) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Kind {
  Do what;
  const char* name;
  uint32_t weight;
};

constexpr std::array<Kind, static_cast<size_t>(Do::kCount)> kKinds = {{
    {Do::kSubmit, "submit", 220},
    {Do::kCancel, "cancel", 50},
    {Do::kRespond, "respond", 180},
    {Do::kRespondToAll, "respond to all", 70},
    {Do::kReschedule, "reschedule", 60},
    {Do::kRelease, "release", 40},
    {Do::kInstanceFree, "instance free", 120},
    {Do::kReturn, "return", 70},
    {Do::kThrow, "throw", 12},
    {Do::kLate, "late", 30},
    {Do::kAdvance, "advance", 80},
    {Do::kTimer, "timer", 15},
    {Do::kNeighbour, "neighbour", 60},
    {Do::kChangeInstances, "change instances", 40},
    {Do::kRemoveLeft, "remove instances that are left", 25},
    {Do::kClose, "close", 5},
    {Do::kTerminate, "terminate", 3},
    {Do::kAbort, "abort", 4},
    {Do::kAbandon, "abandon", 2},
}};

LevelSetup DrawLevel(Draw* draw) {
  LevelSetup level;
  level.delays = draw->Once(2);
  if (draw->Once(2)) level.timeout_ns = 1000 * uint64_t{1 + draw->Up(19)};
  level.may_override = draw->Once(2);
  if (draw->Once(2)) level.most = 1 + draw->Up(6);
  return level;
}

QueueSetup DrawQueue(Draw* draw) {
  QueueSetup queue;
  queue.general = DrawLevel(draw);
  // Requests have priorities of 0 to 5.
  if (draw->Once(3)) return queue;
  queue.levels = 1 + draw->Up(3);
  queue.usual_level = 1 + draw->Up(queue.levels - 1);
  for (uint32_t i = draw->Up(2); i > 0; i--) {
    queue.own[1 + draw->Up(queue.levels - 1)] = DrawLevel(draw);
  }
  return queue;
}

// Sequences exclude what their batcher does not know.
void DrawSequences(Draw* draw, Setup* setup) {
  SequenceSetup& sequences = setup->sequences.emplace();
  sequences.direct = draw->Once(2);
  sequences.slots = sequences.direct ? std::max(1u, setup->max_batch_size) : 1 + draw->Up(3);
  sequences.idle_ns = 1000 * uint64_t{1 + draw->Up(29)};
  sequences.share = draw->Once(2) ? 1 + draw->Up(sequences.slots - 1) : 0;
  sequences.iterative = draw->Once(2);
  sequences.controls = setup->max_batch_size > 0 && draw->Once(2);
  sequences.state = draw->Once(2);
  setup->queue.reset();
  setup->across = setup->adds = setup->ordered = false;
  if (sequences.direct) setup->preferred.clear();
}

std::string Show(const LevelSetup& level) {
  std::ostringstream out;
  out << "[" << (level.delays ? "delay" : "reject") << " after " << level.timeout_ns << " ns"
      << (level.may_override ? " or their own" : "") << ", most " << level.most << "]";
  return out.str();
}

}  // namespace

Schedule DrawSchedule(uint64_t seed) {
  Draw draw(seed);
  Schedule schedule;
  Setup& setup = schedule.setup;
  const uint32_t instances = 1 + draw.Up(2);
  // Asynchronous ones need no thread: most schedules have no others. Only blocking ones come and
  // go.
  const bool all_blocking = draw.Once(5);
  const bool any_blocking = draw.Once(4);
  for (uint32_t i = 0; i < instances; i++) {
    setup.asynchronous.push_back(!all_blocking && (!any_blocking || draw.Once(2)));
  }
  setup.max_batch_size = draw.Once(8) ? 0 : 1 + draw.Up(7);
  if (setup.max_batch_size > 0) {
    for (uint32_t i = draw.Up(2); i > 0; i--) {
      setup.preferred.push_back(1 + draw.Up(setup.max_batch_size - 1));
    }
    if (draw.Once(2)) setup.delay_ns = 1000 * uint64_t{1 + draw.Up(19)};
  }
  if (draw.Once(2)) setup.queue = DrawQueue(&draw);
  setup.ordered = draw.Once(3);
  setup.across = draw.Once(2);
  setup.halves = draw.Once(2);
  setup.runs_inline = draw.Once(2);
  setup.has_device = draw.Once(2);
  setup.adds = setup.max_batch_size > 0 && draw.Once(3);
  setup.ragged = draw.Once(3);
  if (draw.Once(3)) setup.gate = 1 + draw.Up(1);
  if (draw.Once(3)) DrawSequences(&draw, &setup);

  uint32_t all = 0;
  for (const Kind& kind : kKinds) all += kind.weight;
  for (uint32_t left = 5 + draw.Up(draw.Once(4) ? 150 : 40); left > 0; left--) {
    Step step;
    uint32_t pick = draw.Up(all - 1);
    for (const Kind& kind : kKinds) {
      step.what = kind.what;
      if (pick < kind.weight) break;
      pick -= kind.weight;
    }
    step.inside = draw.Once(3);
    step.a = draw.Up(1 << 20);
    step.b = draw.Up(1 << 20);
    step.c = draw.Up(1 << 20);
    schedule.steps.push_back(step);
  }
  return schedule;
}

Schedule Shorten(Schedule schedule, const std::function<bool(const Schedule&)>& fails,
                 const std::function<bool()>& time_is_over) {
  const auto keep = [&](const Schedule& shorter) {
    if (time_is_over() || !fails(shorter)) return false;
    schedule = shorter;
    return true;
  };
  bool shorter = true;
  while (shorter && !time_is_over()) {
    shorter = false;
    for (size_t length = std::max<size_t>(schedule.steps.size() / 2, 1); length > 0; length /= 2) {
      for (size_t begin = 0; begin < schedule.steps.size();) {
        Schedule without = schedule;
        const auto first = without.steps.begin() + static_cast<ptrdiff_t>(begin);
        const size_t past = std::min(begin + length, without.steps.size());
        without.steps.erase(first, without.steps.begin() + static_cast<ptrdiff_t>(past));
        if (keep(without)) {
          shorter = true;
        } else {
          begin += length;
        }
      }
    }
    // Remove one setting at a time, and simplify the steps.
    const auto plainer = [&](auto change) {
      Schedule changed = schedule;
      change(&changed);
      keep(changed);
    };
    plainer([](Schedule* one) { one->setup.asynchronous.resize(1); });
    plainer([](Schedule* one) { one->setup.asynchronous.assign(1, true); });
    plainer([](Schedule* one) { one->setup.preferred.clear(); });
    plainer([](Schedule* one) { one->setup.delay_ns = 0; });
    plainer([](Schedule* one) { one->setup.queue.reset(); });
    plainer([](Schedule* one) {
      if (one->setup.queue) one->setup.queue->own.clear();
    });
    plainer([](Schedule* one) {
      if (one->setup.queue) one->setup.queue = {0, 0, one->setup.queue->general, {}};
    });
    plainer([](Schedule* one) {
      if (one->setup.queue) one->setup.queue->general = {};
    });
    plainer([](Schedule* one) { one->setup.ordered = false; });
    plainer([](Schedule* one) { one->setup.across = false; });
    plainer([](Schedule* one) { one->setup.halves = false; });
    plainer([](Schedule* one) { one->setup.has_device = false; });
    plainer([](Schedule* one) { one->setup.runs_inline = false; });
    plainer([](Schedule* one) { one->setup.adds = false; });
    plainer([](Schedule* one) { one->setup.ragged = false; });
    plainer([](Schedule* one) { one->setup.gate = 0; });
    plainer([](Schedule* one) {
      if (one->setup.sequences) one->setup.sequences->controls = false;
    });
    plainer([](Schedule* one) {
      if (one->setup.sequences) one->setup.sequences->share = 0;
    });
    plainer([](Schedule* one) {
      if (one->setup.sequences) one->setup.sequences->state = false;
    });
    for (size_t i = 0; i < schedule.steps.size(); i++) {
      plainer([i](Schedule* one) { one->steps[i].inside = false; });
      plainer([i](Schedule* one) { one->steps[i].a = 0; });
      plainer([i](Schedule* one) { one->steps[i].b = 0; });
      plainer([i](Schedule* one) { one->steps[i].c = 0; });
    }
  }
  return schedule;
}

std::string Show(const Setup& setup) {
  std::ostringstream out;
  out << "max_batch_size " << setup.max_batch_size << ", preferred [";
  for (const uint32_t size : setup.preferred) out << ' ' << size;
  out << " ], delay " << setup.delay_ns << " ns, ";
  if (const auto& queue = setup.queue) {
    out << "queue " << Show(queue->general) << " of " << queue->levels << " levels, usually "
        << queue->usual_level;
    for (const auto& [level, own] : queue->own) out << ", " << level << " " << Show(own);
    out << ", ";
  }
  out << (setup.ordered ? "ordered, " : "") << (setup.across ? "across shapes, " : "")
      << (setup.halves ? "halves, " : "") << "instances";
  for (const bool asynchronous : setup.asynchronous) out << (asynchronous ? " async" : " blocking");
  if (setup.runs_inline) out << ", inline";
  if (setup.has_device) out << ", with a device";
  if (setup.adds) out << ", more than requests in batches";
  if (setup.ragged) out << ", ragged";
  if (const auto& sequences = setup.sequences) {
    out << ", sequences " << (sequences->direct ? "direct" : "oldest") << " in " << sequences->slots
        << " slots, idle after " << sequences->idle_ns << " ns, share " << sequences->share
        << (sequences->iterative ? ", iterative" : "") << (sequences->controls ? ", controls" : "")
        << (sequences->state ? ", state" : "");
  }
  if (setup.gate > 0) out << ", at most " << setup.gate << " inside";
  return out.str();
}

std::string Show(const Step& step) {
  std::ostringstream out;
  out << (step.inside ? "  inside: " : "") << kKinds[static_cast<size_t>(step.what)].name << ' '
      << step.a << ' ' << step.b << ' ' << step.c;
  return out.str();
}

}  // namespace tritonts::test
