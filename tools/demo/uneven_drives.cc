#include "tools/demo/uneven_drives.h"

#include <deque>
#include <string>
#include <tuple>
#include <utility>

#include "io/rng.h"

namespace hexad::tools::demo {

namespace {

// The longest that one write is held back.
constexpr io::Nanos kDataDelay = 4'000'000;
constexpr io::Nanos kLogDelay = 200'000;
// Files of the fast tier are the small ones.
constexpr std::uint64_t kSmallestData = 512 << 20;

class UnevenQueue;

// One drive and the thread that serves it.
class UnevenDrive final : public io::Device {
 public:
  UnevenDrive(std::unique_ptr<io::Device> inner, UnevenQueue& queue, io::Executor& executor,
              std::uint64_t seed)
      : inner_(std::move(inner)),
        queue_(queue),
        executor_(executor),
        rng_(seed),
        longest_(inner_->geometry().size < kSmallestData ? kLogDelay : kDataDelay),
        mutex_(executor),
        changed_(executor),
        thread_(executor.start("uneven-drive", [this] { serve(); })) {}
  ~UnevenDrive() override {
    {
      const io::Lock lock(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    thread_->join();
  }

  const io::Geometry& geometry() const override { return inner_->geometry(); }
  const std::string& name() const override { return inner_->name(); }
  io::IoQueue& queue() override;
  Status grow(std::uint64_t new_size) override { return inner_->grow(new_size); }
  bool direct() const override { return inner_->direct(); }
  bool read_only() const override { return inner_->read_only(); }

  void enqueue(io::IoBatch& batch, io::IoRequest& request) {
    const io::Lock lock(mutex_);
    waiting_.emplace_back(&batch, &request);
    changed_.notify_all();
  }

 private:
  void serve();
  Status execute(const io::IoRequest& request);

  const std::unique_ptr<io::Device> inner_;
  UnevenQueue& queue_;
  io::Executor& executor_;
  io::Rng rng_;  // the serving thread's
  const io::Nanos longest_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::deque<std::pair<io::IoBatch*, io::IoRequest*>> waiting_;
  bool closing_ = false;
  std::unique_ptr<io::Thread> thread_;
};

class UnevenQueue final : public io::IoQueue {
 public:
  explicit UnevenQueue(io::Executor& executor) : mutex_(executor), completed_(executor) {}

  void wait(io::IoBatch& batch) override {
    io::Lock lock(mutex_);
    completed_.wait(lock, [&] { return batch.complete(); });
  }
  std::string name() const override { return "uneven drives"; }

  void complete(io::IoBatch& batch) {
    if (!finish(batch)) return;
    const io::Lock lock(mutex_);  // so that nobody has looked before and sleeps after
    completed_.notify_all();
  }

 protected:
  void submit_requests(io::IoBatch& batch) override {
    // Once the last request is handed over the batch may be gone.
    const std::size_t count = batch.requests.size();
    io::IoRequest* const requests = batch.requests.data();
    for (std::size_t i = 0; i < count; ++i) {
      requests[i].status = check(requests[i]);
      if (requests[i].status.ok()) {
        static_cast<UnevenDrive*>(requests[i].device)->enqueue(batch, requests[i]);
      } else {
        complete(batch);
      }
    }
  }

 private:
  io::Mutex mutex_;
  io::CondVar completed_;
};

io::IoQueue& UnevenDrive::queue() { return queue_; }

void UnevenDrive::serve() {
  for (;;) {
    io::IoBatch* batch = nullptr;
    io::IoRequest* request = nullptr;
    {
      io::Lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::tie(batch, request) = waiting_.front();
      waiting_.pop_front();
    }
    request->status = execute(*request);
    queue_.complete(*batch);
  }
}

Status UnevenDrive::execute(const io::IoRequest& request) {
  switch (request.op) {
    case io::IoOp::kRead:
      return inner_->read(request.offset, {request.data, request.length});
    case io::IoOp::kWrite:
      executor_.sleep_for(static_cast<io::Nanos>(rng_.below(static_cast<std::uint64_t>(longest_))));
      return inner_->write(request.offset, {request.data, request.length}, request.mode);
    case io::IoOp::kFlush:
      return inner_->flush();
    case io::IoOp::kDiscard:
      return inner_->discard(request.offset, request.length);
  }
  return {};
}

class UnevenSystem final : public io::System {
 public:
  explicit UnevenSystem(std::unique_ptr<io::System> inner)
      : inner_(std::move(inner)), queue_(inner_->executor()) {}

  io::Executor& executor() override { return inner_->executor(); }
  io::Clock& clock() override { return inner_->clock(); }
  io::IoQueue& queue() override { return queue_; }
  std::uint64_t draw_seed() override { return inner_->draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device, inner_->open_device(path, mode));
    return wrap(std::move(device));
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device, inner_->create_device(path, size));
    return wrap(std::move(device));
  }

 private:
  std::unique_ptr<io::Device> wrap(std::unique_ptr<io::Device> device) {
    return std::make_unique<UnevenDrive>(std::move(device), queue_, inner_->executor(),
                                         inner_->draw_seed());
  }

  const std::unique_ptr<io::System> inner_;
  UnevenQueue queue_;
};

}  // namespace

Result<std::unique_ptr<io::System>> make_uneven_drives() {
  HEXAD_TRY_ASSIGN(std::unique_ptr<io::System> real, io::make_real_system());
  return std::unique_ptr<io::System>(std::make_unique<UnevenSystem>(std::move(real)));
}

}  // namespace hexad::tools::demo
