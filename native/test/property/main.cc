// Plays random schedules against a version and compares it with a model of the correct behaviour.
//
//   tritonts_property [--schedules NUMBER | --seconds SECONDS] [--seed NUMBER]
//
// Schedule i has the seed `seed + i`: `--schedules 1 --seed N` repeats a single one. A failing
// schedule is printed after it was shortened.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

#include "player.h"

namespace tritonts::test {

namespace {

uint64_t playing = 0;

void OnAbort(int) {
  std::cerr << "the schedule with seed " << playing << " ended the process" << std::endl;
}

void Report(const Schedule& schedule, uint64_t seed, const std::string& failure) {
  using Clock = std::chrono::steady_clock;
  std::cout << "the schedule with seed " << seed << " fails: " << failure << std::endl;
  const auto until = Clock::now() + std::chrono::seconds(20);
  const Schedule shorter = Shorten(
      schedule, [](const Schedule& one) { return !Player::Play(one).empty(); },
      [until] { return Clock::now() > until; });
  std::cout << shorter.steps.size() << " of its " << schedule.steps.size()
            << " steps do: " << Show(shorter.setup) << std::endl;
  for (const Step& step : shorter.steps) std::cout << "  " << Show(step) << std::endl;
  std::cout << Player::Play(shorter) << std::endl;
}

int Play(uint64_t schedules, double seconds, uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  std::cout << "seed " << seed << std::endl;
  const auto began = Clock::now();
  std::signal(SIGABRT, OnAbort);
  uint64_t steps = 0;
  uint64_t played = 0;
  for (; played < schedules; played++) {
    if (seconds > 0 && std::chrono::duration<double>(Clock::now() - began).count() > seconds) break;
    playing = seed + played;
    const Schedule schedule = DrawSchedule(playing);
    steps += schedule.steps.size();
    const std::string failure = Player::Play(schedule);
    if (failure.empty()) continue;
    Report(schedule, playing, failure);
    return 1;
  }
  std::cout << played << " schedules of " << steps << " steps are as the model says" << std::endl;
  return 0;
}

}  // namespace

}  // namespace tritonts::test

int main(int argc, char** argv) {
  uint64_t schedules = 2000;
  double seconds = 0;
  uint64_t seed = std::random_device()();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--schedules") == 0)
      schedules = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seconds") == 0) {
      seconds = std::strtod(argv[i + 1], nullptr);
      schedules = UINT64_MAX;
    }
  }
  return tritonts::test::Play(schedules, seconds, seed);
}
