// The collector with inputs that are adjacent in memory, but in two separate pieces.
#include "engine/batch/collector.h"
#include "fake_device.h"
#include "run_fixture.h"

namespace tritonts::test {

namespace {

// Adjacent pieces of memory in one array.
class SideBySide {
 public:
  explicit SideBySide(MemoryKind kind, MemoryCopier* copier) : kind_(kind), copier_(copier) {}

  // A piece with `count` of the numbers 0, 1, 2, …
  BlockRef Piece(size_t first, size_t count) {
    return BlockRef::Adopt(new One(&values_[first], count * sizeof(float), kind_, copier_));
  }
  // Makes one number of the piece the request's input.
  void Place(RunBench* bench, Request* request, const BlockRef& piece, size_t number) {
    bench->requests.Place(request, 0, DataType::kFp32, {1, 1}, &values_[number], sizeof(float));
    request->header->inputs()[0].first_chunks[0] = {&values_[number], sizeof(float), kind_, 0,
                                                    piece};
  }

 private:
  class One final : public Block {
   public:
    One(void* data, size_t size, MemoryKind kind, MemoryCopier* copier)
        : Block(data, size, kind, 0), copier_(copier) {}
    MemoryCopier* copier() const override { return copier_; }

   private:
    void Dispose() override { delete this; }
    MemoryCopier* const copier_;
  };

  const MemoryKind kind_;
  MemoryCopier* const copier_;
  float values_[3] = {0, 1, 2};
};

}  // namespace

TEST(collector_does_not_take_neighbours_in_two_pieces_of_a_device_s_memory_for_one) {
  FakeDevice device;
  RunBench bench(true, false, &device);
  SideBySide memory(MemoryKind::kDevice, &device);
  std::vector<Request*> chosen;
  const BlockRef two = memory.Piece(0, 2);
  const BlockRef one = memory.Piece(2, 1);
  for (size_t i = 0; i < 3; i++) {
    chosen.push_back(bench.requests.Add(1));
    memory.Place(&bench, chosen.back(), i < 2 ? two : one, i);
  }
  bench.Begin(chosen);
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered, MemoryKind::kPinned, 0, Elsewhere::kLeft).ok());
  CHECK_EQ(gathered.parts.size(), 2u);
  CHECK(gathered.parts[0].data == two->data() && gathered.parts[0].size == two->size());
  CHECK(gathered.parts[1].data == one->data() && gathered.parts[1].size == one->size());
  // If contiguous memory is required, the pieces are copied.
  CHECK(Gather(bench.run, 0, true, &gathered, MemoryKind::kDevice).ok());
  CHECK(gathered.copied);
  bench.End();
}

TEST(collector_does_not_have_two_pieces_of_pinned_memory_copied_as_one) {
  FakeDevice device;
  for (const bool apart : {false, true}) {
    RunBench bench(true, false, &device);
    SideBySide memory(MemoryKind::kPinned, nullptr);
    const BlockRef first = memory.Piece(0, apart ? 1 : 2);
    const BlockRef second = apart ? memory.Piece(1, 1) : first;
    const std::vector<Request*> chosen = {bench.requests.Add(1), bench.requests.Add(1)};
    memory.Place(&bench, chosen[0], first, 0);
    memory.Place(&bench, chosen[1], second, 1);
    bench.Begin(chosen);
    Gathered gathered;
    // The CPU reads them in place.
    CHECK(Gather(bench.run, 0, true, &gathered).ok());
    CHECK(!gathered.copied);
    const Status status = Gather(bench.run, 0, true, &gathered, MemoryKind::kPinned);
    if (apart) {
      // They must be copied, and this device has no pinned memory.
      CHECK_EQ(status.code(), Code::kUnavailable);
    } else {
      CHECK(status.ok());
      CHECK(!gathered.copied);
    }
    bench.End();
  }
}

}  // namespace tritonts::test
