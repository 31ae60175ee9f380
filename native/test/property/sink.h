// Receives the responses of a player's requests.
#pragma once

#include "player.h"

namespace tritonts::test {

class Player::Sink final : public ResponseSink {
 public:
  // `own`: it provides memory for outputs, and accepts outputs on a device.
  Sink(Player* player, bool own) : player_(player), own_(own) {}
  void Deliver(std::span<const Response> responses) override { player_->OnDeliver(responses); }
  Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred) override;
  bool Takes(const Request&, uint32_t, MemoryKind kind, int) const override {
    return own_ || IsHostMemory(kind);
  }

 private:
  Player* const player_;
  const bool own_;
};

}  // namespace tritonts::test
