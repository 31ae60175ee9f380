#include "engine/port/writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <variant>

#include "engine/base/rules.h"
#include "engine/memory/port_memory.h"
#include "engine/request/region_use.h"
#include "engine/request/response_parameters.h"

namespace tritonts {

namespace {

constexpr size_t kLongestMessage = 16384;
// Words of a timing record, including alignment, and of a response without its outputs. Both
// include two words for the alignment of bytes at the back of the page.
constexpr size_t kTimingWords = 2 + 10;
constexpr size_t kResponseWords = 5 + 2 + 2;
constexpr size_t kParametersWords = 2 + 2;
constexpr size_t kOutputWords = 4 + 1 + 2;  // without the dims of the tail
constexpr size_t kMostWords = (layout::kPageBytes - layout::kCutBytes) / 4;

// Decides for one output after the other whether it is cut from the page: small outputs are, as
// long as they fit.
class Cutter {
 public:
  bool Takes(const OutputTensor& output) {
    if (output.size >= layout::kLargeOutput || bytes_ + output.size > layout::kCutBytes) {
      return false;
    }
    bytes_ += output.size;
    return true;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// Whether an output is in its region, so that the page gets only its shape and size.
bool IsInRegion(const Response& response, const OutputTensor& output) {
  const RegionUse* const regions = response.request->header->regions.get();
  return regions && regions->Aims(output.index);
}

// Keeps an output alive: shares its block, or copies an output without a block. Empty: out of
// memory.
BlockRef Keep(const OutputTensor& output, const void** data) {
  *data = output.data;
  if (output.block) return BlockRef::Share(output.block);
  BlockRef copy = PortMemory::Create(output.size);
  if (copy) {
    std::memcpy(copy->data(), output.data, output.size);
    *data = copy->data();
  }
  return copy;
}

// Adds the large outputs to the page's list, which has room for them. False: there is no memory for
// an output of `*lacked` bytes, and no output was added.
bool KeepLarge(const Response& response, CompletionPage* page, size_t* lacked) {
  const size_t first = page->large.size();
  Cutter sizes;
  for (const OutputTensor& output : response.outputs) {
    if (IsInRegion(response, output) || sizes.Takes(output)) continue;
    const void* data = nullptr;
    BlockRef block = Keep(output, &data);
    if (!block) {
      *lacked = output.size;
      page->large.resize(first);
      return false;
    }
    page->large.push_back({std::move(block), data, output.size});
  }
  for (size_t i = first; i < page->large.size(); i++) page->large_bytes += page->large[i].size;
  return true;
}

// Makes room for `count` more large outputs in the page's list. False: out of memory.
bool MakeLargeRoom(CompletionPage* page, size_t count) {
  std::vector<CompletionPage::Large>& large = page->large;
  if (large.capacity() - large.size() >= count) return true;
  try {
    large.reserve(std::max(large.size() + count, 2 * large.capacity()));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void ResponseWriter::Publish() {
  if (page_) pages_->Publish(page_, less_);
  page_ = nullptr;
  less_ = 0;
}

bool ResponseWriter::Finish() {
  Publish();
  if (streams_) streams_.unlock();
  return touched_;
}

void ResponseWriter::SetStreams(bool streams) {
  if (streams == streams_.owns_lock()) return;
  Finish();
  if (streams) streams_ = pages_->LockStreams();
}

bool ResponseWriter::MakeRoom(size_t needed, CompletionPages::Use use) {
  if (page_ && page_->room() >= needed) return true;
  if (page_) {
    page_->full = true;
    Publish();
  }
  touched_ = true;
  page_ = streams_ ? pages_->StreamsPageWithRoom(needed, use) : pages_->PageWithRoom(needed, use);
  return page_ != nullptr;
}

int32_t ResponseWriter::Put(const void* data, size_t size) {
  page_->payload = (page_->payload - static_cast<uint32_t>(size)) & ~7u;
  if (size > 0) {
    std::memcpy(static_cast<char*>(page_->memory->data()) + page_->payload, data, size);
  }
  return static_cast<int32_t>(page_->payload);
}

void ResponseWriter::WriteTimings(const Request& request, const BatchTimings& timings) {
  CompletionPage* page = page_;
  if (page->timings_executor == request.header->executor && page->timings_batch == timings.batch &&
      page->timings_flush == request.header->flush) {
    return;
  }
  page->timings_executor = request.header->executor;
  page->timings_batch = timings.batch;
  page->timings_flush = request.header->flush;
  page->data()[page->words++] = layout::kTimings;
  page->words += page->words & 1;
  const double values[] = {
      static_cast<double>(timings.batch_size),
      static_cast<double>(timings.exec_start_ns - request.header->arrival_ns),
      static_cast<double>(timings.compute_start_ns - timings.exec_start_ns),
      static_cast<double>(timings.compute_end_ns - timings.compute_start_ns),
      static_cast<double>(timings.exec_end_ns - timings.compute_end_ns),
  };
  std::memcpy(page->data() + page->words, values, sizeof(values));
  page->words += sizeof(values) / 4;
}

bool ResponseWriter::Write(const Response& response, uint32_t count) {
  SetStreams(response.request->header->streams != nullptr);
  const Status& status = response.status;
  if (!status.ok())
    return WriteFailure(response, count, status.code(), status.reason(), status.message());
  size_t lacked = 0;
  std::string_view complaint;
  if (WriteOutputs(response, &complaint, &lacked)) return true;
  if (lacked == 0) {
    const bool scarce = complaint == kNoMemory;
    return WriteFailure(response, count, scarce ? Code::kUnavailable : Code::kInternal,
                        scarce ? Reason::kNoMemory : Reason::kNone, complaint);
  }
  char text[64];
  const int size =
      std::snprintf(text, sizeof(text), "no memory for an output of %zu bytes", lacked);
  return WriteFailure(response, count, Code::kUnavailable, Reason::kNoMemory,
                      {text, static_cast<size_t>(size)});
}

bool ResponseWriter::WriteOutputs(const Response& response, std::string_view* complaint,
                                  size_t* lacked) {
  const Request* request = response.request;
  Cutter sizes;
  size_t large = 0;
  size_t most_words = kTimingWords + kResponseWords;
  const size_t parameter_bytes = ParameterBytes(response.parameters);
  if (parameter_bytes > 0) most_words += kParametersWords + parameter_bytes / 4;
  for (const OutputTensor& output : response.outputs) {
    most_words += kOutputWords + output.tail.size();
    if (!IsInRegion(response, output) && !sizes.Takes(output)) large++;
  }
  if (most_words > kMostWords) {
    *complaint = parameter_bytes > 0 ? "too many outputs and parameters for one response"
                                     : "too many outputs for one response";
    return false;
  }
  if (!MakeRoom(most_words * 4 + sizes.bytes(), CompletionPages::Use::kResponses) ||
      (large > 0 && !MakeLargeRoom(page_, large))) {
    *complaint = kNoMemory;
    return false;
  }
  size_t next_large = page_->large.size();
  if (large > 0 && !KeepLarge(response, page_, lacked)) return false;
  if (response.timings) WriteTimings(*request, *response.timings);
  int32_t* words = page_->data() + page_->words;
  *words++ = static_cast<int32_t>(request->header->slot);
  *words++ = static_cast<int32_t>(request->header->generation);
  *words++ = static_cast<int32_t>(Code::kOk) | (response.final ? layout::kFinalBit : 0) |
             (response.timings ? layout::kRanBit : 0) |
             (response.counted > 0 ? layout::kCountedBit : 0) |
             (response.empty ? layout::kEmptyBit : 0) |
             (parameter_bytes > 0 ? layout::kParametersBit : 0) |
             static_cast<int32_t>(response.outputs.size() << 16);
  *words++ = static_cast<int32_t>(request->position);
  *words++ = 1;
  if (parameter_bytes > 0) {
    *words++ = PutParameters(response.parameters, parameter_bytes);
    *words++ = static_cast<int32_t>(parameter_bytes);
  }
  Cutter cutter;
  for (const OutputTensor& output : response.outputs) {
    *words++ = static_cast<int32_t>(output.index) | static_cast<int32_t>(output.datatype) << 16;
    if (IsInRegion(response, output)) {
      *words++ = layout::kInRegion + static_cast<int32_t>(uint64_t{output.size} >> 32);
    } else if (cutter.Takes(output)) {
      *words++ = Put(output.data, output.size);
    } else {
      *words++ = ~static_cast<int32_t>(next_large++);
    }
    *words++ = static_cast<int32_t>(output.size);
    *words++ = static_cast<int32_t>(output.tail.size() + (output.batch >= 0 ? 1 : 0));
    if (output.batch >= 0) *words++ = static_cast<int32_t>(output.batch);
    for (const int64_t dim : output.tail) *words++ = static_cast<int32_t>(dim);
  }
  page_->words = static_cast<uint32_t>(words - page_->data());
  page_->counted += response.counted;
  NoteWritten(response, 1);
  return true;
}

int32_t ResponseWriter::PutParameters(const ResponseParameters& parameters, size_t size) {
  page_->payload = (page_->payload - static_cast<uint32_t>(size)) & ~7u;
  char* at = static_cast<char*>(page_->memory->data()) + page_->payload;
  const auto put = [&at](const void* data, size_t bytes) {
    const size_t padding = (4 - bytes % 4) % 4;
    if (bytes > 0) std::memcpy(at, data, bytes);
    std::memset(at + bytes, 0, padding);
    at += bytes + padding;
  };
  const auto put_one = [&](const std::string& name, int32_t kind, const void* value, size_t bytes) {
    const int32_t head[] = {kind, static_cast<int32_t>(name.size()), static_cast<int32_t>(bytes)};
    put(head, sizeof(head));
    put(name.data(), name.size());
    put(value, bytes);
  };
  for (const RequestParameter& one : *parameters) {
    if (const auto* text = std::get_if<std::string>(&one.value)) {
      put_one(one.name, layout::kStringParameter, text->data(), text->size());
    } else if (const auto* whole = std::get_if<int64_t>(&one.value)) {
      put_one(one.name, layout::kIntegerParameter, whole, sizeof(*whole));
    } else if (const auto* real = std::get_if<double>(&one.value)) {
      put_one(one.name, layout::kDoubleParameter, real, sizeof(*real));
    } else {
      const int32_t flag = std::get<bool>(one.value) ? 1 : 0;
      put_one(one.name, layout::kFlagParameter, &flag, sizeof(flag));
    }
  }
  return static_cast<int32_t>(page_->payload);
}

void ResponseWriter::NoteWritten(const Response& response, uint32_t count) {
  TRITONTS_ASSERT(response.final || streams_, "a request got a response that is not its last");
  if (!response.final) return;
  page_->finals += count;
  page_->NoteEnded(response.request->header->slot, count);
}

bool ResponseWriter::WriteFailure(const Response& response, uint32_t count, Code code,
                                  Reason reason, std::string_view message) {
  message = message.substr(0, kLongestMessage);
  const size_t words_needed = kTimingWords + kResponseWords;
  if (!MakeRoom(words_needed * 4 + message.size(), CompletionPages::Use::kErrors)) return false;
  if (page_->reserved && message.size() > kNoMemory.size()) message = kNoMemory;
  const Request* request = response.request;
  if (response.timings) WriteTimings(*request, *response.timings);
  int32_t* words = page_->data() + page_->words;
  *words++ = static_cast<int32_t>(request->header->slot);
  *words++ = static_cast<int32_t>(request->header->generation);
  *words++ = static_cast<int32_t>(code) | (response.final ? layout::kFinalBit : 0) |
             (response.limited ? layout::kLimitedBit : 0) |
             (response.unserved ? layout::kUnservedBit : 0) |
             (response.timings ? layout::kRanBit : 0) | static_cast<int32_t>(reason) << 16;
  *words++ = static_cast<int32_t>(request->position);
  *words++ = static_cast<int32_t>(count);
  *words++ = Put(message.data(), message.size());
  *words++ = static_cast<int32_t>(message.size());
  page_->words = static_cast<uint32_t>(words - page_->data());
  NoteWritten(response, count);
  return true;
}

bool ResponseWriter::FitAlike(const AlikeResponses& alike) {
  Cutter sizes;
  size_t words = kTimingWords + kResponseWords;
  for (const OutputTensor& output : alike.outputs) {
    words += kOutputWords + output.tail.size();
    if (!sizes.Takes(output)) return false;
  }
  return words <= kMostWords;
}

size_t ResponseWriter::WriteAlike(const AlikeResponses& alike, size_t first) {
  SetStreams(false);
  const std::span<Request* const> requests = alike.requests.subspan(first);
  // In the worst case each request needs a record.
  size_t bytes_each = kResponseWords * 4;
  for (const OutputTensor& output : alike.outputs) {
    bytes_each += (kOutputWords + output.tail.size()) * 4 + output.size;
  }
  constexpr size_t kFixed = kTimingWords * 4;
  // Ask only for room for one response, so that the last responses of a batch do not need a new
  // page.
  if (!MakeRoom(kFixed + bytes_each, CompletionPages::Use::kResponses)) return 0;
  // Requests of one tick waited equally long, so the first one's time holds for all.
  WriteTimings(*requests.front(), *alike.timings);
  size_t count = 0;
  while (count < requests.size() && !requests[count]->header->regions &&
         requests[count]->header->flush == requests.front()->header->flush) {
    const size_t written = WriteNeighbours(alike, first + count);
    if (written == 0) break;
    count += written;
  }
  return count;
}

size_t ResponseWriter::WriteNeighbours(const AlikeResponses& alike, size_t first) {
  const std::span<Request* const> requests = alike.requests.subspan(first);
  size_t fixed = kResponseWords * 4;
  size_t bytes_each = 0;
  for (const OutputTensor& output : alike.outputs) {
    fixed += (kOutputWords + output.tail.size()) * 4;
    bytes_each += output.size;
  }
  if (page_->room() < fixed + bytes_each) return 0;
  size_t most = requests.size();
  if (bytes_each > 0) most = std::min(most, (page_->room() - fixed) / bytes_each);
  const Request& begin = *requests.front();
  size_t count = 1;
  while (count < most && requests[count]->header == begin.header &&
         requests[count]->position == begin.position + count) {
    count++;
  }
  int32_t* words = page_->data() + page_->words;
  *words++ = static_cast<int32_t>(begin.header->slot);
  *words++ = static_cast<int32_t>(begin.header->generation);
  *words++ = static_cast<int32_t>(Code::kOk) | layout::kFinalBit | layout::kRanBit |
             static_cast<int32_t>(alike.outputs.size() << 16);
  *words++ = static_cast<int32_t>(begin.position);
  *words++ = static_cast<int32_t>(count);
  for (const OutputTensor& output : alike.outputs) {
    *words++ = static_cast<int32_t>(output.index) | static_cast<int32_t>(output.datatype) << 16;
    *words++ =
        Put(static_cast<const char*>(output.data) + first * output.size, count * output.size);
    *words++ = static_cast<int32_t>(output.size);
    *words++ = static_cast<int32_t>(output.tail.size() + 1);
    *words++ = static_cast<int32_t>(output.batch);
    for (const int64_t dim : output.tail) *words++ = static_cast<int32_t>(dim);
  }
  page_->words = static_cast<uint32_t>(words - page_->data());
  page_->finals += static_cast<uint32_t>(count);
  page_->NoteEnded(begin.header->slot, static_cast<uint32_t>(count));
  return count;
}

}  // namespace tritonts
