// The lines of the control socket: doc/control.md describes them. JSON, as text: whoever includes
// this needs no library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/api/damage.h"
#include "core/api/object_room.h"
#include "core/api/types.h"
#include "io/lines/process_info.h"

namespace hexad::core {

// Of the lines. Fields that are not known are ignored, and questions that are not are refused, so
// it changes only when an old field gets another meaning.
inline constexpr std::uint64_t kControlVersion = 1;

// What is asked. Fields that a question has no use for are left out.
struct ControlRequest {
  std::string ask;         // "status", "space", ...
  std::string collection;  // names are any bytes
  std::string name;
  std::string prefix;
  std::string after;
  std::string delimiter;
  std::uint64_t limit = 1000;
  bool reverse = false;
  bool ranges = false;
  std::uint64_t rate = 0;         // bytes per second
  std::uint64_t object_size = 0;  // bytes
  std::string from;
  std::vector<ObjectName> objects;
  std::optional<std::uint64_t> device;
  std::string path;
  std::string failure_domain;
  bool breakdown = false;                   // SpaceDetail::kBreakdown
  std::optional<std::uint64_t> cache_size;  // bytes
};
std::string encode_request(const ControlRequest& request);
// Errors: kInvalidArgument (no such line), kUnsupported (of another version).
Result<ControlRequest> decode_request(std::string_view line);

// Who answers.
struct ControlHolder {
  Uuid store;
  io::ProcessInfo process;
  std::int64_t opened = 0;  // when it opened the store, nanoseconds since 1970-01-01 UTC
};

// `result`: JSON, as the encoders below make it.
std::string encode_reply(const ControlHolder& holder, const Result<std::string>& result);
struct ControlReply {
  ControlHolder holder;
  Result<std::string> result = std::string();
};
// Errors: kCorruption (no such line), kUnsupported (of another version).
Result<ControlReply> decode_reply(std::string_view line);

// --- results (control_results.cc). Decoders: kCorruption. ---

// What of an object is asked for: the rest takes longer.
enum class LookFor : std::uint8_t { kStat, kStatAndRanges };
// One object in one version.
struct ObjectLook {
  ObjectStat stat;
  Attributes attributes;
  std::vector<ByteRange> ranges;  // where they were asked for
};

// The scrub that the socket runs, or the last one.
struct ControlScrub {
  bool running = false;
  bool paused = false;      // it waits to be gone on with, at report.next
  std::uint64_t began = 0;  // how many have begun since the store was opened; 0: none
  ScrubReport report;       // at most kMaxControlFindings findings
  std::uint64_t errors = 0;
  std::uint64_t repaired = 0;
  std::string failure;  // why the last one ended; empty: it is through, paused, or was stopped
};
inline constexpr std::size_t kMaxControlFindings = 1000;
inline constexpr std::size_t kMaxControlDamage = 1000;

std::string encode_status(const StoreStatus& status);
Result<StoreStatus> decode_status(std::string_view text);
// The number of a device.
std::string encode_device_id(DeviceId device);
Result<DeviceId> decode_device_id(std::string_view text);
std::string encode_space(const SpaceUsage& space);
Result<SpaceUsage> decode_space(std::string_view text);
std::string encode_room(const ObjectRoom& room);
Result<ObjectRoom> decode_room(std::string_view text);
std::string encode_counters(const std::vector<Counter>& counters);
Result<std::vector<Counter>> decode_counters(std::string_view text);
std::string encode_page(const ListPage& page);
Result<ListPage> decode_page_of_names(std::string_view text);
std::string encode_look(const ObjectLook& look);
Result<ObjectLook> decode_look(std::string_view text);
std::string encode_collections(const std::vector<CollectionInfo>& collections);
Result<std::vector<CollectionInfo>> decode_collections(std::string_view text);
// At most kMaxControlDamage of them are sent.
std::string encode_damage_list(const std::vector<Damage>& damage);
Result<std::vector<Damage>> decode_damage_list(std::string_view text);
std::string encode_scrub(const ControlScrub& scrub);
Result<ControlScrub> decode_scrub(std::string_view text);

}  // namespace hexad::core
