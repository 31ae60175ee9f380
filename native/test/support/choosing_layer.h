// A layer that does everything a layer may, for tests: it sees, answers, keeps and passes on.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>

#include "engine/request/layer.h"
#include "engine_fixture.h"

namespace tritonts::test {

// The first float of a request's input 0 decides:
//   below 100        it is passed on
//   100 to 199       it is answered at once, with the double of its floats
//   200 to 299       it is kept until a thread of the layer answers it the same way
//   300 and more     it is kept until a thread of the layer passes it on
// The thread goes on with kept requests when Open was called.
class ChoosingLayer final : public Layer {
 public:
  // What the layer saw: names in the order in which it saw them. Layers of one chain share a log.
  struct Log {
    std::mutex mutex;
    std::vector<std::string> entries;
    void Add(std::string entry) {
      std::lock_guard lock(mutex);
      entries.push_back(std::move(entry));
    }
    std::vector<std::string> all() {
      std::lock_guard lock(mutex);
      return entries;
    }
  };

  ChoosingLayer(std::string name, std::shared_ptr<Log> log, bool open = true)
      : name_(std::move(name)), log_(std::move(log)), open_(open), thread_([this] { Work(); }) {}
  ~ChoosingLayer() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override {
    std::vector<Request*> passed;
    std::vector<Request*> answered;
    {
      std::lock_guard lock(mutex_);
      for (Request* request : requests) {
        log_->Add(name_ + " takes " + NumberOf(*request));
        const float first = FloatsOfRequest(*request).front();
        if (first < 100) {
          passed.push_back(request);
        } else if (first < 200) {
          answered.push_back(request);
        } else {
          kept_.push_back(request);
        }
      }
    }
    changed_.notify_all();
    Pass(passed, now_ns, inline_time);
    for (Request* request : answered) AnswerDouble(request);
  }
  void Cancel(std::span<Request* const> requests) noexcept override {
    std::vector<Request*> mine;
    std::vector<Request*> others;
    {
      std::lock_guard lock(mutex_);
      for (Request* request : requests) {
        const auto found = std::find(kept_.begin(), kept_.end(), request);
        (found == kept_.end() ? others : mine).push_back(request);
        if (found != kept_.end()) kept_.erase(found);
      }
    }
    Fail(mine, Status::Cancelled("cancelled in the layer"));
    PassCancel(others);
  }
  void See(std::span<const Response> responses) noexcept override {
    for (const Response& response : responses) {
      log_->Add(name_ + " sees " + NumberOf(*response.request) +
                (response.status.ok() ? "" : " fail"));
    }
  }
  void Abort(const Status& status) noexcept override {
    std::vector<Request*> mine;
    {
      std::lock_guard lock(mutex_);
      mine.assign(kept_.begin(), kept_.end());
      kept_.clear();
    }
    Fail(mine, status);
  }

  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  size_t kept() {
    std::lock_guard lock(mutex_);
    return kept_.size();
  }

 private:
  static std::vector<float> FloatsOfRequest(const Request& request) {
    const Buffer chunk = request.chunk(*request.input(0));
    std::vector<float> floats(chunk.size / sizeof(float));
    std::memcpy(floats.data(), chunk.data, floats.size() * sizeof(float));
    return floats;
  }
  static std::string NumberOf(const Request& request) {
    return std::to_string(request.header->slot) + "." + std::to_string(request.position);
  }
  void AnswerDouble(Request* request) {
    std::vector<float> floats = FloatsOfRequest(*request);
    for (float& value : floats) value *= 2;
    const int64_t tail[] = {1};
    OutputTensor output;
    output.datatype = DataType::kFp32;
    output.batch = static_cast<int64_t>(floats.size());
    output.tail = tail;
    output.data = floats.data();
    output.size = floats.size() * sizeof(float);
    Response response;
    response.request = request;
    response.outputs = {&output, 1};
    Answer({&response, 1});
  }
  void Fail(const std::vector<Request*>& requests, const Status& status) {
    for (Request* request : requests) {
      Response response;
      response.request = request;
      response.status = status;
      Answer({&response, 1});
    }
  }
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || (open_ && !kept_.empty()); });
      if (stop_) return;
      Request* const request = kept_.front();
      kept_.pop_front();
      lock.unlock();
      if (FloatsOfRequest(*request).front() < 300) {
        AnswerDouble(request);
      } else {
        Request* const one[] = {request};
        Pass(one, NowNs());
      }
      lock.lock();
    }
  }

  const std::string name_;
  const std::shared_ptr<Log> log_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Request*> kept_;
  bool open_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tritonts::test
