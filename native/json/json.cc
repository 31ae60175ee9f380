#include "json/json.h"

#include <charconv>
#include <utility>

namespace tritonts {

namespace {

constexpr int kDeepest = 100;

bool IsDigit(char one) {
  return one >= '0' && one <= '9';
}

void AppendUtf8(uint32_t point, std::string* to) {
  const auto add = [&](uint32_t byte) { to->push_back(static_cast<char>(byte)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3f));
  } else {
    add(0xf0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3f));
    add(0x80 | (point >> 6 & 0x3f));
  }
  add(0x80 | (point & 0x3f));
}

}  // namespace

// Reads one text from the front. Each function returns whether what it reads is there.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  bool Whole(Json* value) {
    if (!Value(value, 0)) return false;
    SkipSpace();
    return at_ == text_.size();
  }
  size_t at() const { return at_; }

 private:
  bool Value(Json* value, int depth) {
    SkipSpace();
    if (depth > kDeepest || at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        return Items(value, '}', Json::Kind::kObject, depth);
      case '[':
        return Items(value, ']', Json::Kind::kList, depth);
      case '"':
        value->kind_ = Json::Kind::kText;
        return Text(&value->text_);
      case 't':
        value->kind_ = Json::Kind::kTrue;
        return Word("true");
      case 'f':
        value->kind_ = Json::Kind::kFalse;
        return Word("false");
      case 'n':
        return Word("null");
      default:
        value->kind_ = Json::Kind::kNumber;
        return Number(&value->text_);
    }
  }

  // The elements of an array or the members of an object, with the brackets.
  bool Items(Json* value, char close, Json::Kind kind, int depth) {
    value->kind_ = kind;
    at_++;
    if (Is(close)) return true;
    do {
      if (kind == Json::Kind::kObject) {
        SkipSpace();
        if (!Text(&value->names_.emplace_back()) || !Is(':')) return false;
      }
      if (!Value(&value->items_.emplace_back(), depth + 1)) return false;
    } while (Is(','));
    return Is(close);
  }

  bool Text(std::string* text) {
    if (at_ == text_.size() || text_[at_] != '"') return false;
    for (at_++; at_ < text_.size(); at_++) {
      const char one = text_[at_];
      if (one == '"') {
        at_++;
        return true;
      }
      if (static_cast<unsigned char>(one) < 0x20) return false;
      if (one != '\\') {
        text->push_back(one);
      } else if (!Escape(text)) {
        return false;
      }
    }
    return false;
  }

  // What follows a backslash; `at_` then is at its last character.
  bool Escape(std::string* text) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (++at_ == text_.size()) return false;
    if (const size_t known = kNames.find(text_[at_]); known != std::string_view::npos) {
      text->push_back(kMeanings[known]);
      return true;
    }
    uint32_t point = 0;
    if (text_[at_] != 'u' || !Unit(&point)) return false;
    if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
      at_ += 2;
      uint32_t low = 0;
      if (!Unit(&low) || low < 0xdc00 || low > 0xdfff) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point >= 0xd800 && point < 0xe000) return false;
    AppendUtf8(point, text);
    return true;
  }

  // Four hexadecimal digits.
  bool Unit(uint32_t* unit) {
    const std::string_view digits = text_.substr(at_ + 1, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), *unit, 16);
    at_ += digits.size();
    return digits.size() == 4 && read.ptr == digits.data() + 4;
  }

  bool Number(std::string* text) {
    const size_t begin = at_;
    if (text_[at_] == '-') at_++;
    const size_t first = at_;
    if (!Digits() || (text_[first] == '0' && at_ > first + 1)) return false;
    if (at_ < text_.size() && text_[at_] == '.') {
      at_++;
      if (!Digits()) return false;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
      if (!Digits()) return false;
    }
    *text = text_.substr(begin, at_ - begin);
    return true;
  }

  bool Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) at_++;
    return at_ > begin;
  }

  bool Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Is(char one) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != one) return false;
    at_++;
    return true;
  }

  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      at_++;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

StatusOr<Json> Json::Parse(std::string_view text) {
  Json value;
  JsonReader reader(text);
  if (reader.Whole(&value)) return value;
  return Status::InvalidArg("expected JSON, at most " + std::to_string(kDeepest) +
                            " levels deep, but received none from byte " +
                            std::to_string(reader.at()) + " on");
}

const Json& Json::Member(std::string_view name) const {
  // Never destroyed, because threads may outlive static destructors.
  static const auto* const none = new Json();
  for (size_t i = names_.size(); i-- > 0;) {
    if (names_[i] == name) return items_[i];
  }
  return *none;
}

std::optional<int64_t> Json::integer() const {
  if (kind_ != Kind::kNumber) return std::nullopt;
  int64_t value = 0;
  const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (read.ec != std::errc() || read.ptr != text_.data() + text_.size()) return std::nullopt;
  return value;
}

}  // namespace tritonts
