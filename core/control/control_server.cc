#include "core/control/control_server.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"

namespace hexad::core {

namespace {

// So that an answer stays far below io::LineLimits::answer, with names of the greatest length.
constexpr std::uint64_t kMostEntries = 1000;

Error closing() {
  return Error{ErrorCode::kClosed, "the process is closing the store", "Ask again in a moment."};
}

}  // namespace

ControlServer::ControlServer(io::Executor& executor, ControlHolder holder, ControlWork work)
    : executor_(executor),
      holder_(std::move(holder)),
      work_(std::move(work)),
      mutex_(executor),
      changed_(executor) {}

ControlServer::~ControlServer() {
  stop();
  if (answers_ != nullptr) answers_->join();
  if (scrubs_ != nullptr) scrubs_->join();
}

Status ControlServer::start(const std::vector<std::string>& directories) {
  HEXAD_TRY_ASSIGN(answers_, executor_.try_start("hexad-answers", [this] { answer_all(); }));
  HEXAD_TRY_ASSIGN(scrubs_, executor_.try_start("hexad-scrub", [this] { scrub_all(); }));
  io::LineRefusals refusals;
  const io::LineLimits limits;
  refusals.too_long =
      reply(Error{ErrorCode::kTooBig,
                  "a question has more than " + std::to_string(limits.question) + " bytes", ""});
  refusals.stranger = reply(Error{ErrorCode::kInvalidArgument,
                                  "only the user who has the store open, and root, may ask", ""});
  HEXAD_TRY_ASSIGN(service_,
                   io::serve_lines(
                       directories, executor_,
                       [this](const std::string& line, std::shared_ptr<io::LineAnswer> answer) {
                         hear(line, std::move(answer));
                       },
                       std::move(refusals), limits));
  const io::Lock lock(mutex_);
  path_ = service_->path();
  return {};
}

std::string ControlServer::path() {
  const io::Lock lock(mutex_);
  return path_;
}

void ControlServer::stop() {
  {
    const io::Lock lock(mutex_);
    ended_ = true;
    path_.clear();
    changed_.notify_all();
  }
  if (service_ != nullptr) service_->stop();
}

std::string ControlServer::reply(const Result<std::string>& result) const {
  const io::LineLimits limits;
  std::string line = encode_reply(holder_, result);
  if (line.size() < limits.answer) return line;
  return encode_reply(holder_,
                      Error{ErrorCode::kTooBig,
                            "the answer has more than " + std::to_string(limits.answer) + " bytes",
                            "Ask for less at once."});
}

void ControlServer::hear(std::string_view line, std::shared_ptr<io::LineAnswer> answer) {
  Result<ControlRequest> request = decode_request(line);
  if (!request.ok()) return answer->send(reply(request.error()));
  const std::string& ask = request->ask;
  if (ask == "hello") return answer->send(reply(std::string("{}")));
  if (ask == "status") return answer->send(reply(encode_status(work_.status())));
  if (ask == "scrub start") return answer->send(reply(start_scrub(*request)));
  if (ask == "scrub stop") return answer->send(reply(stop_scrub()));
  if (ask == "scrub status") return answer->send(reply(show_scrub()));
  const io::Lock lock(mutex_);
  questions_.push_back({std::move(request).value(), std::move(answer)});
  changed_.notify_all();
}

void ControlServer::answer_all() {
  io::Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended() || !questions_.empty(); });
    if (ended()) break;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    if (question.answer->wanted()) {
      const Result<std::string> found =
          without_bad_alloc([&]() -> Result<std::string> { return find_out(question); });
      question.answer->send(reply(found));
    }
    lock.lock();
  }
  questions_.clear();
}

Result<std::string> ControlServer::find_out(const Question& question) {
  const ControlRequest& request = question.request;
  if (request.ask == "space") {
    HEXAD_TRY_ASSIGN(const SpaceUsage space,
                     work_.space([&] { return !ended() && question.answer->wanted(); }));
    return encode_space(space);
  }
  if (request.ask == "room") {
    HEXAD_TRY_ASSIGN(const ObjectRoom room, work_.room_for(request.object_size));
    return encode_room(room);
  }
  if (request.ask == "counters") return encode_counters(work_.counters());
  if (request.ask == "list") {
    const ListOptions options{request.prefix, request.after, request.delimiter,
                              std::min(request.limit, kMostEntries), request.reverse};
    HEXAD_TRY_ASSIGN(const ListPage page, work_.list(request.collection, options));
    return encode_page(page);
  }
  if (request.ask == "look") {
    HEXAD_TRY_ASSIGN(const ObjectLook look,
                     work_.look(request.collection, request.name, request.ranges));
    return encode_look(look);
  }
  if (request.ask == "collections") {
    HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> collections, work_.collections());
    return encode_collections(collections);
  }
  return Error{
      ErrorCode::kUnsupported, "the control socket does not know this question",
      "It knows: hello, status, space, room, counters, list, look, collections, scrub start, "
      "scrub stop, scrub status."};
}

Result<std::string> ControlServer::start_scrub(const ControlRequest& request) {
  const io::Lock lock(mutex_);
  if (ended()) return closing();
  if (scrub_.running) {
    return Error{ErrorCode::kAlreadyExists, "a scrub is running already",
                 "hexad scrub status shows how far it is, hexad scrub stop ends it."};
  }
  ScrubOptions options;
  options.rate = request.rate;
  options.from = request.from;
  wanted_ = options;
  const std::uint64_t began = scrub_.began + 1;
  scrub_ = {};
  scrub_.running = true;
  scrub_.began = began;
  scrub_since_ = executor_.clock().now();
  stop_scrub_ = false;
  changed_.notify_all();
  return encode_scrub(scrub_);
}

Result<std::string> ControlServer::stop_scrub() {
  const io::Lock lock(mutex_);
  if (!scrub_.running) {
    return Error{ErrorCode::kNotFound, "no scrub is running that was asked for here",
                 "hexad scrub start begins one."};
  }
  stop_scrub_ = true;
  return encode_scrub(scrub_);
}

std::string ControlServer::show_scrub() {
  const io::Lock lock(mutex_);
  return encode_scrub(scrub_);
}

std::optional<JobStatus> ControlServer::scrub_status() {
  const io::Lock lock(mutex_);
  if (scrub_.began == 0) return std::nullopt;
  JobStatus job;
  job.name = "scrub";
  job.purpose = "reading every cell";
  job.running = scrub_.running;
  if (scrub_.running) {
    job.seconds = static_cast<double>(executor_.clock().now() - scrub_since_) / 1e9;
    job.done = std::min(scrub_.report.bytes_checked, scrub_.report.bytes_expected);
    job.total = scrub_.report.bytes_expected;
    job.unit = "bytes";
  }
  job.steps = scrub_.began;
  job.problem = scrub_.failure;
  return job;
}

void ControlServer::scrub_all() {
  io::Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended() || wanted_.has_value(); });
    if (ended()) return;
    const ScrubOptions options = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    scrub_once(options);
    lock.lock();
  }
}

void ControlServer::scrub_once(const ScrubOptions& options) {
  // Findings beyond the first ones are counted alone.
  const auto show = [this](const ScrubReport& report) {
    scrub_.report.stripes_checked = report.stripes_checked;
    scrub_.report.bytes_checked = report.bytes_checked;
    scrub_.report.bytes_expected = report.bytes_expected;
    scrub_.report.next = report.next;
    scrub_.errors = report.errors();
    scrub_.repaired = report.findings.size() - scrub_.errors;
    std::vector<Finding>& kept = scrub_.report.findings;
    const std::size_t count = std::min(report.findings.size(), kMaxControlFindings);
    kept.insert(kept.end(), report.findings.begin() + static_cast<std::ptrdiff_t>(kept.size()),
                report.findings.begin() + static_cast<std::ptrdiff_t>(count));
  };
  ScrubOptions watched = options;
  watched.progress = [&](const ScrubReport& report) {
    const io::Lock lock(mutex_);
    show(report);
    return !ended() && !stop_scrub_.load();
  };
  const Result<ScrubReport> report =
      without_bad_alloc([&]() -> Result<ScrubReport> { return work_.scrub(watched); });
  const io::Lock lock(mutex_);
  if (report.ok()) {
    show(*report);
  } else {
    scrub_.failure = report.error().to_string();
  }
  scrub_.running = false;
}

}  // namespace hexad::core
