// Reads JSON. XGBoost also writes the words NaN, Infinity and -Infinity.
#include <algorithm>
#include <charconv>
#include <type_traits>

#include "document.h"
#include "read_number.h"
#include "refusal.h"

namespace tritonts::fil {

namespace {

class JsonDocument final : public Document {
 public:
  explicit JsonDocument(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  void BeginObject() override {
    if (!Take('{')) Expected("an object");
    Push(true);
  }

  bool NextMember(std::string* name) override {
    if (!Next('}')) return false;
    *name = String("a name");
    levels_.back().name = *name;
    if (!Take(':')) Expected("':' after the name");
    return true;
  }

  void BeginArray() override {
    if (!Take('[')) Expected("an array");
    Push(false);
  }

  bool NextElement() override { return Next(']'); }

  std::string Text() override { return String("a string"); }

  void Read(std::vector<float>* numbers) override { ReadArray(numbers, "a number"); }
  void Read(std::vector<int32_t>* numbers) override {
    ReadArray(numbers, "a whole number of 32 bits");
  }
  void Read(std::vector<int64_t>* numbers) override {
    ReadArray(numbers, "a whole number of 64 bits");
  }
  void Read(std::vector<uint8_t>* numbers) override {
    ReadArray(numbers, "a whole number from 0 to 255, or a truth value");
  }

  void End() override {
    SkipSpace();
    if (at_ != end_) {
      Refuse("expected the end of the JSON document, but byte " + std::to_string(at_ - begin_) +
             " has " + Rest());
    }
  }

 protected:
  void SkipOrBegin() override {
    SkipSpace();
    if (at_ == end_) Expected("a value");
    if (*at_ == '{') return BeginObject();
    if (*at_ == '[') {
      if (!SkipNumbers()) BeginArray();
      return;
    }
    if (*at_ == '"') return SkipString();
    double number = 0;
    bool truth = false;
    if (TakeWord("null") || TakeTruth(&truth)) return;
    if (const char* next = ReadReal(at_, end_, &number)) {
      at_ = next;
    } else {
      Expected("a value");
    }
  }

 private:
  [[noreturn]] void Expected(const std::string& what) {
    Refuse(Place() + ": expected " + what + ", but byte " + std::to_string(at_ - begin_) + " has " +
           Rest());
  }
  std::string Rest() const {
    if (at_ == end_) return "the end of the file";
    constexpr int64_t kShown = 16;
    return Shown({at_, static_cast<size_t>(std::min<int64_t>(kShown, end_ - at_))});
  }

  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) at_++;
  }

  bool Take(char one) {
    SkipSpace();
    if (at_ == end_ || *at_ != one) return false;
    at_++;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool TakeTruth(bool* value) {
    *value = TakeWord("true");
    return *value || TakeWord("false");
  }

  // Whether a member or an element follows. Otherwise leaves the object or array.
  bool Next(char close) {
    const bool is_first = ++levels_.back().index == 0;
    if (Take(close)) {
      levels_.pop_back();
      return false;
    }
    if (!is_first && !Take(',')) Expected(std::string("',' or '") + close + "'");
    return true;
  }

  template <typename T>
  void ReadArray(std::vector<T>* numbers, const char* expected) {
    numbers->clear();
    BeginArray();
    while (Next(']')) {
      SkipSpace();
      T number = 0;
      const char* next = nullptr;
      bool truth = false;
      if constexpr (std::is_floating_point_v<T>) {
        next = ReadReal(at_, end_, &number);
      } else {
        const auto read = std::from_chars(at_, end_, number);
        if (read.ec == std::errc()) next = read.ptr;
      }
      if (next != nullptr) {
        at_ = next;
      } else if (TakeTruth(&truth)) {
        number = static_cast<T>(truth);
      } else {
        Expected(expected);
      }
      numbers->push_back(number);
    }
  }

  // Passes over an array of nothing but numbers; false, and nowhere, if this is another one.
  bool SkipNumbers() {
    for (const char* at = at_ + 1; at != end_; at++) {
      const char one = *at;
      if (one == ']') {
        at_ = at + 1;
        return true;
      }
      if (!((one >= '+' && one <= '9' && one != '/') || one == 'E' || one == 'e' || one == ' ')) {
        return false;
      }
    }
    return false;
  }

  std::string String(const char* expected) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (!Take('"')) Expected(expected);
    std::string text;
    while (true) {
      const char* begin = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\') at_++;
      text.append(begin, at_);
      if (at_ == end_) Expected("the end of a string");
      if (*at_++ == '"') return text;
      if (at_ == end_) Expected("the end of a string");
      const size_t known = kNames.find(*at_);
      if (known != std::string_view::npos) {
        text += kMeanings[known];
        at_++;
      } else {
        text += Unit();
      }
    }
  }

  // The character of an escape such as u0041. Only ASCII: no text that is looked at has others.
  char Unit() {
    constexpr int64_t kLength = 5;
    unsigned unit = 0;
    const auto read = end_ - at_ < kLength || *at_ != 'u'
                          ? std::from_chars_result{at_, std::errc::invalid_argument}
                          : std::from_chars(at_ + 1, at_ + kLength, unit, 16);
    if (read.ec != std::errc() || read.ptr != at_ + kLength) Expected("a known escape in a string");
    at_ += kLength;
    return unit < 0x80 ? static_cast<char>(unit) : '?';
  }

  void SkipString() {
    for (at_++; at_ != end_ && *at_ != '"'; at_++) {
      if (*at_ == '\\' && ++at_ == end_) break;
    }
    if (at_ == end_) Expected("the end of a string");
    at_++;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace

std::unique_ptr<Document> MakeJsonDocument(std::string_view bytes) {
  return std::make_unique<JsonDocument>(bytes);
}

}  // namespace tritonts::fil
