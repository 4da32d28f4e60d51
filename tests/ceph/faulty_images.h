// A system whose devices meet faults, and are anything that another system has: images of a
// cluster, or files. Their requests go the way that those of an image go (io/starter.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/device.h"
#include "io/starter.h"
#include "io/system.h"

namespace hexad::testing {

enum class Meets : std::uint8_t {
  kNothing,
  kFailure,     // kIo, and nothing is done
  kTear,        // of a write: half of it is done, and kIo
  kLostAnswer,  // of a write: it is done, and kIo
  kLostCells,   // of a write of cells: said to be done, and is not
  kHalfCells,   // of a write of cells: said to be done, and the second half of it is not
  kOtherBytes,  // of a read: the second half is not what is there
  kSilence,     // nothing until speak(); then it is done
};

// What requests of one device meet. Any thread.
class ImageFaults {
 public:
  using Answer = io::Starter::Answer;
  using Row = std::vector<io::IoRequest>;
  using Send = std::function<void(Row, Answer)>;

  // So many of them; negative: all from now on.
  void set_writes(Meets meets, int times = -1) { set(writes_, meets, times); }
  void set_reads(Meets meets, int times = -1) { set(reads_, meets, times); }
  // Nothing is met from now on, and what was kept is done.
  void speak() {
    std::vector<Kept> kept;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      writes_ = reads_ = Rule();
      kept.swap(kept_);
    }
    for (Kept& one : kept) one.send(std::move(one.row), std::move(one.answer));
  }
  // How many requests have met something.
  int met() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return met_;
  }
  int kept() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(kept_.size());
  }

  // What this row meets. One that meets silence is kept here; else the caller has it still.
  Meets meet(Row& row, Answer& answer, const Send& send) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Rule& rule = row.front().op == io::IoOp::kRead ? reads_ : writes_;
    if (rule.meets == Meets::kNothing || rule.times == 0) return Meets::kNothing;
    const bool of_cells = rule.meets == Meets::kLostCells || rule.meets == Meets::kHalfCells;
    if (of_cells && !is_of_cells(row.front())) return Meets::kNothing;
    if (rule.times > 0) --rule.times;
    ++met_;
    if (rule.meets == Meets::kSilence) {
      kept_.push_back({std::move(row), std::move(answer), send});
    }
    return rule.meets;
  }

 private:
  struct Rule {
    Meets meets = Meets::kNothing;
    int times = -1;
  };
  struct Kept {
    Row row;
    Answer answer;
    Send send;
  };

  static bool is_of_cells(const io::IoRequest& request) {
    return request.op == io::IoOp::kWrite &&
           (request.cause == io::IoCause::kUser || request.cause == io::IoCause::kParity);
  }
  void set(Rule& rule, Meets meets, int times) {
    const std::lock_guard<std::mutex> lock(mutex_);
    rule = Rule{meets, times};
  }

  mutable std::mutex mutex_;
  Rule writes_;  // guarded by it, as the rest; of flushes and discards, too
  Rule reads_;
  std::vector<Kept> kept_;
  int met_ = 0;
};

class FaultyImage final : public io::Device, private io::Starter {
 public:
  FaultyImage(std::unique_ptr<io::Device> inner, ImageFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  const io::Geometry& geometry() const override { return inner_->geometry(); }
  const std::string& name() const override { return inner_->name(); }
  io::IoQueue& queue() override { return inner_->queue(); }
  Status grow(std::uint64_t new_size) override { return inner_->grow(new_size); }
  bool direct() const override { return inner_->direct(); }
  bool read_only() const override { return inner_->read_only(); }
  Result<Room> reserve_room(std::uint64_t offset, std::uint64_t length) override {
    return inner_->reserve_room(offset, length);
  }
  io::Starter* starter() override { return this; }

 private:
  using Row = ImageFaults::Row;

  std::uint64_t longest_row() const override {
    const io::Starter* const starter = inner_->starter();
    return starter == nullptr ? 0 : starter->longest_row();
  }
  void release() override { inner_->queue().retire(*inner_); }

  void start(std::span<const io::IoRequest> requests, Answer answer) override {
    Row row(requests.begin(), requests.end());
    const auto send = [this](Row kept, Answer then) { forward(kept, std::move(then)); };
    switch (faults_.meet(row, answer, send)) {
      case Meets::kSilence:
        return;
      case Meets::kNothing:
        return forward(row, std::move(answer));
      case Meets::kFailure:
        return answer(failed());
      case Meets::kTear:
        return forward(first_half(row), [this, answer](const Status&) { answer(failed()); });
      case Meets::kLostAnswer:
        return forward(row, [this, answer](const Status&) { answer(failed()); });
      case Meets::kLostCells:
        return answer(Status());
      case Meets::kHalfCells:
        return forward(first_half(row), std::move(answer));
      case Meets::kOtherBytes:
        return forward(row, [answer, read = row.front()](Status status) {
          const std::uint64_t half = read.length / 2;
          std::memset(read.data + half, 0xA5, read.length - half);
          answer(std::move(status));
        });
    }
  }

  Error failed() const { return Error{ErrorCode::kIo, name() + ": the device failed", ""}; }

  // In whole blocks; perhaps nothing.
  Row first_half(const Row& row) const {
    std::uint64_t left = 0;
    for (const io::IoRequest& request : row) left += request.length;
    const std::uint64_t block = std::max(geometry().logical_block, geometry().physical_block);
    left = left / 2 / block * block;
    Row half;
    for (const io::IoRequest& request : row) {
      if (left == 0) break;
      half.push_back(request);
      half.back().length = std::min(left, request.length);
      left -= half.back().length;
    }
    return half;
  }

  void forward(const Row& row, Answer answer) {
    if (row.empty()) return answer(Status());
    const auto batch = std::make_shared<io::IoBatch>();
    for (const io::IoRequest& request : row) {
      io::IoRequest own;
      own.device = inner_.get();
      own.op = request.op;
      own.mode = request.mode;
      own.cause = request.cause;
      own.offset = request.offset;
      own.data = request.data;
      own.length = request.length;
      batch->requests.push_back(std::move(own));
    }
    batch->done = [batch, answer = std::move(answer)](io::IoBatch& done) {
      answer(done.first_error());
    };
    inner_->queue().submit(*batch);
  }

  const std::unique_ptr<io::Device> inner_;
  ImageFaults& faults_;
};

class FaultyImages final : public io::System {
 public:
  explicit FaultyImages(io::System& inner) : inner_(inner) {}

  // Of the device of this path, as long as the system lives.
  ImageFaults& at(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return faults_[path];
  }

  io::Executor& executor() override { return inner_.executor(); }
  io::Clock& clock() override { return inner_.clock(); }
  io::IoQueue& queue() override { return inner_.queue(); }
  std::uint64_t draw_seed() override { return inner_.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    return wrap(path, inner_.open_device(path, mode));
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    return wrap(path, inner_.create_device(path, size));
  }
  Result<std::optional<io::Holder>> holder(const std::string& path) override {
    return inner_.holder(path);
  }
  Status shut_out(const std::string& path) override { return inner_.shut_out(path); }
  bool makes_redundant(const std::string& path) override { return inner_.makes_redundant(path); }
  Status remove_created(const std::string& path) override { return inner_.remove_created(path); }

 private:
  Result<std::unique_ptr<io::Device>> wrap(const std::string& path,
                                           Result<std::unique_ptr<io::Device>> device) {
    if (!device.ok()) return device;
    return std::unique_ptr<io::Device>(
        std::make_unique<FaultyImage>(std::move(device).value(), at(path)));
  }

  io::System& inner_;
  std::mutex mutex_;
  std::map<std::string, ImageFaults> faults_;  // guarded by it
};

}  // namespace hexad::testing
