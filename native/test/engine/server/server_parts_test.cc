// Parts of a server in isolation: the published models, the versions, and the ports.
#include "engine/server/port_list.h"
#include "engine/server/published_models.h"
#include "engine/server/version_table.h"
#include "server_scripts.h"

namespace tritonts::test {

TEST(published_models_have_another_revision_each_time) {
  PublishedModels models;
  CHECK(!models.Read({"", "m"}, 0).found);
  models.Set({"", "m"}, "one");
  const auto first = models.Read({"", "m"}, 0);
  CHECK(first.found && first.changed);
  CHECK_EQ(first.json, "one");
  const auto same = models.Read({"", "m"}, first.revision);
  CHECK(same.found && !same.changed);
  CHECK_EQ(same.json, "");
  models.Set({"", "m"}, "one");
  CHECK(models.Read({"", "m"}, first.revision).changed);
  models.Set({"", "k"}, "two");
  CHECK(models.Keys() == (Keys{{"", "k"}, {"", "m"}}));
  CHECK(models.Remove({"", "m"}));
  CHECK(!models.Remove({"", "m"}));
  // A model that is published again has a new revision.
  models.Set({"", "m"}, "one");
  CHECK(models.Read({"", "m"}, first.revision).changed);
}

TEST(published_models_of_one_name_in_two_namespaces_are_two_models) {
  PublishedModels models;
  const ModelKey a{"a", "m"};
  const ModelKey b{"b", "m"};
  models.Set(b, "of b");
  models.Set(a, "of a");
  models.Set({"a", "l"}, "another");
  CHECK(models.Keys() == (Keys{{"a", "l"}, a, b}));
  const auto first = models.Read(a, 0);
  CHECK_EQ(first.json, "of a");
  CHECK_EQ(models.Read(b, 0).json, "of b");
  CHECK(!models.Read({"", "m"}, 0).found);
  const uint64_t other = models.Read(b, 0).revision;
  // What is published of one leaves the other's revision as it is.
  models.Set(b, "of b again");
  CHECK(!models.Read(a, first.revision).changed);
  CHECK(models.IsCurrent("m", first.revision));
  CHECK(!models.IsCurrent("m", other));
  CHECK(!models.IsCurrent("l", first.revision));
  CHECK(models.Remove(b));
  CHECK(models.Read(a, 0).found);
  CHECK(!models.Read(b, 0).found);
}

TEST(published_models_resolve_a_name_that_one_namespace_has) {
  PublishedModels models(true);
  const Status never = models.Resolve("m").status();
  CHECK(never.code() == Code::kInvalidArg);
  CHECK_EQ(never.message(), "Request for unknown model: 'm' is not found");
  models.Set({"b", "m"}, "");
  // Neighbours in the order of names.
  models.Set({"a", "l"}, "");
  models.Set({"a", "mm"}, "");
  CHECK(models.Resolve("m").value() == (ModelKey{"b", "m"}));
  models.Set({"", "m"}, "");
  const Status ambiguous = models.Resolve("m").status();
  CHECK(ambiguous.code() == Code::kInvalidArg);
  CHECK_EQ(ambiguous.message(),
           "There are 2 identifiers of model 'm' in global map, model namespace must be provided "
           "to resolve ambiguity.");
  models.Remove({"b", "m"});
  CHECK(models.Resolve("m").value() == (ModelKey{"", "m"}));
  models.Remove({"", "m"});
  const Status gone = models.Resolve("m").status();
  CHECK(gone.code() == Code::kNotFound);
  CHECK_EQ(gone.message(), "Identifier of model 'm' is not found in global map");
}

TEST(published_models_without_namespaces_resolve_an_unknown_name_to_nothing) {
  PublishedModels models;
  CHECK(!models.Resolve("m").value());
  models.Set({"", "m"}, "");
  CHECK(models.Resolve("m").value() == (ModelKey{"", "m"}));
  models.Remove({"", "m"});
  CHECK(!models.Resolve("m").value());
}

TEST(version_table_never_gives_a_uid_twice) {
  ScriptedBackend backend({});
  Timer timer;
  VersionTable versions;
  CHECK(!versions.WasGiven(0));
  CHECK(!versions.WasGiven(1));
  const uint32_t first = versions.Reserve();
  CHECK(versions.WasGiven(first));
  CHECK(!versions.Has(first));
  auto version = std::make_shared<ModelVersion>(first, "m", 1, &backend, backend.Load({}).take(),
                                                &timer, [] {});
  versions.Add(first, version);
  CHECK(versions.Has(first));
  CHECK(versions.Find(first) == version);
  CHECK(!versions.empty());
  versions.Remove(first);
  versions.Remove(first);
  CHECK(versions.Find(first) == nullptr);
  CHECK(versions.WasGiven(first));
  CHECK(versions.Reserve() != first);
}

namespace {

// A port in the test's own list, which its server does not know.
struct Listed {
  explicit Listed(const std::shared_ptr<Server>& server, PortList* list)
      : port(std::make_shared<Port>(server, [this, list] {
          asked++;
          // No lock is held while a port is called, so it may call the list.
          list->epoch();
          CHECK(!list->HaveSeen(list->epoch() + 1));
        })) {
    list->Add(port);
  }
  ~Listed() { port->Detach(); }
  std::atomic<int> asked{0};
  std::shared_ptr<Port> port;
};

}  // namespace

TEST(port_list_asks_each_port_once_for_an_epoch_and_with_no_lock_held) {
  ServerBench bench;
  PortList list;
  CHECK(list.HaveSeen(0));
  Listed one(bench.shared(), &list);
  Listed two(bench.shared(), &list);
  list.ShowChange();
  CHECK_EQ(list.epoch(), 1u);
  CHECK(list.HaveSeen(0));
  CHECK(!list.HaveSeen(1));
  list.Ask(1);
  list.Ask(1);
  CHECK_EQ(one.asked.load(), 1);
  CHECK_EQ(two.asked.load(), 1);
  one.port->Acknowledge(1);
  CHECK(!list.HaveSeen(1));
  two.port->Acknowledge(1);
  CHECK(list.HaveSeen(1));
}

TEST(port_list_does_not_wait_for_who_came_later_or_left) {
  ServerBench bench;
  PortList list;
  Listed one(bench.shared(), &list);
  list.ShowChange();
  Listed late(bench.shared(), &list);
  CHECK(!list.HaveSeen(1));
  one.port->Detach();
  CHECK(list.HaveSeen(1));
  list.ShowChange();
  CHECK(!list.HaveSeen(2));
  late.port->Acknowledge(2);
  CHECK(list.HaveSeen(2));
  // An epoch may wrap around.
  CHECK(list.HaveSeen(UINT32_MAX));
}

}  // namespace tritonts::test
