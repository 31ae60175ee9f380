// Writes responses to pages (port_layout.h), page after page. A writer is made for one delivery,
// and used only by the delivering thread. Nothing throws: functions return whether there was
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "engine/port/pages.h"
#include "engine/request/response_sink.h"

namespace tritonts {

class ResponseWriter {
 public:
  explicit ResponseWriter(CompletionPages* pages) : pages_(pages) {}
  ~ResponseWriter() { Finish(); }
  ResponseWriter(const ResponseWriter&) = delete;
  ResponseWriter& operator=(const ResponseWriter&) = delete;

  // The error message if there is no memory for a response.
  static constexpr std::string_view kNoMemory = "no memory for the answer";

  // Writes a response, or `count` equal errors to neighbours of a group. If there is no memory for
  // the response, it writes an error. False: there is no memory for that either, and nothing was
  // written.
  bool Write(const Response& response, uint32_t count);
  // Whether alike responses can be written as one record.
  static bool FitAlike(const AlikeResponses& alike);
  // Writes alike responses from number `first` on, up to one whose request uses regions, and as
  // many as a page has room for. Returns how many; 0: there is no memory. The first request must
  // use no region.
  size_t WriteAlike(const AlikeResponses& alike, size_t first);

  // Moves the charge of these requests to the page. The last Write or WriteAlike has written their
  // final responses. Called before the requests can be used again.
  void NoteEnds(std::span<Request* const> requests) {
    for (const Request* request : requests) {
      if (!request->charged) continue;
      page_->range_bytes += request->header->range_bytes;
      less_ += request->header->accounted_bytes;
    }
  }
  // Publishes the last page, and lets other threads write to streams. Returns whether the JS thread
  // must be told. It must also be told if nothing was written, because the writer held a page that
  // may have other threads' responses.
  bool Finish();

 private:
  // Chooses the kind of pages for the next responses.
  void SetStreams(bool streams);
  void Publish();
  // Makes `page_` a page with room for `needed` bytes. False: there is no memory.
  bool MakeRoom(size_t needed, CompletionPages::Use use);
  // False: nothing was written. `complaint` says why; if it is empty, there was no memory for an
  // output of `lacked` bytes.
  bool WriteOutputs(const Response& response, std::string_view* complaint, size_t* lacked);
  // Writes one record of neighbours in a group, from number `first` on. Returns how many; 0: the
  // page is full.
  size_t WriteNeighbours(const AlikeResponses& alike, size_t first);
  void NoteWritten(const Response& response, uint32_t count);
  // Puts parameters at the back of the page, as words, and returns their offset.
  int32_t PutParameters(const ResponseParameters& parameters, size_t size);
  bool WriteFailure(const Response& response, uint32_t count, Code code, Reason reason,
                    std::string_view message);
  void WriteTimings(const Request& request, const BatchTimings& timings);
  // Puts bytes at the back of the page, and returns their offset.
  int32_t Put(const void* data, size_t size);

  CompletionPages* const pages_;
  // Held while the writer writes responses to requests of decoupled models.
  std::unique_lock<std::mutex> streams_;
  CompletionPage* page_ = nullptr;
  uint64_t less_ = 0;  // charge of the requests that end in `page_`
  bool touched_ = false;
};

}  // namespace tritonts
