// What the questions of the control socket are answered with. The fields of a struct stand in one
// list, by which they are written and read, under the names that they have in C++.
#include <charconv>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/id.h"
#include "base/text_bytes.h"
#include "core/control/control_messages.h"

namespace hexad::core {

namespace {

using Json = nlohmann::ordered_json;

// Text that is a name, which is any bytes.
struct Name {
  std::string& bytes;
};

template <typename F>
void fields(F& f, DeviceErrors& s) {
  f("since", s.since), f("read_errors", s.read_errors), f("write_errors", s.write_errors);
  f("flush_errors", s.flush_errors), f("checksum_errors", s.checksum_errors);
  f("timeouts", s.timeouts);
}

template <typename F>
void fields(F& f, DeviceCompletion& s) {
  f("kind", s.kind), f("epoch", s.epoch), f("lsn", s.lsn), f("cells", s.cells);
  f("bytes", s.bytes), f("bytes_copied", s.bytes_copied), f("began", s.began), f("ended", s.ended);
}

template <typename F>
void fields(F& f, DeviceStatus& s) {
  f("id", s.id), f("path", s.path), f("role", s.role), f("state", s.state);
  f("draining", s.draining), f("failure_domain", s.failure_domain), f("detail", s.detail),
      f("missing_bytes", s.missing_bytes);
  f("bad_header_slots", s.bad_header_slots), f("size", s.size);
  f("slabs", s.slabs), f("slabs_used", s.slabs_used);
  f("physical_block", s.physical_block), f("direct", s.direct), f("holds_log", s.holds_log);
  f("durability", s.durability), f("flush_domain", s.flush_domain);
  f("bytes_read", s.bytes_read), f("bytes_written", s.bytes_written);
  f("written_for", s.written_for), f("reads", s.reads), f("writes", s.writes);
  f("writes_for", s.writes_for), f("flushes", s.flushes), f("read_errors", s.read_errors);
  f("write_errors", s.write_errors), f("flush_errors", s.flush_errors);
  f("checksum_errors", s.checksum_errors), f("timeouts", s.timeouts);
  f("errors_total", s.errors_total), f("last_completion", s.last_completion);
}

struct Number {
  DeviceId device = 0;
};
template <typename F>
void fields(F& f, Number& s) {
  f("device", s.device);
}

template <typename F>
void fields(F& f, JobStatus& s) {
  f("name", s.name), f("purpose", s.purpose), f("running", s.running), f("seconds", s.seconds);
  f("steps", s.steps), f("done", s.done), f("total", s.total), f("unit", s.unit);
  f("problem", s.problem);
}

template <typename F>
void fields(F& f, LayerStatus& s) {
  f("name", s.name), f("in_use", s.in_use), f("bytes", s.bytes), f("room", s.room);
  f("hits", s.hits), f("misses", s.misses), f("timed", s.timed), f("timed_ns", s.timed_ns);
}

template <typename F>
void fields(F& f, FillForecast& s) {
  f("available", s.available), f("observed_seconds", s.observed_seconds);
  f("bytes_per_hour", s.bytes_per_hour), f("hours_to_full", s.hours_to_full), f("note", s.note);
}

template <typename F>
void fields(F& f, StoreStatus& s) {
  f("uuid", s.uuid), f("health", s.health), f("faults_tolerated", s.faults_tolerated);
  f("parity_cells", s.parity_cells), f("domain_cells", s.domain_cells),
      f("redundant_devices", s.redundant_devices);
  f("damaged_blobs", s.damaged_blobs);
  f("epoch", s.epoch), f("last_lsn", s.last_lsn), f("checkpoint_lsn", s.checkpoint_lsn);
  f("log_used", s.log_used), f("log_size", s.log_size), f("io_queue", s.io_queue);
  f("memory_only", s.memory_only), f("read_only", s.read_only);
  f("read_only_reason", s.read_only_reason), f("devices", s.devices), f("notes", s.notes);
  f("warnings", s.warnings), f("jobs", s.jobs);
  f("metadata_on", s.metadata_on), f("layers", s.layers), f("fill", s.fill);
}

template <typename F>
void fields(F& f, DeviceSpace& s) {
  f("id", s.id), f("path", s.path), f("capacity", s.capacity), f("used", s.used);
}

template <typename F>
void fields(F& f, FreeRuns& s) {
  f("from", s.from), f("runs", s.runs), f("bytes", s.bytes);
}

template <typename F>
void fields(F& f, HeldByReader& s) {
  f("collection", Name{s.collection}), f("name", Name{s.name}), f("opened", s.opened);
  f("held", s.held);
}

template <typename F>
void fields(F& f, ObjectRoom& s) {
  f("object_size", s.object_size), f("usable", s.usable), f("available", s.available);
}

template <typename F>
void fields(F& f, SpaceUsage& s) {
  f("broken_down", s.broken_down);
  f("capacity", s.capacity), f("available", s.available);
  f("internally_reserved", s.internally_reserved), f("used", s.used);
  f("user_bytes", s.user_bytes), f("omap_bytes", s.omap_bytes), f("allocated", s.allocated);
  f("compressed_original", s.compressed_original), f("compressed", s.compressed);
  f("compressed_allocated", s.compressed_allocated), f("metadata", s.metadata);
  f("internal_metadata", s.internal_metadata), f("objects", s.objects), f("dead", s.dead);
  f("reclaimable", s.reclaimable), f("usable_for_mix", s.usable_for_mix);
  f("available_for_mix", s.available_for_mix), f("least", s.least);
  f("promised", s.promised), f("waiting", s.waiting), f("held_by_readers", s.held_by_readers);
  f("readers", s.readers);
  f("free_runs", s.free_runs), f("fragmentation", s.fragmentation);
  f("granted_of_wanted", s.granted_of_wanted), f("per_device", s.per_device);
}

template <typename F>
void fields(F& f, Counter& s) {
  f("name", s.name), f("total", s.total), f("since_open", s.since_open);
}

struct Entry {
  std::string name;
  std::uint64_t size = 0;
  Lsn version = 0;
  bool common_prefix = false;
};
template <typename F>
void fields(F& f, Entry& s) {
  f("name", Name{s.name}), f("size", s.size), f("version", s.version);
  f("common_prefix", s.common_prefix);
}

struct Page {
  std::vector<Entry> entries;
  bool more = false;
  std::string next;
};
template <typename F>
void fields(F& f, Page& s) {
  f("entries", s.entries), f("more", s.more), f("next", Name{s.next});
}

template <typename F>
void fields(F& f, ByteRange& s) {
  f("offset", s.offset), f("length", s.length);
}

struct Attribute {
  std::string name;
  std::string value;
};
template <typename F>
void fields(F& f, Attribute& s) {
  f("name", Name{s.name}), f("value", Name{s.value});
}

struct Look {
  ObjectStat stat;
  std::vector<Attribute> attributes;
  std::vector<ByteRange> ranges;
};
template <typename F>
void fields(F& f, Look& s) {
  f("size", s.stat.size), f("version", s.stat.version), f("mtime", s.stat.mtime);
  f("stored", s.stat.stored), f("extents", s.stat.extents), f("hint", s.stat.hint);
  f("content_type", Name{s.stat.content_type}), f("has_omap", s.stat.has_omap);
  f("placement", s.stat.placement), f("attributes", s.attributes), f("ranges", s.ranges);
}

template <typename F>
void fields(F& f, CollectionInfo& s) {
  f("name", Name{s.name}), f("id", s.id), f("objects", s.objects), f("bytes", s.bytes);
  f("quota_objects", s.quota.objects), f("quota_bytes", s.quota.bytes);
  f("compression", s.compression);
}

template <typename F>
void fields(F& f, Finding& s) {
  f("subject", s.subject), f("problem", s.problem), f("repaired", s.repaired);
}

// A value of an omap is told from the object's data by a flag, since its key may be empty.
struct SentDamage {
  Damage damage;
  bool in_omap = false;
  std::string omap_key;
};
template <typename F>
void fields(F& f, SentDamage& s) {
  f("collection", Name{s.damage.collection}), f("name", Name{s.damage.name});
  f("in_omap", s.in_omap), f("omap_key", Name{s.omap_key});
  f("offset", s.damage.offset), f("length", s.damage.length);
  f("first_seen", s.damage.first_seen), f("problem", s.damage.problem);
  f("acknowledged", s.damage.acknowledged);
}

template <typename F>
void fields(F& f, ControlScrub& s) {
  f("running", s.running), f("paused", s.paused), f("began", s.began), f("errors", s.errors);
  f("repaired", s.repaired);
  f("findings", s.report.findings), f("stripes_checked", s.report.stripes_checked);
  f("bytes_checked", s.report.bytes_checked), f("bytes_expected", s.report.bytes_expected);
  f("bad_header_slots", s.report.bad_header_slots), f("next", s.report.next);
  f("failure", s.failure);
}

template <typename T>
struct Elements : std::false_type {};
template <typename T>
struct Elements<std::vector<T>> : std::true_type {};

class Writer {
 public:
  template <typename T>
  static Json object(const T& value) {
    Writer writer;
    fields(writer, const_cast<T&>(value));  // which the writer does not change
    return std::move(writer.object_);
  }

  void operator()(const char* key, Name name) {
    if (is_utf8(name.bytes)) {
      object_[key] = name.bytes;
    } else {
      object_[std::string(key) + "_b64"] = to_base64(name.bytes);
    }
  }
  template <typename T>
  void operator()(const char* key, const T& value) {
    object_[key] = one(value);
  }

 private:
  static Json one(const Uuid& value) { return to_string(value); }
  template <typename Tag, typename Rep>
  static Json one(Id<Tag, Rep> value) {
    return value.value();
  }
  static Json one(Health value) { return static_cast<unsigned>(value); }
  static Json one(Hint value) { return static_cast<unsigned>(value); }
  static Json one(const compression::Policy& value) { return compression::to_string(value); }
  template <typename T>
  static Json one(const std::optional<T>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  }
  static Json one(const std::map<std::string, std::uint64_t>& value) {
    Json object = Json::object();
    for (const auto& [key, number] : value) object[key] = number;
    return object;
  }
  template <typename T>
  static Json one(const T& value) {
    if constexpr (Elements<T>::value) {
      Json list = Json::array();
      for (const auto& element : value) list.push_back(one(element));
      return list;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      return object(value);
    }
  }

  Json object_ = Json::object();
};

// What is missing keeps its default, so that an older process can be asked.
class Reader {
 public:
  template <typename T>
  static bool object(const Json& from, T& into) {
    if (!from.is_object()) return false;
    Reader reader(from);
    fields(reader, into);
    return reader.right_;
  }

  void operator()(const char* key, Name name) {
    if (from_.contains(key)) return (*this)(key, name.bytes);
    std::string text;
    const std::string encoded = std::string(key) + "_b64";
    if (!from_.contains(encoded)) return;
    (*this)(encoded.c_str(), text);
    Result<std::string> bytes = from_base64(text);
    right_ = right_ && bytes.ok();
    if (bytes.ok()) name.bytes = std::move(bytes).value();
  }
  template <typename T>
  void operator()(const char* key, T& into) {
    const auto found = from_.find(key);
    if (found != from_.end()) right_ = right_ && one(*found, into);
  }

 private:
  explicit Reader(const Json& from) : from_(from) {}

  static bool one(const Json& from, Uuid& into) {
    if (!from.is_string()) return false;
    const Result<Uuid> uuid = parse_uuid(from.get<std::string>());
    if (uuid.ok()) into = *uuid;
    return uuid.ok();
  }
  static bool one(const Json& from, Health& into) {
    unsigned number = 0;
    if (!one(from, number) || number > static_cast<unsigned>(Health::kDamaged)) return false;
    into = static_cast<Health>(number);
    return true;
  }
  static bool one(const Json& from, Hint& into) {
    std::uint16_t number = 0;
    if (!one(from, number)) return false;
    into = static_cast<Hint>(number);
    return true;
  }
  static bool one(const Json& from, compression::Policy& into) {
    if (!from.is_string()) return false;
    const Result<compression::Policy> policy = compression::parse_policy(from.get<std::string>());
    if (policy.ok()) into = *policy;
    return policy.ok();
  }
  template <typename Tag, typename Rep>
  static bool one(const Json& from, Id<Tag, Rep>& into) {
    Rep number = 0;
    if (!one(from, number)) return false;
    into = number;
    return true;
  }
  template <typename T>
  static bool one(const Json& from, std::optional<T>& into) {
    if (from.is_null()) return true;
    T number{};
    if (!one(from, number)) return false;
    into = number;
    return true;
  }
  static bool one(const Json& from, std::map<std::string, std::uint64_t>& into) {
    if (!from.is_object()) return false;
    for (const auto& [key, value] : from.items()) {
      if (!one(value, into[key])) return false;
    }
    return true;
  }
  template <typename T>
  static bool one(const Json& from, T& into) {
    if constexpr (Elements<T>::value) {
      if (!from.is_array()) return false;
      for (const Json& element : from) {
        if (!one(element, into.emplace_back())) return false;
      }
      return true;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return false;
      into = from.get<bool>();
      return true;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!from.is_number()) return false;
      into = from.get<T>();
      return true;
    } else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (!from.is_number_integer()) return false;
      into = from.get<T>();
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      if (!from.is_number_unsigned()) return false;
      const auto number = from.get<std::uint64_t>();
      into = static_cast<T>(number);
      return into == number;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.is_string()) return false;
      into = from.get<std::string>();
      return true;
    } else {
      return object(from, into);
    }
  }

  const Json& from_;
  bool right_ = true;
};

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error unreadable(const char* what) {
  return Error{ErrorCode::kCorruption, std::string("the control socket's answer is no ") + what,
               ""};
}

template <typename T>
Result<T> decode_object(std::string_view text, const char* what) {
  T value;
  if (!Reader::object(Json::parse(text, nullptr, false), value)) return unreadable(what);
  return value;
}

// A list is an object with one field, so that others may join it.
template <typename T>
struct List {
  const char* key;
  std::vector<T> elements = {};
};
template <typename F, typename T>
void fields(F& f, List<T>& s) {
  f(s.key, s.elements);
}

template <typename T>
Result<std::vector<T>> decode_list(std::string_view text, const char* key) {
  List<T> list{key};
  if (!Reader::object(Json::parse(text, nullptr, false), list)) return unreadable("list");
  return std::move(list.elements);
}

}  // namespace

std::string encode_status(const StoreStatus& status) { return text_of(Writer::object(status)); }
Result<StoreStatus> decode_status(std::string_view text) {
  return decode_object<StoreStatus>(text, "status");
}

std::string encode_device_id(DeviceId device) { return text_of(Writer::object(Number{device})); }
Result<DeviceId> decode_device_id(std::string_view text) {
  HEXAD_TRY_ASSIGN(const Number number, decode_object<Number>(text, "device"));
  return number.device;
}

std::string encode_space(const SpaceUsage& space) { return text_of(Writer::object(space)); }
Result<SpaceUsage> decode_space(std::string_view text) {
  return decode_object<SpaceUsage>(text, "account of space");
}

std::string encode_counters(const std::vector<Counter>& counters) {
  return text_of(Writer::object(List<Counter>{"counters", counters}));
}
Result<std::vector<Counter>> decode_counters(std::string_view text) {
  return decode_list<Counter>(text, "counters");
}

std::string encode_room(const ObjectRoom& room) { return text_of(Writer::object(room)); }
Result<ObjectRoom> decode_room(std::string_view text) {
  return decode_object<ObjectRoom>(text, "account of the room for objects");
}

std::string encode_page(const ListPage& page) {
  Page sent;
  for (const ListEntry& entry : page.entries) {
    sent.entries.push_back(
        {std::string(entry.name), entry.size, entry.version, entry.common_prefix});
  }
  sent.more = page.next.has_value();
  sent.next = page.next.value_or("");
  return text_of(Writer::object(sent));
}

Result<ListPage> decode_page_of_names(std::string_view text) {
  auto received = std::make_shared<Page>();
  HEXAD_TRY_ASSIGN(*received, decode_object<Page>(text, "page of names"));
  ListPage page;
  for (const Entry& entry : received->entries) {
    page.entries.push_back({entry.name, entry.size, entry.version, entry.common_prefix});
  }
  if (received->more) page.next = received->next;
  page.text = received;
  return page;
}

std::string encode_look(const ObjectLook& look) {
  Look sent{look.stat, {}, look.ranges};
  for (const auto& [name, value] : look.attributes) sent.attributes.push_back({name, value});
  return text_of(Writer::object(sent));
}

Result<ObjectLook> decode_look(std::string_view text) {
  HEXAD_TRY_ASSIGN(Look received, decode_object<Look>(text, "description of an object"));
  ObjectLook look{std::move(received.stat), {}, std::move(received.ranges)};
  for (Attribute& one : received.attributes) look.attributes[one.name] = std::move(one.value);
  return look;
}

std::string encode_collections(const std::vector<CollectionInfo>& collections) {
  return text_of(Writer::object(List<CollectionInfo>{"collections", collections}));
}
Result<std::vector<CollectionInfo>> decode_collections(std::string_view text) {
  return decode_list<CollectionInfo>(text, "collections");
}

std::string encode_damage_list(const std::vector<Damage>& damage) {
  List<SentDamage> list{"damage"};
  for (const Damage& one : damage) {
    if (list.elements.size() == kMaxControlDamage) break;
    list.elements.push_back({one, one.omap_key.has_value(), one.omap_key.value_or("")});
  }
  return text_of(Writer::object(list));
}
Result<std::vector<Damage>> decode_damage_list(std::string_view text) {
  HEXAD_TRY_ASSIGN(std::vector<SentDamage> received, decode_list<SentDamage>(text, "damage"));
  std::vector<Damage> damage;
  for (SentDamage& one : received) {
    if (one.in_omap) one.damage.omap_key = std::move(one.omap_key);
    damage.push_back(std::move(one.damage));
  }
  return damage;
}

std::string encode_scrub(const ControlScrub& scrub) { return text_of(Writer::object(scrub)); }
Result<ControlScrub> decode_scrub(std::string_view text) {
  return decode_object<ControlScrub>(text, "account of a scrub");
}

}  // namespace hexad::core
