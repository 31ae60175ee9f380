#include "inbox/inbox_backend.h"

#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "inbox/inboxes.h"

namespace tritonts {

namespace {

class InboxInstance final : public Instance {
 public:
  explicit InboxInstance(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}
  ~InboxInstance() override { inbox_->Close(); }

  bool asynchronous() const override { return true; }
  void Execute(Run& run) override { inbox_->Push(run); }
  void Terminate() override { inbox_->Terminate(); }

 private:
  const std::shared_ptr<Inbox> inbox_;
};

class InboxModel final : public Model {
 public:
  InboxModel(std::string name, std::shared_ptr<const Inboxes> inboxes,
             std::map<std::string, std::string> info)
      : name_(std::move(name)), inboxes_(std::move(inboxes)), info_(std::move(info)) {}

  // Empty: the configuration is complete; the model's own completion came before.
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo&, std::string_view) override { return Status::Ok(); }
  bool starts_at_once() const override { return true; }
  std::shared_ptr<CallPlaces> call_places() const override { return inboxes_->places; }
  std::map<std::string, std::string> Info() const override { return info_; }

  BlockRef InputBlock(size_t size) override {
    return inboxes_->inputs ? inboxes_->inputs->Acquire(size) : BlockRef();
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    if (spec.index >= inboxes_->list.size()) {
      return Status::Internal("model '" + name_ + "': no inbox is reserved for instance '" +
                              spec.name + "'");
    }
    return std::unique_ptr<Instance>(new InboxInstance(inboxes_->list[spec.index]));
  }

 private:
  const std::string name_;
  const std::shared_ptr<const Inboxes> inboxes_;
  const std::map<std::string, std::string> info_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> InboxBackend::Load(const ModelSpec& spec) {
  uint32_t number = 0;
  if (const auto known = spec.settings.find("inboxes"); known != spec.settings.end()) {
    const std::string& text = known->second;
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  auto inboxes = ReservedInboxes::Get().Find(number);
  if (!inboxes) {
    return Status::Internal("model '" + spec.name + "': no inboxes are reserved for its instances");
  }
  std::map<std::string, std::string> info;
  for (const char* const key : {"library", "version", "intra_op_threads"}) {
    const auto known = spec.settings.find(key);
    if (known != spec.settings.end()) info.insert(*known);
  }
  return std::unique_ptr<Model>(new InboxModel(spec.name, std::move(inboxes), std::move(info)));
}

}  // namespace tritonts
