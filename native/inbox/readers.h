// The listeners of an inbox. Each lists its request when the caller has read.
#pragma once

#include <memory>
#include <utility>

#include "inbox/inbox.h"

namespace tritonts {

struct Inbox::Reader final : ReadListener, std::enable_shared_from_this<Reader> {
  Reader(std::shared_ptr<Inbox> from, uint32_t in, uint32_t at)
      : inbox(std::move(from)), slot(in), request(at) {}
  // Called once: a listener serves a single wait.
  void OnRead() override { inbox->List(shared_from_this()); }

  const std::shared_ptr<Inbox> inbox;
  const uint32_t slot;
  const uint32_t request;
  std::shared_ptr<Reader> next;
};

}  // namespace tritonts
