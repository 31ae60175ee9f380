#include "backends/javascript/javascript.h"

#include <charconv>
#include <utility>

namespace tritonts {

namespace {

class JavaScriptInstance final : public Instance {
 public:
  explicit JavaScriptInstance(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}
  ~JavaScriptInstance() override { inbox_->Close(); }

  bool asynchronous() const override { return true; }
  void Execute(Run& run) override { inbox_->Push(run); }
  void Terminate() override { inbox_->Terminate(); }

 private:
  const std::shared_ptr<Inbox> inbox_;
};

class JavaScriptModel final : public Model {
 public:
  JavaScriptModel(std::string name, std::shared_ptr<const Inboxes> inboxes)
      : name_(std::move(name)), inboxes_(std::move(inboxes)) {}

  // Empty: the configuration is complete; the model's own completion came before.
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo&) override { return Status::Ok(); }
  bool starts_at_once() const override { return true; }
  std::shared_ptr<CallPlaces> call_places() const override { return inboxes_->places; }

  BlockRef InputBlock(size_t size) override {
    return inboxes_->inputs ? inboxes_->inputs->Acquire(size) : BlockRef();
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    if (spec.index >= inboxes_->list.size()) {
      return Status::Internal("model '" + name_ + "': no inbox is reserved for instance '" +
                              spec.name + "'");
    }
    return std::unique_ptr<Instance>(new JavaScriptInstance(inboxes_->list[spec.index]));
  }

 private:
  const std::string name_;
  const std::shared_ptr<const Inboxes> inboxes_;
};

}  // namespace

JavaScriptBackend& JavaScriptBackend::Get() {
  static auto* const backend = new JavaScriptBackend();
  return *backend;
}

StatusOr<std::unique_ptr<Model>> JavaScriptBackend::Load(const ModelSpec& spec) {
  uint32_t number = 0;
  if (const auto known = spec.settings.find("inboxes"); known != spec.settings.end()) {
    const std::string& text = known->second;
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  auto inboxes = Find(number);
  if (!inboxes) {
    return Status::Internal("model '" + spec.name + "': no inboxes are reserved for its instances");
  }
  return std::unique_ptr<Model>(new JavaScriptModel(spec.name, std::move(inboxes)));
}

uint32_t JavaScriptBackend::Reserve(const std::string& model, const std::vector<std::string>& names,
                                    uint32_t concurrency, const std::string& runner,
                                    std::shared_ptr<InputSource> inputs) {
  Inboxes inboxes;
  inboxes.inputs = std::move(inputs);
  inboxes.places = std::make_shared<CallPlaces>(model);
  inboxes.list.reserve(names.size());
  for (const std::string& name : names) {
    inboxes.list.push_back(
        std::make_shared<Inbox>(model, name, concurrency, inboxes.places, runner));
  }
  auto shared = std::make_shared<const Inboxes>(std::move(inboxes));
  const std::lock_guard lock(mutex_);
  reserved_.emplace(last_ + 1, std::move(shared));
  return ++last_;
}

std::shared_ptr<const Inboxes> JavaScriptBackend::Find(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto known = reserved_.find(number);
  return known == reserved_.end() ? nullptr : known->second;
}

void JavaScriptBackend::Forget(uint32_t number) {
  std::shared_ptr<const Inboxes> last;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto known = reserved_.find(number);
  if (known == reserved_.end()) return;
  last = std::move(known->second);
  reserved_.erase(known);
}

}  // namespace tritonts
