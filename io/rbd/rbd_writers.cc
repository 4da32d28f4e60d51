#include "io/rbd/rbd_writers.h"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include "io/rbd/rbd_error.h"

namespace hexad::io {

namespace {

constexpr std::string_view kQuestion = "snapshots of images, 1";
constexpr std::string_view kAnswer = "snapshots were taken, 1";
// A client that has not been heard of is missed as the cluster says, there and at its images.
constexpr std::uint32_t kAsTheClusterSays = 0;

std::string_view cut_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

Error not_understood(const std::string& what) {
  return Error{ErrorCode::kUnsupported, what + " is of another version of this program",
               "Use the same version on all hosts."};
}

// Of all images at the same time, as the cluster's monitors take a second for each round of numbers
// of snapshots, and writes wait meanwhile. How it went, in the order of the images.
std::vector<Status> take_at_once(const std::vector<WrittenImage*>& images,
                                 const std::string& name) {
  std::vector<Status> taken(images.size());
  std::vector<OsThread> threads;
  threads.reserve(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto take = [&, i] { taken[i] = images[i]->take_snapshot(name); };
    Result<OsThread> thread = OsThread::start("rbd snapshot", take);
    if (thread.ok()) {
      threads.push_back(std::move(thread).value());
    } else {
      take();
    }
  }
  for (OsThread& thread : threads) thread.join();
  return taken;
}

}  // namespace

std::string SnapshotRequest::encode() const {
  std::string text = std::string(kQuestion) + "\n" + nonce + "\n" + name + "\n";
  for (const std::string& image : images) text += image + "\n";
  return text;
}

Result<SnapshotRequest> SnapshotRequest::decode(std::string_view text) {
  if (cut_line(text) != kQuestion) return not_understood("the question for a snapshot");
  SnapshotRequest request;
  request.nonce = cut_line(text);
  request.name = cut_line(text);
  while (!text.empty()) request.images.emplace_back(cut_line(text));
  if (request.name.empty() || request.images.empty()) {
    return not_understood("the question for a snapshot");
  }
  return request;
}

std::string encode_answer(const Status& status) {
  std::string text = std::string(kAnswer) + "\n";
  if (status.ok()) return text + "0\n";
  const Error& error = status.error();
  return text + std::to_string(static_cast<int>(error.code)) + "\n" + error.message + "\n" +
         error.hint;
}

Status decode_answer(std::string_view text) {
  if (cut_line(text) != kAnswer) return not_understood("the answer of the writer");
  const std::string_view number = cut_line(text);
  int code = -1;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), code);
  if (read.ec != std::errc() || code < 0 || code > static_cast<int>(ErrorCode::kFenced)) {
    return not_understood("the answer of the writer");
  }
  if (code == 0) return {};
  const std::string_view message = cut_line(text);
  return Error{static_cast<ErrorCode>(code), std::string(message), std::string(text)};
}

std::string notified_object(const std::string& image) { return "rbd_id." + image; }

RbdWriters::~RbdWriters() {
  if (thread_ == nullptr) return;
  {
    const OsLock lock(mutex_);
    ending_ = true;
  }
  asked_.notify_all();
  thread_->join();
}

void RbdWriters::add(const std::string& pool, const std::string& name, WrittenImage& image) {
  const std::string key = pool + "/" + name;
  {
    const OsLock lock(images_mutex_);
    if (thread_ == nullptr) {
      Result<OsThread> thread = OsThread::start("rbd snapshots", [this] { answer_questions(); });
      if (!thread.ok()) return;
      thread_ = std::make_unique<OsThread>(std::move(thread).value());
    }
    images_[key] = Entry{name, &image};
  }
  // Without the lock: the cluster may not answer for long. Whoever adds an image removes it later.
  Watch watch = 0;
  if (library_.rados_watch3(image.pool(), notified_object(name).c_str(), &watch,
                            &RbdWriters::notified, &RbdWriters::watch_failed, kAsTheClusterSays,
                            this) != 0) {
    return;
  }
  const OsLock lock(images_mutex_);
  images_[key].watch = watch;
  images_[key].watched = true;
}

std::optional<RbdWriters::Watch> RbdWriters::remove(const WrittenImage& image) {
  const OsLock lock(images_mutex_);
  for (auto at = images_.begin(); at != images_.end(); ++at) {
    if (at->second.image != &image) continue;
    const Entry removed = at->second;
    images_.erase(at);
    if (removed.watched) return removed.watch;
    break;
  }
  return std::nullopt;
}

void RbdWriters::end(RbdLibrary::Handle pool, Watch watch) const {
  static_cast<void>(library_.rados_unwatch2(pool, watch));
  // No call of it is under way when the pool is closed.
  static_cast<void>(library_.rados_watch_flush(cluster_));
}

// A thread of librados's, which must not wait for the cluster.
void RbdWriters::notified(void* argument, std::uint64_t notification, std::uint64_t watch,
                          std::uint64_t, void* bytes, std::size_t length) {
  RbdWriters& writers = *static_cast<RbdWriters*>(argument);
  {
    const OsLock lock(writers.mutex_);
    writers.questions_.push_back(
        {notification, watch, std::string(static_cast<const char*>(bytes), length)});
  }
  writers.asked_.notify_all();
}

void RbdWriters::answer_questions() {
  for (;;) {
    Question question;
    {
      OsLock lock(mutex_);
      asked_.wait(lock, [&]() HEXAD_REQUIRES(mutex_) { return ending_ || !questions_.empty(); });
      if (ending_) return;
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    answer(question);
  }
}

void RbdWriters::answer(const Question& question) {
  const OsLock lock(images_mutex_);
  const Entry* asked = nullptr;
  for (const auto& [name, entry] : images_) {
    if (entry.watched && entry.watch == question.watch) asked = &entry;
  }
  if (asked == nullptr) return;  // it has been closed
  const Result<SnapshotRequest> request = SnapshotRequest::decode(question.text);
  std::string text;
  if (!request.ok()) {
    text = encode_answer(request.error());
  } else if (request->nonce == last_nonce_) {
    text = last_answer_;
  } else {
    text = encode_answer(take(*request));
    last_nonce_ = request->nonce;
    last_answer_ = text;
  }
  static_cast<void>(library_.rados_notify_ack(
      asked->image->pool(), notified_object(asked->name).c_str(), question.notification,
      question.watch, text.data(), static_cast<int>(text.size())));
}

Result<std::vector<WrittenImage*>> RbdWriters::find(const std::vector<std::string>& names) const {
  std::vector<WrittenImage*> found;
  for (const std::string& name : names) {
    const auto at = images_.find(name);
    if (at == images_.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   "the process that has the pool does not have the image " + name,
                   "Name the devices of one pool."};
    }
    found.push_back(at->second.image);
  }
  return found;
}

// SG1
Status RbdWriters::take(const SnapshotRequest& request) {
  HEXAD_TRY_ASSIGN(const std::vector<WrittenImage*> images, find(request.images));
  for (WrittenImage* const image : images) image->pause();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kDrainPatience);
  Status taken;
  for (WrittenImage* const image : images) {
    if (taken.ok()) taken = image->drain(until);
  }
  std::vector<Status> each;
  if (taken.ok()) each = take_at_once(images, request.name);
  for (WrittenImage* const image : images) image->go_on();
  for (const Status& one : each) {
    if (taken.ok()) taken = one;
  }
  for (std::size_t i = 0; i < each.size() && !taken.ok(); ++i) {
    if (each[i].ok()) images[i]->drop_snapshot(request.name);
  }
  return taken;
}

}  // namespace hexad::io
