// What a server is made of, alone: the models as published, its versions, and its ports.
#include "engine/server/port_list.h"
#include "engine/server/published_models.h"
#include "engine/server/version_table.h"
#include "server_scripts.h"

namespace tritonts::test {

TEST(published_models_have_another_revision_each_time) {
  PublishedModels models;
  CHECK(!models.Read("m", 0).found);
  models.Set("m", "one");
  const auto first = models.Read("m", 0);
  CHECK(first.found && first.changed);
  CHECK_EQ(first.json, "one");
  const auto same = models.Read("m", first.revision);
  CHECK(same.found && !same.changed);
  CHECK_EQ(same.json, "");
  models.Set("m", "one");
  CHECK(models.Read("m", first.revision).changed);
  models.Set("k", "two");
  CHECK_EQ(models.Names(), (Names{"k", "m"}));
  CHECK(models.Remove("m"));
  CHECK(!models.Remove("m"));
  // What comes again is not what was there.
  models.Set("m", "one");
  CHECK(models.Read("m", first.revision).changed);
}

TEST(version_table_never_gives_a_uid_twice) {
  ScriptedBackend backend({});
  Timer timer;
  VersionTable versions;
  CHECK(!versions.Knew(0));
  CHECK(!versions.Knew(1));
  const uint32_t first = versions.Reserve();
  CHECK(versions.Knew(first));
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
  CHECK(versions.Knew(first));
  CHECK(versions.Reserve() != first);
}

namespace {

// A port that is in a list of the test's, of a server that knows nothing of that.
struct Listed {
  explicit Listed(const std::shared_ptr<Server>& server, PortList* list)
      : port(std::make_shared<Port>(server, [this, list] {
          asked++;
          // Nothing is held while a port is asked: it may ask the list whatever it likes.
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
  // Its turn would come around.
  CHECK(list.HaveSeen(UINT32_MAX));
}

}  // namespace tritonts::test
