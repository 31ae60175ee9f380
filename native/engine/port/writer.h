// Writes responses to pages (port_layout.h), page after page. Made for one delivery; the one thread
// that delivers. Nothing here throws: where memory is wanting, it says so.
#pragma once

#include <cstddef>
#include <cstdint>
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

  // What may be said of a response that there is no memory for.
  static constexpr std::string_view kNoMemory = "no memory for the answer";

  // Writes a response, or `count` that are errors alike. Where there is no memory for it, an error
  // that says so; false where there is none for that either, and then nothing was written.
  bool Write(const Response& response, uint32_t count);
  // Whether answers that are alike can be one record.
  static bool FitAlike(const AlikeResponses& alike);
  // Writes these from number `first` on, as many as a page has room for. How many; 0: no memory.
  size_t WriteAlike(const AlikeResponses& alike, size_t first);

  // Final responses to these requests were written by the last call, and what was counted of them
  // is counted with their page from then on. Before they are used again.
  void NoteEnds(std::span<Request* const> requests) {
    for (const Request* request : requests) {
      if (!request->charged) continue;
      page_->range_bytes += request->header->range_bytes;
      less_ += request->header->accounted_bytes;
    }
  }
  // Publishes what is left to be; whether the JS thread is to be told. So it is also where nothing
  // was written: others' answers were kept from it meanwhile.
  bool Finish();

 private:
  // Makes `page_` one with so much room; false without memory.
  bool MakeRoom(size_t needed, CompletionPages::Use use);
  // False: not written, for what `complaint` says, or where that is empty because there is no
  // memory for an output of `lacked` bytes.
  bool WriteOutputs(const Response& response, std::string_view* complaint, size_t* lacked);
  // One record of neighbours in a group, from number `first` on; how many, 0 where the page is
  // full.
  size_t WriteNeighbours(const AlikeResponses& alike, size_t first);
  void NoteWritten(const Response& response, uint32_t count);
  bool WriteFailure(const Response& response, uint32_t count, Code code, std::string_view message);
  void WriteTimings(const Request& request, const BatchTimings& timings);
  // Puts bytes to the back of the page; their offset.
  int32_t Put(const void* data, size_t size);

  CompletionPages* const pages_;
  CompletionPage* page_ = nullptr;
  uint64_t less_ = 0;  // counted of requests whose ends are in `page_`
  bool touched_ = false;
};

}  // namespace tritonts
