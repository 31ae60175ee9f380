#include "plugins/message.h"

#include "json/json.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* base,
                                                              size_t byte_size) noexcept {
  return Guard([&]() -> Status {
    if (!base) {
      return Status::InvalidArg("a message needs JSON, but received NULL");
    }
    std::string text(base, byte_size);
    const StatusOr<Json> json = Json::Parse(text);
    if (!json.ok()) return json.status();
    *message = new TRITONSERVER_Message{std::move(text)};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) noexcept {
  return Guard([&]() -> Status {
    if (message && message->lent) {
      return Status::InvalidArg(
          "TRITONSERVER_MessageDelete: the message belongs to the server, which deletes it");
    }
    delete message;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** base,
                                                        size_t* byte_size) noexcept {
  *base = message->text.data();
  *byte_size = message->text.size();
  return nullptr;
}

}  // namespace tritonts::plugins
