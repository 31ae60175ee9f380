#include "inbox/inboxes.h"

#include <utility>

namespace tritonts {

ReservedInboxes& ReservedInboxes::Get() {
  static auto* const table = new ReservedInboxes();
  return *table;
}

uint32_t ReservedInboxes::Reserve(const std::string& model, const std::vector<std::string>& names,
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

std::shared_ptr<const Inboxes> ReservedInboxes::Find(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto known = reserved_.find(number);
  return known == reserved_.end() ? nullptr : known->second;
}

void ReservedInboxes::Forget(uint32_t number) {
  std::shared_ptr<const Inboxes> last;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto known = reserved_.find(number);
  if (known == reserved_.end()) return;
  last = std::move(known->second);
  reserved_.erase(known);
}

}  // namespace tritonts
