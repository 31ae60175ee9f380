// Gives JavaScript access to a port's pages, and to outputs that are too large for a page.
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "addon.h"
#include "convert.h"
#include "external_memory.h"
#include "port_wrap.h"

namespace tritonts {

namespace {

// The limit of outputs that an environment holds in place; further ones are copied. V8 frees
// external memory only after marking the whole heap, and may let a gigabyte accumulate first. It
// frees its own memory as soon as it collects young objects.
constexpr size_t kMostSharedBytes = size_t{256} << 20;

}  // namespace

uint32_t PortWrap::TakePages() {
  std::array<CompletionPage*, layout::kMostPages> pages;
  const size_t count = port_->TakePages(pages);
  size_t word = layout::kPages;
  for (const CompletionPage* page : std::span(pages).first(count)) {
    port_->header_word(word++) = static_cast<int32_t>(page->id);
    port_->header_word(word++) = static_cast<int32_t>(page->words);
  }
  return static_cast<uint32_t>(count);
}

Napi::Value PortWrap::Page(const Napi::CallbackInfo& info) {
  CompletionPage* page = port_->page(WordOf(info, 0));
  return page ? ExternalBuffer(info.Env(), page->memory.get()) : info.Env().Undefined();
}

void PortWrap::CopyPage(const Napi::CallbackInfo& info) {
  CompletionPage* page = port_->page(WordOf(info, 0));
  const auto [data, size] = ViewOf(info[1]);
  if (!page || size != layout::kPageBytes) return;
  auto* target = static_cast<char*>(const_cast<void*>(data));
  const auto* source = static_cast<const char*>(page->memory->data());
  std::memcpy(target, source, size_t{page->words} * 4);
  std::memcpy(target + page->payload, source + page->payload, layout::kPageBytes - page->payload);
}

CompletionPage::Large* PortWrap::LargeOf(const Napi::CallbackInfo& info) {
  CompletionPage* page = port_->page(WordOf(info, 0));
  const uint32_t number = WordOf(info, 1);
  const bool there = page && number < page->large.size() && page->large[number].block;
  return there ? &page->large[number] : nullptr;
}

Napi::Value PortWrap::TakeLarge(const Napi::CallbackInfo& info) {
  CompletionPage::Large* large = LargeOf(info);
  const std::shared_ptr<size_t>& shared = DataOf(info.Env()).shared_bytes;
  if (!large || !external_ || *shared + large->size > kMostSharedBytes) {
    return info.Env().Undefined();
  }
  struct Kept {
    BlockRef block;
    std::shared_ptr<size_t> shared;
    size_t size;
  };
  BlockRef block = large->block;
  const void* data = large->data;
  if (block->kind() == MemoryKind::kShared) {
    // Borrowed, from another process or from the response cache: copy it. The port's pool
    // has memory that JavaScript gave back; pages that are new to the process take much longer.
    BlockPool* const copies = block->copies();
    BlockRef copy = copies ? copies->Acquire(large->size) : port_->inputs().Acquire(large->size);
    if (!copy) return info.Env().Undefined();
    std::memcpy(copy->data(), data, large->size);
    block = std::move(copy);
    data = block->data();
  }
  // V8 counts external ArrayBuffers by itself.
  auto* kept = new (std::nothrow) Kept{std::move(block), shared, large->size};
  if (!kept) return info.Env().Undefined();
  *shared += large->size;
  const napi_value value = ExternalMemory(
      info.Env(), const_cast<void*>(data), large->size,
      [](napi_env, void*, void* hint) {
        std::unique_ptr<Kept> kept(static_cast<Kept*>(hint));
        *kept->shared -= kept->size;
      },
      kept);
  if (!value) return info.Env().Undefined();
  port_->ReleaseLarge(port_->page(WordOf(info, 0)), WordOf(info, 1));
  return Napi::Value(info.Env(), value);
}

Napi::Value PortWrap::LargeBytes(const Napi::CallbackInfo& info) {
  const CompletionPage::Large* large = LargeOf(info);
  return Napi::Number::New(info.Env(), large ? static_cast<double>(large->size) : 0);
}

void PortWrap::CopyLarge(const Napi::CallbackInfo& info) {
  CompletionPage::Large* large = LargeOf(info);
  const auto [data, size] = ViewOf(info[2]);
  if (!large || size != large->size) return;
  if (size > 0) std::memcpy(const_cast<void*>(data), large->data, size);
  port_->ReleaseLarge(port_->page(WordOf(info, 0)), WordOf(info, 1));
}

Napi::Value PortWrap::Recycle(const Napi::CallbackInfo& info) {
  CompletionPage* page = port_->page(WordOf(info, 0));
  return Napi::Boolean::New(info.Env(), page && port_->Recycle(page));
}

void PortWrap::Read(const Napi::CallbackInfo& info) {
  double bytes = 0;
  napi_get_value_double(info.Env(), info[4], &bytes);
  if (!(bytes >= 0 && bytes < 0x1p53)) return;
  port_->Read(WordOf(info, 0), WordOf(info, 1), WordOf(info, 2), WordOf(info, 3),
              static_cast<uint64_t>(bytes));
}

}  // namespace tritonts
