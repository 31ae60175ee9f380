// The parameters of responses, from the backend to each kind of receiver.
#include "engine/request/response_parameters.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache_fixture.h"
#include "port_fixture.h"

namespace tritonts::test {

namespace {

using Value = std::variant<std::string, int64_t, double, bool>;

ResponseParameters Parameters(std::vector<std::pair<std::string, Value>> all) {
  ResponseParameterList list;
  for (auto& [name, value] : all) CHECK(list.Set(name, std::move(value)).ok());
  return list.Take();
}

float ValueOf(const Request& request) {
  float value = 0;
  std::memcpy(&value, request.chunk(*request.input(0)).data, sizeof(value));
  return value;
}

// Gives the requests whose value is odd that value as the parameter n, and responds to all
// together.
Script NamingOdd(const std::shared_ptr<std::atomic<int>>& runs = nullptr) {
  Script script;
  script.execute = [runs](uint32_t, Run& run) {
    if (runs) ++*runs;
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const auto value = static_cast<int64_t>(ValueOf(*run.requests()[i]));
      if (value % 2 == 1) run.SetParameters(i, Parameters({{"n", value}}));
    }
    AddTo(run, 1);
  };
  return script;
}

// Responds to each request with these parameters.
Script Naming(std::vector<std::pair<std::string, Value>> all) {
  Script script;
  script.execute = [all](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) run.SetParameters(i, Parameters(all));
    AddTo(run, 1);
  };
  return script;
}

}  // namespace

TEST(parameters_of_a_response_have_each_name_once_and_a_limit) {
  ResponseParameterList list;
  CHECK(list.Set("a", std::string("x")).ok());
  CHECK(list.Set("b", true).ok());
  CHECK(list.Set("a", int64_t{-7}).ok());
  CHECK(list.Set("c", 0.5).ok());
  // 12 bytes for the record, 4 for the name, and at the limit before.
  const size_t left = kMostResponseParameterBytes - (3 * 16 + 8 + 4 + 8);
  const Status beyond = list.Set("d", std::string(left - 16 + 1, 'x'));
  CHECK(beyond.code() == Code::kInvalidArg);
  CHECK(Contains(beyond.message(), "parameter 'd': expected at most 65536 bytes"));
  CHECK(list.Set("d", std::string(left - 16, 'x')).ok());
  CHECK(list.Set("d", std::string("short")).ok());
  CHECK_EQ(TextOf(list.Take()), "a=-7 b=true c=0.500000 d='short'");
  CHECK(!list.Take());
}

TEST(parameters_of_a_response_are_found_by_name_however_many_there_are) {
  ResponseParameterList list;
  // More than the page of a port has room for, so that the limit refuses the last ones.
  size_t count = 0;
  while (list.Set("p" + std::to_string(count), static_cast<int64_t>(count)).ok()) count++;
  CHECK(count > 2000);
  // Each is replaced in its place, and the refused one was not added.
  for (size_t i = 0; i < count; i++) {
    CHECK(list.Set("p" + std::to_string(i), static_cast<int64_t>(i + 1)).ok());
  }
  CHECK(!list.Set("p" + std::to_string(count), int64_t{0}).ok());
  const ResponseParameters all = list.Take();
  CHECK_EQ(all->size(), count);
  ParameterNames names;
  names.AddAll(*all);
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ((*all)[i].name, "p" + std::to_string(i));
    CHECK_EQ(std::get<int64_t>((*all)[i].value), static_cast<int64_t>(i + 1));
    CHECK_EQ(names.Find(*all, (*all)[i].name), i);
  }
  CHECK_EQ(names.Find(*all, "none"), ParameterNames::kNone);
  // The list is empty again, and knows no name of before.
  for (size_t i = 0; i < 40; i++) CHECK(list.Set("p" + std::to_string(40 - i), true).ok());
  CHECK_EQ(list.Take()->size(), 40u);
}

TEST(parameters_of_a_response_are_those_of_its_request_in_the_batch) {
  VersionBench bench(NamingOdd(), ConfigOf(FloatIo(8), 1, Dynamic(8)));
  std::vector<Request*> sent;
  for (int i = 0; i < 5; i++) sent.push_back(bench.requests.Floats({static_cast<float>(i)}));
  bench.Submit(sent);
  CHECK(bench.sink.Wait(5));
  for (uint32_t i = 0; i < 5; i++) {
    const SeenResponse seen = bench.sink.Of(i);
    CHECK_EQ(FloatsOf(seen), (Floats{static_cast<float>(i + 1)}));
    CHECK_EQ(seen.parameters, i % 2 == 1 ? "n=" + std::to_string(i) : "");
  }
}

TEST(parameters_are_those_of_the_next_response_and_of_no_other) {
  VersionConfig config = ConfigOf(FloatIo(8));
  config.decoupled = true;
  for (const bool ordered : {false, true}) {
    config.preserve_ordering = ordered;
    Script script;
    script.execute = [](uint32_t, Run& run) {
      const float value = 1;
      const int64_t shape[] = {1, 1};
      const auto respond = [&](bool final) {
        run.SetRequestOutput(0, 0, DataType::kFp32, shape, &value, sizeof(value), nullptr);
        run.Respond(0, Status::Ok(), final);
      };
      run.SetParameters(0, Parameters({{"dropped", true}}));
      run.DropOutputs(0);
      respond(false);
      run.SetParameters(0, Parameters({{"replaced", true}}));
      run.SetParameters(0, Parameters({{"first", std::string("x")}}));
      respond(false);
      respond(false);
      run.SetParameters(0, Parameters({{"of an error", true}}));
      run.Respond(0, Status::Internal("an injected failure"));
      run.SetParameters(0, Parameters({{"late", true}}));
      run.SetParameters(7, Parameters({{"of nobody", true}}));
    };
    VersionBench bench(std::move(script), config);
    bench.Send({1});
    CHECK(bench.sink.Wait(4));
    std::vector<std::string> seen;
    for (const SeenResponse& one : bench.sink.responses()) seen.push_back(one.parameters);
    CHECK_EQ(seen, (std::vector<std::string>{"", "first='x'", "", ""}));
  }
}

TEST(parameters_are_in_the_pages_of_a_port) {
  PortBench bench;
  const std::string text(60'000, 'x');
  Script script = Naming({{"", int64_t{INT64_MIN}},
                          {"odd", std::string("äb")},
                          {"double", 0.25},
                          {"flag", true},
                          {"text", text}});
  bench.ServeScript(std::move(script), ConfigOf(FloatIo(8), 1, Dynamic(8)));
  for (int i = 0; i < 12; i++) bench.Write({static_cast<float>(i)});
  for (const PortResponse& response : bench.client.Take(12)) {
    CHECK(response.code == Code::kOk);
    CHECK_EQ(response.outputs.size(), 1u);
    CHECK_EQ(TextOf(response.parameters),
             "=-9223372036854775808 odd='äb' double=0.250000 flag=true "
             "text='" +
                 text + "'");
  }
}

TEST(parameters_count_as_unread_until_they_are_read) {
  PortBench bench;
  VersionConfig config = ConfigOf(FloatIo(8));
  config.decoupled = true;
  Script script;
  script.execute = [](uint32_t, Run& run) {
    run.SetParameters(0, Parameters({{"text", std::string(40'000, 'x')}}));
    AddTo(run, 1);
  };
  bench.ServeScript(std::move(script), config);
  bench.Write({1});
  for (const PortResponse& response : bench.client.Take(1)) {
    CHECK(response.counted > 40'000);
    CHECK_EQ(response.counted,
             StreamCount::kResponseBytes + sizeof(float) + ParameterBytes(response.parameters));
  }
}

TEST(parameters_keep_an_answer_out_of_the_response_cache) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(NamingOdd(runs));
  for (uint32_t i = 0; i < 4; i++) {
    cached.bench().Send({i < 2 ? 1.0f : 2.0f});
    CHECK(cached.sink().Wait(i + 1));
    CHECK_EQ(cached.sink().Of(i).parameters, i < 2 ? "n=1" : "");
  }
  CHECK_EQ(runs->load(), 3);
}

TEST(parameters_of_a_step_name_the_sequence_of_what_follows_and_no_other_is_passed_on) {
  std::vector<std::string> marks;
  std::mutex mutex;
  Script last = Adding(1);
  last.execute = [&, execute = last.execute](uint32_t instance, Run& run) {
    {
      const std::lock_guard lock(mutex);
      for (const Request* one : run.requests()) {
        const SequenceMark& mark = one->sequence();
        marks.push_back(std::to_string(mark.id.number) + mark.id.text +
                        (mark.start ? " start" : "") + (mark.end ? " end" : ""));
      }
    }
    execute(instance, run);
  };
  const auto send = [&](std::vector<std::pair<std::string, Value>> named) {
    marks.clear();
    EnsembleBench bench(ChainOf(3), {{Naming(std::move(named)), ConfigOf(FloatIo(8))},
                                     {Adding(1), ConfigOf(FloatIo(8))},
                                     {last, ConfigOf(FloatIo(8))}});
    bench.Send({1});
    CHECK(bench.sink.Wait(1));
    const SeenResponse seen = bench.sink.Of(0);
    return seen.status.ok() ? seen.parameters + " | " + (marks.empty() ? "" : marks.front())
                            : seen.status.message();
  };
  CHECK_EQ(send({{"n", int64_t{5}}}), " | 0");
  CHECK_EQ(send({{"n", int64_t{5}}, {"sequence_id", int64_t{42}}, {"sequence_start", true}}),
           "sequence_id=42 sequence_start=true sequence_end=false | 42 start");
  CHECK_EQ(send({{"sequence_id", std::string("abc")}, {"sequence_end", true}}),
           "sequence_id='abc' sequence_start=false sequence_end=true | 0abc end");
  CHECK(Contains(send({{"sequence_id", 0.5}}),
                 "the parameter 'sequence_id' of its response must be"));
  CHECK(Contains(send({{"sequence_id", std::string(129, 'x')}}), "at most 128 bytes"));
  CHECK(Contains(send({{"sequence_start", int64_t{1}}}), "must be a bool"));
}

TEST(parameters_name_sequences_of_each_request_of_a_group_in_an_ensemble) {
  Script naming;
  naming.execute = [](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const auto value = static_cast<int64_t>(ValueOf(*run.requests()[i]));
      run.SetParameters(i, Parameters({{"sequence_id", value}}));
    }
    AddTo(run, 1);
  };
  EnsembleBench bench(ChainOf(2), {{naming, ConfigOf(FloatIo(8), 1, Dynamic(8))},
                                   {Adding(1), ConfigOf(FloatIo(8), 1, Dynamic(8))}});
  RecordingSink sink;
  Group group(&sink, {5, 6, 7});
  bench.Submit(group.all());
  CHECK(sink.Wait(3));
  std::vector<std::string> seen;
  for (const SeenResponse& one : sink.responses()) {
    seen.push_back(one.parameters.substr(0, one.parameters.find(' ')));
  }
  std::sort(seen.begin(), seen.end());
  CHECK_EQ(seen, (std::vector<std::string>{"sequence_id=5", "sequence_id=6", "sequence_id=7"}));
}

}  // namespace tritonts::test
