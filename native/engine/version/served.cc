#include "engine/version/served.h"

namespace tritonts {

Served::~Served() = default;

void Served::EndLayers() {
  layers_.reset();
}

void Served::AddLayer(std::unique_ptr<Layer> layer) {
  if (!layers_) {
    layers_ = std::make_unique<Layers>(
        Layers::Inside{
            [this](std::span<Request* const> requests, uint64_t now_ns, InlineTime* inline_time) {
              Accept(requests, now_ns, inline_time);
            },
            [this](std::span<Request* const> requests) { CancelAccepted(requests); },
            [this](uint32_t count) { Use(count); },
            [this](uint32_t count) { DropUse(count); },
            on_drained_,
        },
        Status::Unavailable(Reason::kNoMemory,
                            "model '" + name() + "': no memory for the request"));
  }
  layers_->Add(std::move(layer));
}

}  // namespace tritonts
