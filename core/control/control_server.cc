#include "core/control/control_server.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "core/control/control_places.h"

namespace hexad::core {

namespace {

// So that an answer stays far below io::LineLimits::answer, with names of the greatest length.
constexpr std::uint64_t kMostEntries = 1000;

Result<std::string> encode(const Result<ControlScrub>& scrub) {
  HEXAD_TRY(scrub.status());
  return encode_scrub(*scrub);
}

Error unknown_question() {
  return Error{
      ErrorCode::kUnsupported, "the control socket does not know this question",
      "It knows: hello, status, space, room, counters, list, look, collections, damage, damage "
      "acknowledge, damage acknowledge all, device online, device add, device add-fast, "
      "device replace, device drain, device undrain, device remove, device clear-errors, scrub "
      "start, scrub pause, scrub resume, scrub stop, scrub status."};
}

}  // namespace

ControlServer::ControlServer(io::Executor& executor, ControlHolder holder, ControlWork work)
    : executor_(executor),
      holder_(std::move(holder)),
      work_(std::move(work)),
      scrub_(executor, work_.scrub),
      mutex_(executor),
      changed_(executor) {}

ControlServer::~ControlServer() {
  stop();
  if (answers_ != nullptr) answers_->join();
}

Status ControlServer::start(const std::vector<std::string>& directories) {
  HEXAD_TRY_ASSIGN(answers_, executor_.try_start("hexad-answers", [this] { answer_all(); }));
  HEXAD_TRY(scrub_.launch());
  io::LineRefusals refusals;
  const io::LineLimits limits;
  refusals.too_long =
      reply(Error{ErrorCode::kTooBig,
                  "a question has more than " + std::to_string(limits.question) + " bytes", ""});
  refusals.other_user = reply(Error{ErrorCode::kInvalidArgument,
                                    "only the user who has the store open, and root, may ask", ""});
  // Beside the index, and in what the users' processes share: the fast device may be removed, or
  // replaced, and then others look for the socket elsewhere.
  std::vector<std::string> beside;
  std::vector<std::string> shared;
  for (const std::string& directory : directories) {
    (user_of_place(directory).has_value() ? shared : beside).push_back(directory);
  }
  Error refused;
  for (const std::vector<std::string>& places : {beside, shared}) {
    if (places.empty()) continue;
    Result<std::unique_ptr<io::LineService>> service = io::serve_lines(
        places, executor_,
        [this](const std::string& line, std::shared_ptr<io::LineAnswer> answer) {
          hear(line, std::move(answer));
        },
        refusals, limits);
    if (service.ok()) {
      services_.push_back(std::move(service).value());
    } else if (refused.message.empty()) {
      refused = service.error();
    } else {
      refused.message += "; " + service.error().message;
    }
  }
  if (services_.empty()) return refused;
  const io::Lock lock(mutex_);
  for (const std::unique_ptr<io::LineService>& service : services_) {
    paths_.push_back(service->path());
  }
  refused_ = refused.message;
  return {};
}

std::size_t ControlServer::waiting() {
  const io::Lock lock(mutex_);
  return questions_.size();
}

std::vector<std::string> ControlServer::paths() {
  const io::Lock lock(mutex_);
  return paths_;
}

std::string ControlServer::refused() {
  const io::Lock lock(mutex_);
  return refused_;
}

void ControlServer::stop() {
  {
    const io::Lock lock(mutex_);
    ended_ = true;
    paths_.clear();
    changed_.notify_all();
  }
  scrub_.end();
  for (const std::unique_ptr<io::LineService>& service : services_) service->stop();
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
  if (ask == "scrub start") {
    return answer->send(reply(encode(scrub_.start(request->rate, request->from))));
  }
  if (ask == "scrub pause") return answer->send(reply(encode(scrub_.pause())));
  if (ask == "scrub resume") return answer->send(reply(encode(scrub_.resume(request->rate))));
  if (ask == "scrub stop") return answer->send(reply(encode(scrub_.stop())));
  if (ask == "scrub status") return answer->send(reply(encode_scrub(scrub_.show())));
  const io::Lock lock(mutex_);
  // Who has gone has left a question, and must leave nothing (CS3).
  std::erase_if(questions_, [](const Question& one) { return !one.answer->wanted(); });
  questions_.push_back({std::move(request).value(), std::move(answer)});
  changed_.notify_all();
}

void ControlServer::answer_all() {
  io::Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) { return ended() || !questions_.empty(); });
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
                     work_.space(request.breakdown ? SpaceDetail::kBreakdown : SpaceDetail::kTotals,
                                 [&] { return !ended() && question.answer->wanted(); }));
    return encode_space(space);
  }
  if (request.ask == "cache size") {
    if (!request.cache_size.has_value()) {
      return Error{ErrorCode::kInvalidArgument, request.ask + ": no size is named", ""};
    }
    HEXAD_TRY(work_.set_cache_size(*request.cache_size));
    return std::string("{}");
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
                     work_.look(request.collection, request.name,
                                request.ranges ? LookFor::kStatAndRanges : LookFor::kStat));
    return encode_look(look);
  }
  if (request.ask == "collections") {
    HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> collections, work_.collections());
    return encode_collections(collections);
  }
  const auto go_on = [&] { return !ended() && question.answer->wanted(); };
  if (request.ask == "damage") {
    HEXAD_TRY_ASSIGN(const std::vector<Damage> damage, work_.damage(go_on));
    return encode_damage_list(damage);
  }
  if (request.ask == "damage acknowledge" || request.ask == "damage acknowledge all") {
    std::optional<std::span<const ObjectName>> objects;
    if (request.ask == "damage acknowledge") objects = request.objects;
    HEXAD_TRY_ASSIGN(const std::vector<Damage> known, work_.acknowledge_damage(objects, go_on));
    return encode_damage_list(known);
  }
  if (request.ask.starts_with("device ")) return change_device(request);
  return unknown_question();
}

Result<std::string> ControlServer::change_device(const ControlRequest& request) {
  const bool fast = request.ask == "device add-fast";
  if (fast || request.ask == "device add") {
    if (request.path.empty()) {
      return Error{ErrorCode::kInvalidArgument, request.ask + ": no path is named", ""};
    }
    HEXAD_TRY_ASSIGN(const DeviceId added,
                     fast ? work_.add_fast_device(request.path)
                          : work_.add_device(request.path, request.failure_domain));
    return encode_device_id(added);
  }
  const bool of_all = request.ask == "device clear-errors";
  if (of_all && !request.device.has_value()) {
    HEXAD_TRY(work_.clear_device_errors(std::nullopt));
    return std::string("{}");
  }
  if (!request.device.has_value() && request.ask != "device online") {
    return Error{ErrorCode::kInvalidArgument, request.ask + ": no device is named", ""};
  }
  // Of device ids there are fewer than of numbers.
  const std::uint64_t number = request.device.value_or(0);
  const auto device = static_cast<DeviceId>(number);
  if (device != number) {
    return Error{ErrorCode::kNotFound, "the store has no device " + std::to_string(number),
                 "hexad device ls POOL names those that it has."};
  }
  if (request.ask == "device replace") {
    HEXAD_TRY_ASSIGN(const DeviceId by, work_.replace_device(device, request.path));
    return encode_device_id(by);
  }
  if (request.ask == "device online") {
    HEXAD_TRY(work_.bring_back(device, request.path));
  } else if (request.ask == "device drain") {
    HEXAD_TRY(work_.drain_device(device));
  } else if (request.ask == "device undrain") {
    HEXAD_TRY(work_.undrain_device(device));
  } else if (request.ask == "device remove") {
    HEXAD_TRY(work_.remove_device(device));
  } else if (of_all) {
    HEXAD_TRY(work_.clear_device_errors(device));
  } else {
    return unknown_question();
  }
  return std::string("{}");
}

}  // namespace hexad::core
