#include "session.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "../common/wire_reader.h"
#include "platform/dynamic_library.h"
#include "platform/error_text.h"

namespace tritonts::tensorflow {

namespace {

void AppendVarint(std::string* bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

void AppendField(std::string* bytes, uint32_t number, uint64_t value) {
  AppendVarint(bytes, number << 3);
  AppendVarint(bytes, value);
}

// A ConfigProto.
std::string ConfigBytes(const Settings& settings) {
  // device_count: no GPU. A library with GPUs would otherwise take all their memory.
  std::string bytes = {"\x0a\x07\x0a\x03GPU\x10\x00", 9};
  AppendField(&bytes, 2, settings.intra_op_threads);
  AppendField(&bytes, 5, settings.inter_op_threads);
  AppendField(&bytes, 7, settings.soft_placement);
  AppendField(&bytes, 9, settings.session_threads);
  return bytes;
}

// Reads a file that the library takes as bytes.
Status ReadFile(const std::string& path, std::string* bytes) {
  std::error_code error;
  const auto file = platform::NativePath(path);
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return Status::NotFound("cannot read '" + path + "': " + platform::ErrorText(error));
  // Messages of protobuf have less than 2 GiB.
  if (size > std::numeric_limits<int32_t>::max()) {
    return Status::InvalidArg("'" + path + "' has " + std::to_string(size) +
                              " bytes, but a graph has less than 2 GiB");
  }
  bytes->resize(static_cast<size_t>(size));
  std::ifstream stream(file, std::ios::binary);
  if (stream.read(bytes->data(), static_cast<std::streamsize>(size))) return Status::Ok();
  return Status::NotFound("cannot read '" + path + "'");
}

// Says what a message of the library does not: that a path is a pattern there.
std::string PatternHint(const std::string& path) {
  if (path.find_first_of("[*?\\") == std::string::npos) return "";
  return ". The path has a character that is part of a pattern for TensorFlow ([, *, ? or \\): "
         "rename "
         "the folder";
}

}  // namespace

BufferObject RunInCaller(const Library& library) {
  // inter_op_thread_pool: -1
  constexpr std::string_view kBytes = "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const Table& table = library.table();
  return BufferObject(table, table.NewBufferFromString(kBytes.data(), kBytes.size()));
}

StatusOr<std::shared_ptr<Session>> Session::Load(const Library& library, const Settings& settings,
                                                 const std::string& path, GraphContent* content) {
  const Table& table = library.table();
  std::shared_ptr<Session> session(new Session(library));
  session->graph_ = Graph(table, table.NewGraph());
  const SessionOptions options(table, table.NewSessionOptions());
  const StatusObject result = library.NewStatus();
  const std::string config = ConfigBytes(settings);
  table.SetConfig(options.get(), config.data(), config.size(), result.get());
  Status status = library.Take(result);
  if (status.ok()) {
    status = settings.graphdef ? session->LoadFile(options, path, content)
                               : session->LoadFolder(settings, options, path, content);
  }
  if (status.ok()) status = session->RunInitOps(settings);
  if (!status.ok()) return status;
  return session;
}

Status Session::LoadFolder(const Settings& settings, const SessionOptions& options,
                           const std::string& path, GraphContent* content) {
  const Table& table = library_.table();
  const BufferObject bytes(table, table.NewBuffer());
  const BufferObject run_options = RunInCaller(library_);
  const StatusObject result = library_.NewStatus();
  const char* tag = settings.tag.c_str();
  session_ = table.LoadSessionFromSavedModel(options.get(), run_options.get(), path.c_str(), &tag,
                                             1, graph_.get(), bytes.get(), result.get());
  if (Status status = library_.Take(result); !status.ok()) {
    if (table.GetCode(result.get()) == kTfNotFound &&
        status.message().find("tags") != std::string::npos) {
      return Status::InvalidArg(
          "expected '" + settings.tag +
          "' tag (TF_GRAPH_TAG), but the SavedModel has none: " + status.message());
    }
    return Status::InvalidArg("TensorFlow cannot load the SavedModel: " + status.message() +
                              PatternHint(path));
  }
  if (content) {
    *content = ReadMetaGraph({static_cast<const char*>(bytes.get()->data), bytes.get()->length});
  }
  return Status::Ok();
}

Status Session::LoadFile(const SessionOptions& options, const std::string& path,
                         GraphContent* content) {
  const Table& table = library_.table();
  std::string bytes;
  if (Status status = ReadFile(path, &bytes); !status.ok()) return status;
  const StatusObject result = library_.NewStatus();
  const BufferObject graph(table, table.NewBufferFromString(bytes.data(), bytes.size()));
  const ImportOptions import(table, table.NewImportGraphDefOptions());
  table.GraphImportGraphDef(graph_.get(), graph.get(), import.get(), result.get());
  Status status = library_.Take(result);
  if (status.ok()) {
    session_ = table.NewSession(graph_.get(), options.get(), result.get());
    status = library_.Take(result);
  }
  if (!status.ok()) {
    return Status::InvalidArg("TensorFlow cannot load the graph: " + status.message());
  }
  if (content) *content = ReadGraph(bytes);
  return Status::Ok();
}

Status Session::RunInitOps(const Settings& settings) {
  const Table& table = library_.table();
  std::vector<const TfOperation*> targets;
  for (const std::string& name : settings.init_ops) {
    const TfOperation* const operation = table.GraphOperationByName(graph_.get(), name.c_str());
    if (!operation) {
      return Status::InvalidArg("the graph has no operation '" + name +
                                "', which TF_INIT_OPS_FILE names");
    }
    targets.push_back(operation);
  }
  if (targets.empty()) return Status::Ok();
  const BufferObject run_options = RunInCaller(library_);
  const StatusObject result = library_.NewStatus();
  table.SessionRun(session_, run_options.get(), nullptr, nullptr, 0, nullptr, nullptr, 0,
                   targets.data(), static_cast<int>(targets.size()), nullptr, result.get());
  const Status status = library_.Take(result);
  if (status.ok()) return status;
  return Status::InvalidArg("the operations of TF_INIT_OPS_FILE fail: " + status.message());
}

Session::~Session() {
  if (!session_) return;
  const StatusObject result = library_.NewStatus();
  library_.table().CloseSession(session_, result.get());
  library_.table().DeleteSession(session_, result.get());
}

void Session::Cancel() {
  if (--users_ > 0) return;
  // It fails only if the session is closed already.
  const StatusObject result = library_.NewStatus();
  library_.table().CloseSession(session_, result.get());
}

StatusOr<TfOutput> Session::Find(const std::string& place) const {
  const Table& table = library_.table();
  const std::string name = OperationOf(place);
  TfOutput output{table.GraphOperationByName(graph_.get(), name.c_str()), 0};
  const size_t colon = place.find(':');
  const char* const end = place.data() + place.size();
  bool valid = output.operation != nullptr;
  if (colon != std::string::npos) {
    const auto [stop, error] = std::from_chars(place.data() + colon + 1, end, output.index);
    valid = valid && error == std::errc() && stop == end;
  }
  if (valid && output.index >= 0 && output.index < table.OperationNumOutputs(output.operation)) {
    return output;
  }
  return Status::InvalidArg("the graph has no tensor '" + place + "'");
}

bool Session::HasState(const std::string& kind) const {
  const Table& table = library_.table();
  if (!table.GraphGetOpDef) return true;
  const BufferObject bytes(table, table.NewBuffer());
  const StatusObject result = library_.NewStatus();
  table.GraphGetOpDef(graph_.get(), kind.c_str(), bytes.get(), result.get());
  if (!library_.Take(result).ok()) return true;
  // An OpDef: 2 inputs (of which 16 is_ref), 17 is_stateful.
  WireReader reader({static_cast<const char*>(bytes.get()->data), bytes.get()->length});
  WireField field;
  while (reader.Next(reader.size(), &field)) {
    if (field.number == 17 && field.value != 0) return true;
    if (field.number != 2 || !field.has_length) {
      reader.Skip(field.length);
      continue;
    }
    const uint64_t end = reader.position() + field.length;
    WireField inner;
    while (reader.Next(end, &inner)) {
      if (inner.number == 16 && inner.value != 0) return true;
      reader.Skip(inner.length);
    }
  }
  return reader.failed();
}

bool Session::ShapeOf(TfOutput output, std::vector<int64_t>* dims) const {
  const Table& table = library_.table();
  const StatusObject result = library_.NewStatus();
  const int rank = table.GraphGetTensorNumDims(graph_.get(), output, result.get());
  if (rank < 0 || !library_.Take(result).ok()) return false;
  dims->assign(static_cast<size_t>(rank), -1);
  if (rank > 0) {
    table.GraphGetTensorShape(graph_.get(), output, dims->data(), rank, result.get());
  }
  return library_.Take(result).ok();
}

}  // namespace tritonts::tensorflow
