// Copies between devices and peer access, for the fake driver.
//
//   TRITONTS_FAKE_PEERS   such as "0:1,1:0": which device can access the memory of which; default:
//                         each can access all
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

constexpr int kUnsupported = 217;     // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
constexpr int kAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

bool CanAccess(int id, int peer) {
  const char* text = std::getenv("TRITONTS_FAKE_PEERS");
  if (!text) return id != peer;
  const std::string pair = std::to_string(id) + ":" + std::to_string(peer);
  return ("," + std::string(text) + ",").find("," + pair + ",") != std::string::npos;
}

// The argument that sets a pool's access.
struct Access {
  int location;
  int id;
  int access;
};
// The default pools of devices; an entry's address is its handle.
int pools[kMostGpus];

}  // namespace

EXPORTED int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  static Call call("cuDeviceCanAccessPeer");
  if (const int result = call.Begin(false)) return result;
  if (IdOf(device) < 0 || IdOf(peer) < 0) return kInvalidDevice;
  *can = CanAccess(IdOf(device), IdOf(peer)) ? 1 : 0;
  return 0;
}

EXPORTED int cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
  static Call call("cuCtxEnablePeerAccess");
  if (const int result = call.Begin()) return result;
  Context* const own = CurrentContext();
  if (flags != 0 || peer->retained == 0) return kInvalidValue;
  if (!CanAccess(own->id, peer->id)) return kUnsupported;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  return own->peers.insert(peer).second ? 0 : kAlreadyEnabled;
}

EXPORTED int cuDeviceGetDefaultMemPool(int** pool, int device) {
  static Call call("cuDeviceGetDefaultMemPool");
  if (const int result = call.Begin(false)) return result;
  if (IdOf(device) < 0) return kInvalidDevice;
  *pool = &pools[IdOf(device)];
  return 0;
}

EXPORTED int cuMemPoolSetAccess(int* pool, const Access* access, size_t count) {
  static Call call("cuMemPoolSetAccess");
  if (const int result = call.Begin(false)) return result;
  if (count != 1 || access->location != 1 || access->access != 3) return kInvalidValue;
  return CanAccess(access->id, static_cast<int>(pool - pools)) ? 0 : kInvalidDevice;
}

EXPORTED int cuMemcpyPeerAsync(uint64_t to, Context* to_context, uint64_t from,
                               Context* from_context, size_t bytes, Stream* stream) {
  static Call call("cuMemcpyPeerAsync");
  if (const int result = call.Begin()) return result;
  CheckContext("cuMemcpyPeerAsync", stream);
  if (!to_context || !from_context || to_context == from_context) return kInvalidValue;
  if (from_context->lost) return kLaunchFailed;
  char* const target = ShadowOf("cuMemcpyPeerAsync", to, bytes, to_context);
  const char* const source = ShadowOf("cuMemcpyPeerAsync", from, bytes, from_context);
  stream->PutTouching(Kind::kOther, [=] { std::memcpy(target, source, bytes); });
  return 0;
}

// The number of pairs of contexts with peer access, each direction counted.
EXPORTED int fakeCudaPeers() {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  size_t count = 0;
  for (const Context& context : state.contexts) count += context.peers.size();
  return static_cast<int>(count);
}
