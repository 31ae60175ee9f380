// Flow control of streams: the stub asks for room where a caller has not read earlier responses.
#include <algorithm>
#include <memory>
#include <new>

#include "python/channel.h"

namespace tritonts::python {

bool Channel::OnAskRoom(const Message& message) {
  if (!IsReply(message.word)) return Break("protocol violation: a Reply outside the shared memory");
  const auto request = static_cast<uint32_t>(message.size);
  const Batch batch = BatchOf(message.batch);
  if (message.size >= batch.requests) {
    Tell(message.word, 2);
    return true;
  }
  if (rooms_.size() >= kMostWaiting)
    return Break("protocol violation: more than 65536 questions at once");
  rooms_.push_back({message.batch, batch.slot, request, message.word});
  AnswerRoom(batch.slot, request);
  return true;
}

void Channel::EndRooms(uint32_t number) {
  std::erase_if(rooms_, [&](const Room& room) {
    if (room.number != number) return false;
    Tell(room.word, 2);
    return true;
  });
}

void Channel::AnswerRoom(uint32_t slot, uint32_t request) {
  const auto asked = std::find_if(rooms_.begin(), rooms_.end(), [&](const Room& room) {
    return room.slot == slot && room.request == request;
  });
  if (asked == rooms_.end()) return;
  Run* const run = inbox_->Enter(slot);
  uint32_t state = 2;
  if (run) {
    std::shared_ptr<ReadListener> reader;
    for (;;) {
      const auto unread = run->UnreadOf(request, kMostAhead);
      if (!unread) break;
      if (!unread->full && unread->responses < kMostAhead) {
        state = 1;
        break;
      }
      if (!reader) {
        try {
          reader = inbox_->MakeReader(slot, request);
        } catch (const std::bad_alloc&) {
          // Without a listener the stream would never resume, so it ends here.
          run->Respond(request, Status::NoMemory());
          break;
        }
      }
      // The reader may have read between UnreadOf and AwaitRead.
      if (!run->AwaitRead(request, std::min(unread->responses - 1, kMostAhead / 2), reader))
        continue;
      state = 0;
      break;
    }
    inbox_->Leave(slot, false);
  }
  if (state == 0) return;
  Tell(asked->word, state);
  rooms_.erase(asked);
}

void Channel::TakeReaders() {
  for (;;) {
    uint32_t slot = 0;
    uint32_t request = 0;
    const Inbox::Readers found = inbox_->TakeReader(&slot, &request);
    if (found == Inbox::Readers::kNone) return;
    if (found == Inbox::Readers::kOne) {
      AnswerRoom(slot, request);
      continue;
    }
    // An answered question leaves the list.
    for (size_t i = rooms_.size(); i-- > 0;) AnswerRoom(rooms_[i].slot, rooms_[i].request);
  }
}

}  // namespace tritonts::python
