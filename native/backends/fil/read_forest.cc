#include "read_forest.h"

#include <new>
#include <utility>

#include "readers.h"
#include "refusal.h"

namespace tritonts::fil {

namespace {

Forest Read(Format format, std::string_view bytes) {
  switch (format) {
    case Format::kXgboostLegacy:
      return ReadXgboostLegacy(bytes);
    case Format::kXgboostJson:
      return ReadXgboostDocument(MakeJsonDocument(bytes).get(), bytes.size());
    case Format::kXgboostUbj:
      return ReadXgboostDocument(MakeUbjDocument(bytes).get(), bytes.size());
    case Format::kLightgbm:
      return ReadLightgbm(bytes);
    case Format::kTreelite:
      return ReadTreelite(bytes);
  }
  Refuse("unknown format");
}

}  // namespace

StatusOr<Forest> ReadForest(Format format, std::string_view bytes) noexcept {
  try {
    return Read(format, bytes);
  } catch (const Refusal& refusal) {
    return MakeStatus([&] {
      return refusal.supported ? Status::InvalidArg(refusal.text)
                               : Status::Unsupported(refusal.text);
    });
  } catch (const std::bad_alloc&) {
    return Status::NoMemory();
  }
}

}  // namespace tritonts::fil
