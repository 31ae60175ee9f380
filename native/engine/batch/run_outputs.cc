#include "engine/batch/run_outputs.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tritonts {

namespace {

// The name of an output that the keeper keeps and that is not among `kept`; null: there is none.
const std::string* MissingOf(const ModelIo& io, const OutputKeeper& keeper,
                             std::span<const OutputTensor> kept) {
  for (uint32_t index = 0; index < io.outputs.size(); index++) {
    const auto is = [index](const OutputTensor& output) { return output.index == index; };
    if (keeper.Keeps(index) && std::none_of(kept.begin(), kept.end(), is)) {
      return &io.outputs[index].name;
    }
  }
  return nullptr;
}

}  // namespace

void RunOutputs::Begin(const RunContext* context, std::span<Request* const> requests,
                       const OutputKeeper* keeper) {
  context_ = context;
  keeper_ = keeper;
  rows_ = 0;
  first_rows_.resize(requests.size());
  for (size_t i = 0; i < requests.size(); i++) {
    first_rows_[i] = rows_;
    rows_ += requests[i]->header->batch_size;
  }
  Clear();
}

void RunOutputs::Clear() {
  whole_.clear();
  single_.clear();
  chains_.clear();
  parameters_.clear();
  unused_ = kNone;
  lacking_ = false;
}

uint32_t RunOutputs::RowsOf(uint32_t request) const {
  const bool last = request + 1 == first_rows_.size();
  return (last ? rows_ : first_rows_[request + 1]) - first_rows_[request];
}

BlockRef RunOutputs::Declare(uint32_t request, const OutputTensor& tensor,
                             std::span<const size_t> offsets) {
  if (request != Run::kAll && request >= first_rows_.size()) return {};
  try {
    return Add(request, tensor, offsets);
  } catch (const std::bad_alloc&) {
    lacking_ = true;
    return {};
  }
}

BlockRef RunOutputs::Add(uint32_t request, const OutputTensor& tensor,
                         std::span<const size_t> offsets) {
  Declared declared;
  declared.tensor = tensor;
  declared.offsets = offsets;
  declared.block = BlockRef::Share(tensor.block);
  if (request == Run::kAll && offsets.empty() && rows_ > 0)
    declared.row_bytes = tensor.size / rows_;
  if (!MakesSense(request, declared)) {
    declared.status = Status::Internal(Complaint(request, declared));
  } else if (IsTooLarge(request, declared)) {
    declared.status = Status::Internal(TooLarge(tensor));
  }
  return Store(request, std::move(declared));
}

BlockRef RunOutputs::Store(uint32_t request, Declared declared) {
  const uint32_t index = declared.tensor.index;
  if (request == Run::kAll) {
    for (Declared& known : whole_) {
      if (known.tensor.index == index) return std::exchange(known, std::move(declared)).block;
    }
    whole_.push_back(std::move(declared));
    return {};
  }
  // Each request has a chain, so that a response visits only its own outputs.
  if (chains_.size() < first_rows_.size()) chains_.resize(first_rows_.size(), kNone);
  uint32_t last = kNone;
  for (uint32_t i = chains_[request]; i != kNone; i = single_[i].next) {
    if (single_[i].tensor.index == index) {
      declared.next = single_[i].next;
      return std::exchange(single_[i], std::move(declared)).block;
    }
    last = i;
  }
  uint32_t added = unused_;
  if (added == kNone) {
    added = static_cast<uint32_t>(single_.size());
    single_.push_back(std::move(declared));
  } else {
    unused_ = single_[added].next;
    single_[added] = std::move(declared);
  }
  (last == kNone ? chains_[request] : single_[last].next) = added;
  return {};
}

void RunOutputs::SetParameters(uint32_t position, ResponseParameters* parameters) {
  if (position >= first_rows_.size()) return;
  try {
    if (parameters_.empty()) parameters_.resize(first_rows_.size());
    parameters_[position].swap(*parameters);
  } catch (const std::bad_alloc&) {
    lacking_ = true;
  }
}

ResponseParameters RunOutputs::TakeParameters(uint32_t position) {
  return position < parameters_.size() ? std::move(parameters_[position]) : nullptr;
}

OutputTensor RunOutputs::PartOf(const Declared& declared, size_t first_row, size_t past_row) const {
  OutputTensor tensor = declared.tensor;
  if (!context_->batching) return tensor;
  const bool ragged = !declared.offsets.empty();
  const size_t begin = ragged ? declared.offsets[first_row] : first_row * declared.row_bytes;
  const size_t end = ragged ? declared.offsets[past_row] : past_row * declared.row_bytes;
  tensor.batch = static_cast<int64_t>(past_row - first_row);
  tensor.data = static_cast<const char*>(declared.tensor.data) + begin;
  tensor.size = end - begin;
  return tensor;
}

Status RunOutputs::Take(uint32_t position, const Request& request,
                        std::vector<OutputTensor>* tensors, std::vector<BlockRef>* blocks,
                        KeptOutputs* kept) {
  const size_t before = tensors->size();
  const size_t kept_before = kept->outputs.size();
  Status status = lacking_ ? context_->no_response : Status::Ok();
  for (const Declared& declared : whole_) {
    const uint32_t index = declared.tensor.index;
    if (!status.ok() || !(request.header->Wants(index) || Kept(index))) continue;
    status = declared.status;
    if (!status.ok()) continue;
    const size_t first = first_rows_[position];
    Hand(PartOf(declared, first, first + RowsOf(position)), position, request, tensors, kept);
    // The response keeps the block until it is delivered, even if another thread clears the run's
    // outputs.
    if (declared.block) blocks->push_back(declared.block);
  }
  if (position < chains_.size()) {
    for (uint32_t i = chains_[position]; i != kNone; i = single_[i].next) {
      const Declared& declared = single_[i];
      const uint32_t index = declared.tensor.index;
      if (!status.ok() || !(request.header->Wants(index) || Kept(index))) continue;
      status = declared.status;
      if (status.ok()) Hand(declared.tensor, position, request, tensors, kept);
    }
    Drop(position, blocks);
  }
  // The next batch of the slot would have a state that is too old.
  if (status.ok() && keeper_ && context_->io && !context_->decoupled && !request.header->null_row) {
    const std::span<const OutputTensor> own = std::span(kept->outputs).subspan(kept_before);
    if (const std::string* name = MissingOf(*context_->io, *keeper_, own)) {
      status = Status::Internal("model '" + context_->model + "', output '" + *name +
                                "': expected in each response, because the engine keeps it; its "
                                "backend returned none");
    }
  }
  if (!status.ok()) {
    tensors->resize(before);
    kept->outputs.resize(kept_before);
    kept->slots.resize(kept_before);
  }
  return status;
}

void RunOutputs::Hand(const OutputTensor& tensor, uint32_t position, const Request& request,
                      std::vector<OutputTensor>* tensors, KeptOutputs* kept) const {
  if (!Kept(tensor.index)) return tensors->push_back(tensor);
  if (!request.header->null_row) {
    kept->outputs.push_back(tensor);
    kept->slots.push_back(position);
  }
  if (IsForCaller(tensor.index) && request.header->Wants(tensor.index)) tensors->push_back(tensor);
}

bool RunOutputs::Takes(std::span<Request* const> requests, const OutputTensor& tensor) {
  if (IsHostMemory(tensor.kind)) return IsPrivateHostMemory(tensor.kind);
  const int device = tensor.block ? tensor.block->device() : 0;
  const RequestHeader* header = nullptr;  // of the previous request
  for (const Request* request : requests) {
    if (request->header == header) continue;
    header = request->header;
    if (!header->sink->Takes(*request, tensor.index, tensor.kind, device)) return false;
  }
  return true;
}

bool RunOutputs::TakeAlike(std::span<Request* const> requests,
                           std::vector<OutputTensor>* tensors) const {
  const RequestHeader& header = *requests.front()->header;
  if (!context_->batching || lacking_ || !parameters_.empty()) return false;
  // Some outputs of single requests were not consumed yet.
  for (const uint32_t first : chains_) {
    if (first != kNone) return false;
  }
  for (const Declared& declared : whole_) {
    if (!header.Wants(declared.tensor.index)) continue;
    // Rows of strings differ in size.
    if (!declared.status.ok() || !declared.offsets.empty() ||
        declared.tensor.datatype == DataType::kBytes || !Takes(requests, declared.tensor)) {
      return false;
    }
  }
  for (const Declared& declared : whole_) {
    if (!header.Wants(declared.tensor.index)) continue;
    tensors->push_back(PartOf(declared, 0, header.batch_size));
  }
  return true;
}

void RunOutputs::Drop(uint32_t position, std::vector<BlockRef>* blocks) {
  if (position < parameters_.size()) parameters_[position].reset();
  if (position >= chains_.size()) return;
  for (uint32_t i = std::exchange(chains_[position], kNone); i != kNone;) {
    Declared& declared = single_[i];
    const uint32_t following = declared.next;
    if (declared.block) blocks->push_back(std::move(declared.block));
    declared.next = std::exchange(unused_, i);
    i = following;
  }
}

void RunOutputs::DropAll(std::vector<BlockRef>* blocks) {
  for (Declared& declared : whole_) {
    if (declared.block) blocks->push_back(std::move(declared.block));
  }
  whole_.clear();
  for (uint32_t i = 0; i < chains_.size(); i++) Drop(i, blocks);
  parameters_.clear();
  lacking_ = false;
}

Status RunOutputs::FaultOfKept(uint32_t position) const {
  if (!keeper_) return Status::Ok();
  if (lacking_) return context_->no_response;
  if (position >= chains_.size()) return Status::Ok();
  for (uint32_t i = chains_[position]; i != kNone; i = single_[i].next) {
    if (!single_[i].status.ok() && Kept(single_[i].tensor.index)) return single_[i].status;
  }
  return Status::Ok();
}

bool RunOutputs::TakeKept(uint32_t position, OutputTensor* tensor, BlockRef* block) {
  if (position >= chains_.size()) return false;
  for (uint32_t* link = &chains_[position]; *link != kNone; link = &single_[*link].next) {
    Declared& declared = single_[*link];
    if (!declared.status.ok() || !Kept(declared.tensor.index)) continue;
    *tensor = declared.tensor;
    *block = std::move(declared.block);
    const uint32_t at = std::exchange(*link, declared.next);
    declared.next = std::exchange(unused_, at);
    return true;
  }
  return false;
}

bool RunOutputs::DropOne(uint32_t position, BlockRef* block) {
  if (position == Run::kAll && !whole_.empty()) {
    *block = std::move(whole_.back().block);
    whole_.pop_back();
    return true;
  }
  const size_t first = position == Run::kAll ? 0 : position;
  const size_t past = position == Run::kAll ? chains_.size() : first + 1;
  for (size_t i = first; i < past && i < chains_.size(); i++) {
    const uint32_t at = chains_[i];
    if (at == kNone) continue;
    *block = std::move(single_[at].block);
    chains_[i] = single_[at].next;
    single_[at].next = std::exchange(unused_, at);
    return true;
  }
  if (position == Run::kAll) {
    parameters_.clear();
    lacking_ = false;
  } else if (position < parameters_.size()) {
    parameters_[position].reset();
  }
  return false;
}

}  // namespace tritonts
