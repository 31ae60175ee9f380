#include "c_api/wake.h"

#include <memory>
#include <string>

#include "c_api/calls.h"
#include "c_api/client.h"
#include "c_api/model.h"
#include "c_api/request.h"
#include "c_api/submit.h"
#include "engine/server/server.h"

namespace tritonts::c_api {

namespace {

// How often a submission waits for its model, which others may unload meanwhile.
constexpr uint32_t kMostWaits = 4;

// Submits all requests that wait for a model, or ends them.
void Wake(Model* model, const Status& woken) noexcept {
  const HoldCalls hold;
  for (ApiRequest* const request : model->sleepers().Take()) SubmitWoken(request, woken);
  model->sleepers().EndPass();
}

}  // namespace

Status AwaitWake(ApiRequest* request) noexcept {
  const std::shared_ptr<Model> model = request->model();
  if (request->waits++ >= kMostWaits) {
    return MakeStatus([&] {
      return Status::Unavailable(Reason::kNotReady, "model '" + model->Text() +
                                                        "' is lazy, and was unloaded " +
                                                        std::to_string(kMostWaits) +
                                                        " times before the request reached it");
    });
  }
  auto added = Sleepers::Added::kWaits;
  const Status status = MakeStatus([&] {
    added = model->sleepers().Add(request);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  if (added == Sleepers::Added::kCancelled) {
    request->EndUnsent(request->WasCancelled());
  } else if (added == Sleepers::Added::kFirst) {
    // From here on the request may end, and be freed.
    const Status asked = MakeStatus([&] {
      return HaveLoaded(model->client()->server().id(), model->key(),
                        [model](const Status& woken) { Wake(model.get(), woken); });
    });
    if (asked.ok()) return asked;
    // The submission reports it: a callback that submits again would otherwise never end.
    const bool refused = model->sleepers().Withdraw(request);
    Wake(model.get(), asked);
    if (refused) return asked;
  }
  return Status::Ok();
}

}  // namespace tritonts::c_api
