// The functions of a server that concern regions (engine/memory/region.h).
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../engine/memory/mapped_block.h"
#include "awaited.h"
#include "convert.h"
#include "engine/memory/pool.h"
#include "engine/request/budget.h"
#include "engine/request/region_use.h"
#include "external_memory.h"
#include "server_wrap.h"

namespace tritonts {

namespace {

// Memory of the host for a copy, which counts as in flight.
struct HostPlace {
  // UNAVAILABLE or INVALID_ARG: the server's limit leaves no room for it, or there is no memory.
  static StatusOr<std::shared_ptr<HostPlace>> Make(std::shared_ptr<Server> server, uint64_t size) {
    Budget& budget = server->budget();
    const auto sizes = [&] {
      return std::to_string(size) + " bytes of shared memory of a GPU; maxInFlightBytes is " +
             std::to_string(budget.limit());
    };
    if (size > budget.limit()) return Status::InvalidArg("one request needs " + sizes());
    auto place = std::make_shared<HostPlace>();
    if (!budget.Reserve(size)) {
      return Status::Unavailable(Reason::kTooMuchInFlight, "too much in flight for " + sizes());
    }
    place->server = std::move(server);
    place->charged = size;
    BlockRef block = BlockPool(0).Acquire(size);
    if (!block) return Status::NoMemory();
    place->bytes = {block->data(), static_cast<size_t>(size), MemoryKind::kHost, 0, block};
    return place;
  }
  ~HostPlace() {
    if (server) server->budget().Release(charged);
  }

  std::shared_ptr<Server> server;
  uint64_t charged = 0;
  Buffer bytes;
};

}  // namespace

Napi::Value ServerWrap::RegisterRegion(const Napi::CallbackInfo& info) {
  const std::string path = StringOf(info[1]);
  const std::optional<uint64_t> offset = WholeOf(info[2]);
  const std::optional<uint64_t> size = WholeOf(info[3]);
  if (path.find('\0') != std::string::npos || !offset || !size) {
    return ToJs(info.Env(), Status::InvalidArg("expected the path of a file without NUL, an offset "
                                               "and a size in bytes, which are whole numbers"));
  }
  platform::FileRange bytes;
  auto memory = MappedBlock::Map(path, *offset, *size, &bytes);
  if (!memory.ok()) return ToJs(info.Env(), memory.status());
  const bool own = info[5].ToBoolean().Value();
  RegionOrigin origin{StringOf(info[4]), *offset, own, own ? path : std::string()};
  auto id = server_->regions().Add(StringOf(info[0]), memory.take(), bytes, std::move(origin));
  if (!id.ok()) return ToJs(info.Env(), id.status());
  return Napi::Number::New(info.Env(), id.value());
}

Napi::Value ServerWrap::FindRegion(const Napi::CallbackInfo& info) {
  const uint32_t id = server_->regions().Named(StringOf(info[0]));
  const std::shared_ptr<const Region> region = server_->regions().Find(id);
  if (!region) return info.Env().Undefined();
  Napi::Object found = Napi::Object::New(info.Env());
  found.Set("id", id);
  found.Set("byteSize", static_cast<double>(region->size()));
  found.Set("own", region->origin().own);
  if (region->device() >= 0) found.Set("device", region->device());
  return found;
}

Napi::Value ServerWrap::Regions(const Napi::CallbackInfo& info) {
  const std::vector<RegionEntry> all = server_->regions().All();
  Napi::Array list = Napi::Array::New(info.Env(), all.size());
  for (uint32_t i = 0; i < all.size(); i++) {
    const RegionEntry& region = all[i];
    Napi::Object one = Napi::Object::New(info.Env());
    one.Set("id", region.id);
    one.Set("name", region.name);
    one.Set("key", region.origin.key);
    one.Set("offset", static_cast<double>(region.origin.offset));
    one.Set("byteSize", static_cast<double>(region.size));
    one.Set("own", region.origin.own);
    if (region.device >= 0) one.Set("device", region.device);
    list.Set(i, one);
  }
  return list;
}

Napi::Value ServerWrap::MapRegion(const Napi::CallbackInfo& info) {
  const std::shared_ptr<const Region> region = RegionOf(info[0]);
  if (!region || !IsHostMemory(region->memory()->kind())) return info.Env().Undefined();
  Block* const block = region->memory().get();
  block->Retain();
  const napi_value value = ExternalMemory(
      info.Env(), block->data(), block->size(),
      [](napi_env, void*, void* hint) { static_cast<Block*>(hint)->Release(); }, block);
  return value ? Napi::Value(info.Env(), value) : info.Env().Undefined();
}

Napi::Value ServerWrap::UnregisterRegion(const Napi::CallbackInfo& info) {
  const std::optional<uint64_t> id = WholeOf(info[0]);
  const bool known = id && *id <= UINT32_MAX;
  return Napi::Boolean::New(info.Env(),
                            known && server_->regions().Remove(static_cast<uint32_t>(*id)));
}

std::shared_ptr<const Region> ServerWrap::RegionOf(const Napi::Value& id) const {
  const std::optional<uint64_t> number = WholeOf(id);
  if (!number || *number > UINT32_MAX) return nullptr;
  const auto held = held_.find(static_cast<uint32_t>(*number));
  if (held != held_.end()) return held->second.region;
  return server_->regions().Find(static_cast<uint32_t>(*number));
}

StatusOr<Buffer> ServerWrap::RangeOf(const Napi::Value& id, const Napi::Value& offset,
                                     uint64_t size) const {
  const std::shared_ptr<const Region> region = RegionOf(id);
  const std::optional<uint64_t> begin = WholeOf(offset);
  if (!region || !begin) return Status::NotFound("the shared memory region is not registered");
  return region->Range(*begin, size);
}

// holdRegion(region)
Napi::Value ServerWrap::HoldRegion(const Napi::CallbackInfo& info) {
  std::shared_ptr<const Region> region = RegionOf(info[0]);
  if (!region) return Napi::Boolean::New(info.Env(), false);
  Held& held = held_[static_cast<uint32_t>(NumberOf(info[0]))];
  held.region = std::move(region);
  held.count++;
  return Napi::Boolean::New(info.Env(), true);
}

// releaseRegion(region)
void ServerWrap::ReleaseRegion(const Napi::CallbackInfo& info) {
  const auto held = held_.find(static_cast<uint32_t>(NumberOf(info[0])));
  if (held != held_.end() && --held->second.count == 0) held_.erase(held);
}

std::shared_ptr<device::GpuRegions> ServerWrap::GpuRegionsOfServer() {
  if (auto known = gpu_regions_.lock()) return known;
  auto made = device::GpuRegions::Share();
  if (!made) return nullptr;
  // A closed server would never drop it.
  if (!server_->AddCompanion(made)) return nullptr;
  gpu_regions_ = made;
  return made;
}

template <typename Done>
void ServerWrap::Copy(Buffer from, Buffer to, const Done& done) {
  if (const auto regions = GpuRegionsOfServer()) {
    regions->Copy(std::move(from), std::move(to),
                  [done](const Status& status, const BlockRef&) { done(status); });
  } else {
    done(Status::NoMemory());
  }
}

// registerCudaRegion(name, handle, device, size, done)
void ServerWrap::RegisterCudaRegion(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 4);
  const auto done = awaited.Then([](Napi::Env env, const Status& status, uint32_t id) {
    return std::array<napi_value, 2>{ToJs(env, status), Napi::Number::New(env, id)};
  });
  device::cuda::IpcHandle handle{};
  const std::optional<uint64_t> size = WholeOf(info[3]);
  const auto bytes = info[1].IsTypedArray() ? info[1].As<Napi::Uint8Array>() : Napi::Uint8Array();
  const bool whole = !bytes.IsEmpty() && bytes.ByteLength() == sizeof(handle.bytes);
  if (!whole || !size) {
    done(Status::InvalidArg("expected a handle of 64 bytes, and a size in bytes"), 0U);
  } else if (const Status free = server_->regions().CheckName(StringOf(info[0])); !free.ok()) {
    done(free, 0U);
  } else if (const auto regions = GpuRegionsOfServer()) {
    std::memcpy(handle.bytes, bytes.Data(), sizeof(handle.bytes));
    // It may be called again, when there was no memory to tell it.
    const auto added = std::make_shared<std::optional<StatusOr<uint32_t>>>();
    regions->Open(static_cast<int>(NumberOf(info[2])), handle, *size,
                  [server = server_, name = StringOf(info[0]), added, done](
                      const Status& status, const BlockRef& memory) {
                    if (!*added) {
                      *added = status.ok() ? server->regions().Add(name, memory)
                                           : StatusOr<uint32_t>(status);
                    }
                    done((*added)->status(), (*added)->ok() ? (*added)->value() : 0U);
                  });
  } else {
    done(Status::Unavailable(Reason::kClosed, "the server is closed, or has no thread for it"), 0U);
  }
  awaited.Taken();
}

// readsRegion(version, input, region, offset)
Napi::Value ServerWrap::ReadsRegion(const Napi::CallbackInfo& info) {
  const auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  const std::shared_ptr<const Region> region = RegionOf(info[2]);
  const std::optional<uint64_t> offset = WholeOf(info[3]);
  const auto input = static_cast<uint32_t>(NumberOf(info[1]));
  const bool known = version && region && offset && input < version->io().inputs.size();
  if (!known || *offset > region->size()) return Napi::Boolean::New(info.Env(), false);
  auto range = region->Range(*offset, 0);
  return Napi::Boolean::New(info.Env(), range.ok() && ReadsInPlace(*version, input, range.value()));
}

// writesRegion(version, region): outputs of a version stay on the device that all its instances are
// on, and are copied from there.
Napi::Value ServerWrap::WritesRegion(const Napi::CallbackInfo& info) {
  const auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  const std::shared_ptr<const Region> region = RegionOf(info[1]);
  return Napi::Boolean::New(info.Env(), version && region && version->RunsOn(region->device()));
}

// readRegion(region, offset, size, done)
void ServerWrap::ReadRegion(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 3);
  const uint64_t size = WholeOf(info[2]).value_or(UINT64_MAX);
  auto place = HostPlace::Make(server_, size);
  const auto host = place.ok() ? place.take() : nullptr;
  const auto done = awaited.Then([host](Napi::Env env, const Status& status) {
    napi_value bytes = env.Undefined();
    Status told = status;
    if (told.ok() && napi_create_buffer_copy(env, host->bytes.size, host->bytes.data, nullptr,
                                             &bytes) != napi_ok) {
      told = Status::NoMemory();
    }
    return std::array<napi_value, 2>{ToJs(env, told), bytes};
  });
  auto range = host ? RangeOf(info[0], info[1], size) : place.status();
  if (range.ok())
    Copy(range.take(), host->bytes, done);
  else
    done(range.status());
  awaited.Taken();
}

// writeRegion(region, offset, bytes, done)
void ServerWrap::WriteRegion(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 3);
  const auto bytes = info[2].As<Napi::Uint8Array>();
  // The environment may end while the thread copies.
  auto place = HostPlace::Make(server_, bytes.ByteLength());
  const auto host = place.ok() ? place.take() : nullptr;
  const auto done = awaited.Then([host](Napi::Env env, const Status& status) {
    return std::array<napi_value, 1>{ToJs(env, status)};
  });
  auto range = host ? RangeOf(info[0], info[1], bytes.ByteLength()) : place.status();
  if (range.ok()) {
    if (bytes.ByteLength() > 0) std::memcpy(host->bytes.data, bytes.Data(), bytes.ByteLength());
    Copy(host->bytes, range.take(), done);
  } else {
    done(range.status());
  }
  awaited.Taken();
}

}  // namespace tritonts
