// Questions, replies and errors.
#include "core/control/control_messages.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/text_bytes.h"

namespace hexad::core {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Names are any bytes: those that are no UTF-8 go as base64, as --json of the command line has
// them.
void set_bytes(Json& object, const char* key, std::string_view bytes) {
  if (bytes.empty()) return;
  if (is_utf8(bytes)) {
    object[key] = bytes;
  } else {
    object[std::string(key) + "_b64"] = to_base64(bytes);
  }
}

Error not_a(const char* what, ErrorCode code) {
  return Error{code, std::string("a line of the control socket is no ") + what, ""};
}

bool take_bytes(const Json& object, const char* key, std::string& into) {
  if (const auto found = object.find(key); found != object.end()) {
    if (!found->is_string()) return false;
    into = found->get<std::string>();
  }
  if (const auto found = object.find(std::string(key) + "_b64"); found != object.end()) {
    if (!found->is_string()) return false;
    Result<std::string> bytes = from_base64(found->get<std::string>());
    if (!bytes.ok()) return false;
    into = std::move(bytes).value();
  }
  return true;
}

bool take_number(const Json& object, const char* key, std::uint64_t& into) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_number_unsigned()) return false;
  into = found->get<std::uint64_t>();
  return true;
}

bool take_flag(const Json& object, const char* key, bool& into) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_boolean()) return false;
  into = found->get<bool>();
  return true;
}

bool take_objects(const Json& object, const char* key, std::vector<ObjectName>& into) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_array()) return false;
  for (const Json& one : *found) {
    ObjectName& name = into.emplace_back();
    if (!one.is_object() || !take_bytes(one, "collection", name.collection) ||
        !take_bytes(one, "name", name.name)) {
      return false;
    }
  }
  return true;
}

// Errors: kUnsupported.
Result<std::uint64_t> version_of(const Json& object, const char* what, ErrorCode code) {
  const auto found = object.find("hexad");
  if (found == object.end() || !found->is_number_unsigned()) return not_a(what, code);
  return found->get<std::uint64_t>();
}

Error other_version(std::uint64_t version) {
  return Error{ErrorCode::kUnsupported,
               "the control socket speaks version " + std::to_string(version) + " there, and " +
                   std::to_string(kControlVersion) + " here",
               "Both have to be of one version."};
}

ErrorCode parse_code(std::string_view text) {
  for (int code = 1; code <= static_cast<int>(ErrorCode::kFenced); ++code) {
    if (text == to_string(static_cast<ErrorCode>(code))) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::kUnknown;
}

}  // namespace

std::string encode_request(const ControlRequest& request) {
  Json object{{"hexad", kControlVersion}, {"ask", request.ask}};
  set_bytes(object, "collection", request.collection);
  set_bytes(object, "name", request.name);
  set_bytes(object, "prefix", request.prefix);
  set_bytes(object, "after", request.after);
  set_bytes(object, "delimiter", request.delimiter);
  const ControlRequest usual;
  if (request.limit != usual.limit) object["limit"] = request.limit;
  if (request.reverse) object["reverse"] = true;
  if (request.ranges) object["ranges"] = true;
  if (request.rate > 0) object["rate"] = request.rate;
  if (request.object_size > 0) object["object_size"] = request.object_size;
  if (request.breakdown) object["breakdown"] = true;
  if (request.cache_size.has_value()) object["cache_size"] = *request.cache_size;
  set_bytes(object, "from", request.from);
  if (request.device.has_value()) object["device"] = *request.device;
  set_bytes(object, "path", request.path);
  set_bytes(object, "failure_domain", request.failure_domain);
  for (const ObjectName& name : request.objects) {
    Json one = Json::object();
    set_bytes(one, "collection", name.collection);
    set_bytes(one, "name", name.name);
    object["objects"].push_back(std::move(one));
  }
  return text_of(object);
}

Result<ControlRequest> decode_request(std::string_view line) {
  constexpr const char* kWhat = "question";
  constexpr ErrorCode kCode = ErrorCode::kInvalidArgument;
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return not_a(kWhat, kCode);
  HEXAD_TRY_ASSIGN(const std::uint64_t version, version_of(object, kWhat, kCode));
  if (version != kControlVersion) return other_version(version);
  ControlRequest request;
  std::uint64_t device = 0;
  std::uint64_t cache_size = 0;
  const bool understood =
      take_bytes(object, "ask", request.ask) &&
      take_bytes(object, "collection", request.collection) &&
      take_bytes(object, "name", request.name) && take_bytes(object, "prefix", request.prefix) &&
      take_bytes(object, "after", request.after) &&
      take_bytes(object, "delimiter", request.delimiter) &&
      take_number(object, "limit", request.limit) &&
      take_flag(object, "reverse", request.reverse) &&
      take_flag(object, "ranges", request.ranges) && take_number(object, "rate", request.rate) &&
      take_number(object, "object_size", request.object_size) &&
      take_bytes(object, "from", request.from) &&
      take_objects(object, "objects", request.objects) && take_number(object, "device", device) &&
      take_bytes(object, "path", request.path) &&
      take_bytes(object, "failure_domain", request.failure_domain) &&
      take_flag(object, "breakdown", request.breakdown) &&
      take_number(object, "cache_size", cache_size);
  if (!understood || request.ask.empty()) return not_a(kWhat, kCode);
  if (object.contains("device")) request.device = device;
  if (object.contains("cache_size")) request.cache_size = cache_size;
  return request;
}

std::string encode_reply(const ControlHolder& holder, const Result<std::string>& result) {
  const Json object{{"hexad", kControlVersion},      {"store", to_string(holder.store)},
                    {"pid", holder.process.pid},     {"command", holder.process.command},
                    {"since", holder.process.since}, {"opened", holder.opened}};
  std::string text = text_of(object);
  text.pop_back();
  if (result.ok()) return text + ",\"result\":" + *result + "}";
  const Error& error = result.error();
  const Json failed{
      {"code", to_string(error.code)}, {"message", error.message}, {"hint", error.hint}};
  return text + ",\"error\":" + text_of(failed) + "}";
}

Result<ControlReply> decode_reply(std::string_view line) {
  constexpr const char* kWhat = "reply";
  constexpr ErrorCode kCode = ErrorCode::kCorruption;
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return not_a(kWhat, kCode);
  HEXAD_TRY_ASSIGN(const std::uint64_t version, version_of(object, kWhat, kCode));
  if (version != kControlVersion) return other_version(version);
  ControlReply reply;
  std::string store;
  std::uint64_t pid = 0;
  std::uint64_t since = 0;
  std::uint64_t opened = 0;
  const bool understood = take_bytes(object, "store", store) && take_number(object, "pid", pid) &&
                          take_bytes(object, "command", reply.holder.process.command) &&
                          take_number(object, "since", since) &&
                          take_number(object, "opened", opened);
  if (!understood) return not_a(kWhat, kCode);
  const Result<Uuid> uuid = parse_uuid(store);
  if (!uuid.ok()) return not_a(kWhat, kCode);
  reply.holder.store = *uuid;
  reply.holder.process.pid = static_cast<int>(pid);
  reply.holder.process.since = static_cast<io::Nanos>(since);
  reply.holder.opened = static_cast<std::int64_t>(opened);
  if (const auto found = object.find("error"); found != object.end()) {
    Error error;
    std::string code;
    if (!found->is_object() || !take_bytes(*found, "code", code) ||
        !take_bytes(*found, "message", error.message) || !take_bytes(*found, "hint", error.hint)) {
      return not_a(kWhat, kCode);
    }
    error.code = parse_code(code);
    reply.result = error;
    return reply;
  }
  const auto found = object.find("result");
  if (found == object.end()) return not_a(kWhat, kCode);
  reply.result = text_of(*found);
  return reply;
}

}  // namespace hexad::core
