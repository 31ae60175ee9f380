// A session of TensorFlow: a graph with the values of its variables. Several instances may share
// one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph_content.h"
#include "library.h"
#include "settings.h"

namespace tritonts::tensorflow {

// Thread-safe after it is loaded.
class Session {
 public:
  // Loads a SavedModel from its folder, or a GraphDef from its file, and runs the operations that
  // the settings name. `content`, if not null, gets what the graph's bytes say. INVALID_ARG, with
  // the library's text: it cannot be loaded.
  static StatusOr<std::shared_ptr<Session>> Load(const Library& library, const Settings& settings,
                                                 const std::string& path, GraphContent* content);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Library& library() const { return library_; }
  TfSession* get() const { return session_; }
  TfGraph* graph() const { return graph_.get(); }

  // Finds the output of an operation, "operation:index" or "operation". INVALID_ARG: there is none.
  StatusOr<TfOutput> Find(const std::string& place) const;
  // Whether an operation of this kind has state, or may change a variable. In doubt it may.
  bool HasState(const std::string& kind) const;
  // The shape that the graph knows. False: it has no rank.
  bool ShapeOf(TfOutput output, std::vector<int64_t>* dims) const;

  // The instances that use this session.
  void AddUser() { users_++; }
  void Leave() { users_--; }
  // The same as Leave for an instance whose runs should end. With the last user, runs under way
  // are cancelled.
  void Cancel();

 private:
  explicit Session(const Library& library) : library_(library), graph_(library.table()) {}
  Status LoadFolder(const Settings& settings, const SessionOptions& options,
                    const std::string& path, GraphContent* content);
  Status LoadFile(const SessionOptions& options, const std::string& path, GraphContent* content);
  Status RunInitOps(const Settings& settings);

  const Library& library_;
  Graph graph_;
  TfSession* session_ = nullptr;
  std::atomic<int> users_{0};
};

}  // namespace tritonts::tensorflow
