#include "engine/sequences/sequence_controls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/sequences/sequence.h"

namespace tritonts {

namespace {

using Kind = SequenceControl::Kind;

// The id of an empty slot: the number 0, or an empty text. Both are zeros.
alignas(8) constexpr char kNoId[8] = {};
constexpr size_t kLengthBytes = 4;
constexpr int64_t kOnes[] = {1, 1};

std::vector<SequenceControl> InOrder(std::vector<SequenceControl> controls) {
  std::sort(controls.begin(), controls.end(),
            [](const auto& one, const auto& other) { return one.input < other.input; });
  return controls;
}

bool ValueOf(Kind kind, const Request* request) {
  if (!request) return false;
  const SequenceMark& mark = request->sequence();
  return kind == Kind::kReady || (kind == Kind::kStart ? mark.start : mark.end);
}

}  // namespace

SequenceControls::SequenceControls(std::vector<SequenceControl> controls, bool batches)
    : controls_(InOrder(std::move(controls))), batches_(batches) {}

std::string SequenceControls::ComplaintOf(const SequenceId& id) const {
  for (const SequenceControl& control : controls_) {
    if (control.kind != Kind::kCorrelationId) continue;
    const bool is_text = !id.text.empty();
    if (is_text != (control.datatype == DataType::kBytes)) return Name(control.datatype);
  }
  return "";
}

void SequenceControls::Prepare(Sequence* sequence) const {
  const SequenceId& id = sequence->id;
  for (size_t i = 0; i < sequence->number_bytes.size(); i++) {
    sequence->number_bytes[i] = static_cast<char>(id.number >> (8 * i) & 0xff);
  }
  sequence->text_bytes.assign(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; i++) {
    sequence->text_bytes[i] = static_cast<char>(id.text.size() >> (8 * i) & 0xff);
  }
  sequence->text_bytes += id.text;
}

void SequenceControls::Add(uint32_t slot, const Request* request, const Sequence* sequence,
                           OverlayList* overlays) const {
  for (const SequenceControl& control : controls_) {
    const char* bytes = nullptr;
    size_t size = 0;
    if (control.kind != Kind::kCorrelationId) {
      bytes = control.values[ValueOf(control.kind, request) ? 1 : 0].data();
      size = ByteSize(control.datatype);
    } else if (control.datatype == DataType::kBytes) {
      bytes = sequence ? sequence->text_bytes.data() : kNoId;
      size = sequence ? sequence->text_bytes.size() : kLengthBytes;
    } else {
      bytes = sequence ? sequence->number_bytes.data() : kNoId;
      size = ByteSize(control.datatype);
    }
    // Runs only read their inputs.
    overlays->Add(slot, control.input, control.datatype, std::span(kOnes).first(batches_ ? 2 : 1),
                  {const_cast<char*>(bytes), size, MemoryKind::kHost, 0, {}});
  }
}

}  // namespace tritonts
