// The inboxes that are reserved for versions of models.
//
// The instances of such a model are threads with JavaScript (binding/instance_wrap.h) or processes
// with Python (python/channel.h). TypeScript reserves the inboxes of a version before it loads the
// version, because the threads or processes start first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "inbox/inbox.h"

namespace tritonts {

// Allocates memory for a version's inputs. Thread-safe.
class InputSource {
 public:
  virtual ~InputSource() = default;
  // Like Model::InputBlock.
  virtual BlockRef Acquire(size_t size) = 0;
};

// The inboxes of a version.
struct Inboxes {
  std::vector<std::shared_ptr<Inbox>> list;
  std::shared_ptr<CallPlaces> places;
  std::shared_ptr<InputSource> inputs = nullptr;  // null: ordinary memory
};

// Thread-safe.
class ReservedInboxes {
 public:
  // The process-wide table, which is never destroyed.
  static ReservedInboxes& Get();

  // Creates an inbox for each instance name. `runner` as in Inbox. Throws std::bad_alloc.
  uint32_t Reserve(const std::string& model, const std::vector<std::string>& names,
                   uint32_t concurrency, const std::string& runner = "thread",
                   std::shared_ptr<InputSource> inputs = nullptr);
  // The inboxes with this number, or null.
  std::shared_ptr<const Inboxes> Find(uint32_t number);
  // Removes a number. Inboxes live on while others own them.
  void Forget(uint32_t number);

 private:
  std::mutex mutex_;  // guards all below
  uint32_t last_ = 0;
  std::map<uint32_t, std::shared_ptr<const Inboxes>> reserved_;
};

}  // namespace tritonts
