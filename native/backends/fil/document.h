// A document of nested names and values, read from front to back, without ever holding all of it.
// XGBoost writes the same document as JSON and as UBJSON.
//
//   document->BeginObject();
//   for (std::string name; document->NextMember(&name);) { ... one call that reads the value ... }
//
// Everything throws a Refusal where the document has another kind of value, or is malformed. One
// thread may use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tritonts::fil {

class Document {
 public:
  virtual ~Document() = default;

  // Enters the object or array that comes next. NextMember and NextElement return false at its end,
  // and leave it.
  virtual void BeginObject() = 0;
  virtual bool NextMember(std::string* name) = 0;
  virtual void BeginArray() = 0;
  virtual bool NextElement() = 0;

  virtual std::string Text() = 0;
  // Replace the content by an array of numbers. Truth values count as 0 and 1.
  virtual void Read(std::vector<float>* numbers) = 0;
  virtual void Read(std::vector<int32_t>* numbers) = 0;
  virtual void Read(std::vector<int64_t>* numbers) = 0;
  virtual void Read(std::vector<uint8_t>* numbers) = 0;
  // Passes over a value of any kind.
  void Skip();
  // Nothing may follow.
  virtual void End() = 0;

  // The place in the document that was read last, such as learner.trees[3].left_children.
  std::string Place() const;

 protected:
  struct Level {
    bool is_object = false;
    char type = 0;       // UBJSON: of each element; 0: elements say their own
    int64_t left = -1;   // UBJSON: the elements that are still to come; -1: until the end is marked
    int64_t index = -1;  // arrays
    std::string name;    // objects
  };

  // Passes over a value, or enters it.
  virtual void SkipOrBegin() = 0;
  // Levels are limited, because a malformed document may have any number of them.
  void Push(bool is_object);

  std::vector<Level> levels_;
};

// Documents borrow the bytes.
std::unique_ptr<Document> MakeJsonDocument(std::string_view bytes);
std::unique_ptr<Document> MakeUbjDocument(std::string_view bytes);

}  // namespace tritonts::fil
