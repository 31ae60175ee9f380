#include "engine/version/served.h"

namespace tritonts {

Served::~Served() = default;

void Served::EndLayers() {
  layers_.reset();
}

void Served::AddLayersTo(Statistics* statistics) const {
  if (!layers_) return;
  const LayerCounts counts = layers_->counts();
  // The look-up of a miss lies within the time of its run, but the insertion follows it.
  statistics->success.Add(counts.hits, counts.request_ns + counts.insert_ns);
  statistics->queue.Add(counts.hits, counts.queue_ns);
  statistics->fail.Add(counts.failed, counts.failed_ns);
  statistics->cancelled += counts.cancelled;
  statistics->backend_failed += counts.backend_failed;
  statistics->cache_hit.Add(counts.hits, counts.hit_ns);
  statistics->cache_miss.Add(counts.misses, counts.miss_ns);
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
