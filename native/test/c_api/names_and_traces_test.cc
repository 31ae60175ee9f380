// Models of one name in several namespaces, and traces, of requests by the C API.
#include <fstream>
#include <iterator>

#include "c_api_fixture.h"
#include "engine/trace/tracer.h"
#include "ensemble_fixture.h"
#include "temporary_folder.h"

namespace tritonts::test {

namespace {

// Publishes version 1 of m in a namespace.
void PublishIn(ApiBench* bench, const std::string& space, uint32_t uid) {
  bench->server.server().Publish(
      {space, "m"},
      R"({"state":"","reason":"","versions":[{"version":1,"state":"READY","reason":"",)"
      R"("descriptor":{"uid":)" +
          std::to_string(uid) + "}}]}");
}

}  // namespace

TEST(c_api_opens_models_of_one_name_by_their_namespaces) {
  ApiBench bench;
  PublishIn(&bench, "a", bench.Serve(Adding(1), ConfigOf(FloatIo())));
  PublishIn(&bench, "b", bench.Serve(Adding(2), ConfigOf(FloatIo())));
  bench.Attach();
  const tritonts_model_list* list = nullptr;
  CHECK_API(Api().list_models(bench.attachment, &list));
  CHECK_EQ(list->count, 2u);
  for (size_t i = 0; i < list->count; i++) {
    CHECK_EQ(std::string(list->entries[i]->name), "m");
    CHECK_EQ(std::string(list->entries[i]->model_namespace), i == 0 ? "a" : "b");
  }
  Api().model_list_delete(list);
  tritonts_model* model = nullptr;
  // Two have the name, so it alone names none.
  CHECK(Contains(TextOf(Api().model_open(bench.attachment, nullptr, "m", -1, &model)),
                 "model namespace must be provided"));
  CHECK(!model);
  for (const auto& [space, sum] : {std::pair{"a", 6.0f}, std::pair{"b", 7.0f}}) {
    CHECK_API(Api().model_open(bench.attachment, space, "m", -1, &model));
    const tritonts_model_info* info = nullptr;
    CHECK_API(Api().model_describe(model, &info));
    CHECK_EQ(std::string(info->model_namespace), space);
    CHECK_EQ(std::string(info->name), "m");
    Api().model_info_delete(info);
    ApiSend send(model, {5});
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Only().outputs.at("y").second == BytesOf<float>({sum}));
    Api().model_delete(model);
  }
  CHECK(Contains(TextOf(Api().model_open(bench.attachment, "c", "m", -1, &model)),
                 "not in the namespace 'c'; these have it: 'a', 'b'"));
  // A request to one of them does not follow the other.
  CHECK_API(Api().model_open(bench.attachment, "b", "m", -1, &model));
  bench.server.server().Withdraw({"b", "m"});
  {
    ApiSend send(model, {5});
    CHECK(Contains(send.Submit(), "NOT_FOUND"));
  }
  Api().model_delete(model);
}

TEST(c_api_requests_are_traced_as_the_servers_setting_says) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "traces").string();
  ApiBench bench;
  bench.Open(Adding(1), ConfigOf(FloatIo()));
  const std::shared_ptr<Server> server = bench.server.shared();
  ApiSend send(bench.model, {1});
  size_t sent = 0;
  const auto submit = [&] {
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(++sent));
  };
  submit();
  TraceSetting::Options options;
  options.timestamps = true;
  options.rate = 2;
  options.file = file;
  CHECK(server->tracer().Set("", Tracer::Update{options, false}).ok());
  // Also one that is submitted again without a change.
  for (int i = 0; i < 6; i++) submit();
  CHECK(Eventually([] { return TraceTree::alive() == 0; }));
  CHECK(server->tracer().Set("", std::nullopt).ok());
  submit();
  server->tracer().writer().Stop(60'000);
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      found++;
    return found;
  };
  CHECK_EQ(count(R"("model_name":"m")"), 3u);
  for (const char* stamp : {"REQUEST_START", "QUEUE_START", "COMPUTE_START", "REQUEST_END"}) {
    CHECK_EQ(count(stamp), 3u);
  }
}

}  // namespace tritonts::test
