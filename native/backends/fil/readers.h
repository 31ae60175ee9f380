// The readers of the formats. Each reads a whole file, and throws a Refusal if it cannot.
// ReadForest (read_forest.h) calls them.
#pragma once

#include <string_view>

#include "document.h"
#include "forest.h"

namespace tritonts::fil {

// XGBoost's JSON or UBJSON.
Forest ReadXgboostDocument(Document* document, size_t file_size);
// XGBoost's binary format before 3.0.
Forest ReadXgboostLegacy(std::string_view bytes);
// LightGBM's text.
Forest ReadLightgbm(std::string_view text);
// Treelite's checkpoint.
Forest ReadTreelite(std::string_view bytes);

}  // namespace tritonts::fil
