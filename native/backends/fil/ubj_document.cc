// Reads UBJSON, as far as XGBoost writes it: all numbers are big-endian, objects have no counts,
// and arrays may have a count, or a count and one type for all elements.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "document.h"
#include "refusal.h"

namespace tritonts::fil {

namespace {

template <size_t bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = uint8_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint64_t;
};

// The value of these bytes. Compilers make one instruction of the loop.
template <typename T>
T BigEndian(const char* bytes) {
  using Word = typename WordOf<sizeof(T)>::Type;
  uint64_t word = 0;
  for (size_t i = 0; i < sizeof(T); i++) {
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return std::bit_cast<T>(static_cast<Word>(word));
}

// The size of an element of an array with this type for all; 0 if its elements have no fixed size.
size_t SizeOf(char type) {
  switch (type) {
    case 'i':
    case 'U':
    case 'C':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

// The type that holds the values of T as they are.
template <typename T>
constexpr char TypeOf() {
  if (std::is_same_v<T, float>) return 'd';
  if (std::is_same_v<T, int32_t>) return 'l';
  return std::is_same_v<T, int64_t> ? 'L' : 'U';
}

class UbjDocument final : public Document {
 public:
  explicit UbjDocument(std::string_view bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  void BeginObject() override {
    if (Mark("an object") != '{') Expected("an object ('{')");
    EnterObject();
  }

  bool NextMember(std::string* name) override {
    if (Byte("a name or the end of an object ('}')") == '}') {
      levels_.pop_back();
      return false;
    }
    at_--;
    *name = Bytes("the length of a name");
    levels_.back().name = *name;
    return true;
  }

  void BeginArray() override {
    if (Mark("an array") != '[') Expected("an array ('[')");
    EnterArray();
  }

  bool NextElement() override {
    Level& level = levels_.back();
    bool ended = level.left == 0;
    if (level.left < 0) {
      ended = Byte("an element or the end of an array (']')") == ']';
      if (!ended) at_--;
    }
    if (ended) {
      levels_.pop_back();
      return false;
    }
    if (level.left > 0) level.left--;
    level.index++;
    return true;
  }

  std::string Text() override {
    if (Mark("a string") != 'S') Expected("a string ('S')");
    return Bytes("the length of a string");
  }

  void Read(std::vector<float>* numbers) override { ReadArray(numbers); }
  void Read(std::vector<int32_t>* numbers) override { ReadArray(numbers); }
  void Read(std::vector<int64_t>* numbers) override { ReadArray(numbers); }
  void Read(std::vector<uint8_t>* numbers) override { ReadArray(numbers); }

  void End() override {
    if (at_ != end_) {
      Refuse("expected the end of the UBJSON document, but byte " + std::to_string(at_ - begin_) +
             " and others follow");
    }
  }

 protected:
  void SkipOrBegin() override {
    const char type = Mark("a value");
    if (type == '{') return EnterObject();
    if (type == 'S') return Pass(Length("the length of a string"));
    if (type == 'T' || type == 'F' || type == 'Z') return;
    if (type != '[') {
      if (SizeOf(type) == 0) Expected("a value");
      return Pass(SizeOf(type));
    }
    EnterArray();
    Level& level = levels_.back();
    if (level.type != 0 && SizeOf(level.type) > 0) {
      at_ += static_cast<size_t>(level.left) * SizeOf(level.type);  // EnterArray checked it
      levels_.pop_back();
    }
  }

 private:
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  [[noreturn]] void Expected(const std::string& what) {
    if (at_ == begin_) Ended(what);
    Refuse(Place() + ": expected " + what + ", but byte " + std::to_string(at_ - begin_ - 1) +
           " has " + Shown({at_ - 1, 1}));
  }
  [[noreturn]] void Ended(const std::string& what) {
    Refuse(Place() + ": expected " + what + ", but the file ends after " +
           std::to_string(end_ - begin_) + " bytes");
  }

  char Byte(const char* what) {
    if (at_ == end_) Ended(what);
    return *at_++;
  }

  // The type of the next value.
  char Mark(const char* what) {
    if (!levels_.empty() && levels_.back().type != 0) return levels_.back().type;
    return Byte(what);
  }

  void Pass(size_t bytes) {
    if (bytes > left()) Ended(std::to_string(bytes) + " more bytes");
    at_ += bytes;
  }

  template <typename T>
  T Value() {
    if (left() < sizeof(T)) Ended("a number of " + std::to_string(sizeof(T)) + " bytes");
    at_ += sizeof(T);
    return BigEndian<T>(at_ - sizeof(T));
  }

  // A count, with its type in front.
  size_t Length(const char* what) {
    int64_t length = -1;
    switch (Byte(what)) {
      case 'i':
        length = Value<int8_t>();
        break;
      case 'U':
        length = Value<uint8_t>();
        break;
      case 'I':
        length = Value<int16_t>();
        break;
      case 'l':
        length = Value<int32_t>();
        break;
      case 'L':
        length = Value<int64_t>();
        break;
      default:
        Expected(std::string(what) + " (one of 'i', 'U', 'I', 'l', 'L')");
    }
    if (length < 0) Refuse(Place() + ": " + what + " is " + std::to_string(length));
    // Every element and every character takes a byte at least.
    if (static_cast<uint64_t>(length) > left()) {
      Refuse(Place() + ": " + what + " is " + std::to_string(length) + ", but only " +
             std::to_string(left()) + " bytes follow");
    }
    return static_cast<size_t>(length);
  }

  std::string Bytes(const char* what) {
    const size_t length = Length(what);
    at_ += length;
    return {at_ - length, length};
  }

  void EnterObject() {
    Push(true);
    if (at_ != end_ && (*at_ == '$' || *at_ == '#')) {
      at_++;
      Expected("an object without a count");
    }
  }

  // Reads the type and the count of an array, if it has them.
  void EnterArray() {
    Push(false);
    Level& level = levels_.back();
    if (at_ != end_ && *at_ == '$') {
      at_++;
      level.type = Byte("the type of an array");
      // Values without any bytes would let a few bytes stand for any number of them.
      if (SizeOf(level.type) == 0 && level.type != 'S' && level.type != '{' && level.type != '[') {
        Expected("the type of an array");
      }
      if (at_ == end_ || *at_ != '#') {
        Byte("the count of an array ('#')");
        Expected("the count of an array ('#')");
      }
    }
    if (at_ == end_ || *at_ != '#') return;
    at_++;
    level.left = static_cast<int64_t>(Length("the count of an array"));
    const size_t size = SizeOf(level.type);
    if (size > 1 && static_cast<size_t>(level.left) > left() / size) {
      Refuse(Place() + ": the array has " + std::to_string(level.left) + " elements of " +
             std::to_string(size) + " bytes, but only " + std::to_string(left()) + " bytes follow");
    }
  }

  template <typename T>
  void ReadArray(std::vector<T>* numbers) {
    numbers->clear();
    BeginArray();
    const Level level = levels_.back();
    if (level.type == TypeOf<T>()) {
      const auto count = static_cast<size_t>(level.left);
      numbers->resize(count);
      for (size_t i = 0; i < count; i++) (*numbers)[i] = BigEndian<T>(at_ + i * sizeof(T));
      at_ += count * sizeof(T);
      levels_.pop_back();
      return;
    }
    if (level.left > 0) numbers->reserve(static_cast<size_t>(level.left));
    while (NextElement()) numbers->push_back(Number<T>());
  }

  template <typename T>
  T Number() {
    switch (Mark("a number")) {
      case 'i':
        return Fitting<T>(Value<int8_t>());
      case 'U':
        return Fitting<T>(Value<uint8_t>());
      case 'I':
        return Fitting<T>(Value<int16_t>());
      case 'l':
        return Fitting<T>(Value<int32_t>());
      case 'L':
        return Fitting<T>(Value<int64_t>());
      case 'd':
        return FromReal<T>(Value<float>());
      case 'D':
        return FromReal<T>(Value<double>());
      case 'T':
        return T{1};
      case 'F':
        return T{0};
      default:
        Expected("a number");
    }
  }

  template <typename T>
  T Fitting(int64_t value) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value);
    } else {
      if (value < int64_t{std::numeric_limits<T>::min()} ||
          value > int64_t{std::numeric_limits<T>::max()}) {
        Refuse(Place() + ": expected a number of " + std::to_string(8 * sizeof(T)) + " bits, but " +
               std::to_string(value) + " came");
      }
      return static_cast<T>(value);
    }
  }

  template <typename T>
  T FromReal(double value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::abs(value) > std::numeric_limits<T>::max()) {
        return static_cast<T>(std::copysign(std::numeric_limits<T>::infinity(), value));
      }
      return static_cast<T>(value);
    } else {
      Refuse(Place() + ": expected a whole number, but " + std::to_string(value) + " came");
    }
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace

std::unique_ptr<Document> MakeUbjDocument(std::string_view bytes) {
  return std::make_unique<UbjDocument>(bytes);
}

}  // namespace tritonts::fil
