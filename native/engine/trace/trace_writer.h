// Writes finished traces: to files, or to a list for the server's owner. It has a thread, so that
// requests wait neither for the formatting nor for a disk.
//
// Files are those of Triton. Without a log frequency all traces of a path are in one file, a JSON
// array, which is complete when no setting uses the path any more, or when the setting's count is
// exhausted: then it gets an index (`<file>.0`). With a log frequency n, each n traces are in a
// file with an index.
//
// Ownership: the tracer and its settings share ownership, because a run that was abandoned may end
// a trace at any time. Threads: any thread may call any function; Stop once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/thread_group.h"
#include "engine/trace/trace_log.h"

namespace tritonts {

struct TraceSetting;

class TraceWriter : public std::enable_shared_from_this<TraceWriter> {
 public:
  // What waits for the thread, and what waits for the owner, has at most this many bytes each.
  // Further traces are dropped.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  struct Counts {
    uint64_t written = 0;  // traces in files, or in the owner's list
    uint64_t dropped = 0;
    std::string fault;  // what went wrong with a file, the last time
  };

  // Starts the thread. False: the system has none. Later calls only say so again.
  bool Start();
  // Writes what waits, completes all files, and ends the thread. Later traces are dropped. Waits
  // for a disk for at most `wait_ms`; after that the thread goes on without an owner.
  void Stop(uint64_t wait_ms);

  // A setting begins and ends. Begin returns its number, and throws std::bad_alloc. After Stop both
  // do nothing.
  uint64_t Begin(const std::string& file, uint32_t log_frequency, bool spans);
  void End(uint64_t setting) noexcept;
  // Traces of a setting have ended. Those that are null were dropped.
  void Add(TraceSetting* setting, std::span<std::unique_ptr<TraceLog>> logs) noexcept;

  // A JSON array of traces that were kept for the owner, the oldest ones first, of about `most`
  // bytes; empty: there are none. Throws std::bad_alloc.
  std::string Take(size_t most);
  Counts counts() const;

 private:
  // Work for the thread.
  struct Task {
    uint64_t setting = 0;
    std::unique_ptr<TraceLog> log;  // null: none
    bool exhausted = false;         // it was the last trace of the setting's count
    bool ends = false;              // the setting ends
  };
  // A JSON array in a file. The stream has no buffer: what it was given is in the file.
  struct File {
    std::FILE* stream = nullptr;
    std::string path;
    int64_t size = 0;  // bytes in the file, without the bracket at the end; 0: it has to be begun
    uint64_t traces = 0;  // in the file, or waiting
    std::string waiting;  // traces that are not in the file yet
    uint64_t waiting_traces = 0;
  };
  // The thread's view of a setting.
  struct Target {
    std::string path;
    uint32_t log_frequency = 0;
    bool spans = false;
    File chunk;  // with a log frequency: the present file
  };

  void Run();
  void Do(const Task& task, const TraceLog* log);
  void Write(Target* target, const TraceLog& log);
  Target* TargetOf(uint64_t setting);
  File* FileOf(const Target& target);
  // Appends a trace to a file.
  void Append(File* file, const std::string& text);
  // Opens a file, or finds the end of one that was complete. False: it cannot be opened.
  bool Open(File* file);
  // Writes what waits. Without success it is lost, and the file stays as it was.
  void Flush(File* file);
  void FlushAll();
  // Completes a file, and gives it its final name. False: it does not have that name.
  bool Close(File* file, const std::string& final_path = {});
  void CloseChunk(File* chunk);
  std::string NextPath(const std::string& path);
  void Fail(const char* what, const std::string& path, uint64_t lost) noexcept;
  void Forget(uint64_t setting, Target* target);
  void NoteDropped();

  mutable std::mutex mutex_;  // guards all of these
  std::condition_variable work_;
  std::condition_variable stopped_;
  std::vector<Task> tasks_;
  size_t waiting_bytes_ = 0;
  std::map<uint64_t, Target> targets_;  // the thread alone changes a target after Begin
  uint64_t last_setting_ = 0;
  bool started_ = false;
  bool stopping_ = false;
  bool done_ = false;
  std::deque<std::string> kept_;  // each a trace
  size_t kept_bytes_ = 0;
  Counts counts_;

  // The thread's.
  std::map<std::string, File> files_;           // of paths without a log frequency
  std::map<std::string, uint64_t> next_index_;  // by path
  std::string text_;
  // What the last task had to do with, as most have to do with the same. Null: not known.
  uint64_t last_setting_of_task_ = 0;
  Target* last_target_ = nullptr;
  File* last_file_ = nullptr;

  ThreadGroup thread_;
};

}  // namespace tritonts
