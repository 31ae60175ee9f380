// Repository agents that are plug-ins of Triton: their lives, and the folders that they choose.
#include "plugins/agent_plugin.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "temporary_folder.h"

namespace tritonts::test {

namespace {

using plugins::AgentModel;
using Parameters = std::vector<std::pair<std::string, std::string>>;

const std::string kLibrary =
    std::string(TRITONTS_FAKES) + "/agents/journal/libtritonrepoagent_journal.so";

// A load of a model.
struct Load {
  explicit Load(Parameters parameters) {
    std::filesystem::create_directory(Path("model"));
    std::filesystem::create_directory(Path("own"));
    std::ofstream(Path("model/config.pbtxt")) << "name: \"m\"";
    journal = Path("journal");
    parameters.emplace_back("journal", journal);
    auto opened = AgentModel::Open(
        kLibrary, TRITONTS_OWN_LIBRARY,
        {Path("model"), false, R"({"model_repository_agents":{"agents":[{"name":"journal"}]}})",
         std::move(parameters), Path("own")},
        std::chrono::seconds(60));
    status = opened.status();
    if (opened.ok()) model = opened.take();
  }
  std::string Path(const char* name) const { return (folder.path() / name).string(); }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream file(journal);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder;
  std::string journal;
  Status status;
  std::shared_ptr<AgentModel> model;
};

}  // namespace

TEST(agents_are_begun_by_the_first_model_and_ended_by_the_last) {
  for (int round = 0; round < 2; round++) {
    Load one(Parameters{});
    CHECK(one.status.ok());
    CHECK(one.model->Act(TRITONREPOAGENT_ACTION_LOAD).ok());
    Load two(Parameters{});
    CHECK(one.model->Act(TRITONREPOAGENT_ACTION_LOAD_COMPLETE).ok());
    one.model = nullptr;
    two.model = nullptr;
    CHECK_EQ(one.Lines(), (Names{"initialize 1", "LOAD", "LOAD_COMPLETE", "finalize"}));
    CHECK_EQ(two.Lines(), (Names{"initialize 2", "finalize"}));
  }
}

TEST(agents_move_the_files_of_their_model) {
  Load one(Parameters{{"move", "yes"}, {"added", "labels.txt"}});
  CHECK_EQ(one.model->MovedTo(), "");
  const Status status = one.model->Act(TRITONREPOAGENT_ACTION_LOAD);
  CHECK_EQ(status.message(), "");
  const std::string moved = one.model->MovedTo();
  CHECK(std::filesystem::exists(moved + "/config.pbtxt"));
  CHECK(std::filesystem::exists(moved + "/labels.txt"));
  CHECK(!std::filesystem::exists(moved + "/left"));
  one.model = nullptr;
  CHECK_EQ(one.Lines().back(), "finalize with folder");
}

TEST(agents_refuse_models) {
  Load none(Parameters{{"fault", "initialize"}});
  CHECK(none.status.code() == Code::kUnavailable);
  CHECK_EQ(none.Lines().size(), 0u);
  Load one(Parameters{{"fault", "LOAD"}});
  CHECK_EQ(one.model->Act(TRITONREPOAGENT_ACTION_LOAD).message(), "the agent refuses LOAD");
  Load late(Parameters{{"fault", "late_move"}});
  CHECK(late.model->Act(TRITONREPOAGENT_ACTION_LOAD).ok());
  CHECK(late.model->Act(TRITONREPOAGENT_ACTION_LOAD_COMPLETE).code() == Code::kInvalidArg);
  CHECK_EQ(late.model->MovedTo(), "");
}

TEST(agents_are_shared_by_threads) {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.push_back(std::thread([&] {
      for (int i = 0; i < 20; i++) {
        Load one(Parameters{});
        if (!one.model || !one.model->Act(TRITONREPOAGENT_ACTION_LOAD).ok()) failed++;
      }
    }));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(failed.load(), 0);
}

}  // namespace tritonts::test
