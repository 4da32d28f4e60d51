#include "core/control/control_messages.h"

#include <catch2/catch.hpp>

#include "io/rng.h"

namespace hexad::core {
namespace {

const std::string kNoText("\xff\x00\n", 3);

StoreStatus some_status() {
  StoreStatus status;
  status.uuid.bytes[3] = 7;
  status.health = Health::kDamaged;
  status.damaged_blobs = 4;
  status.faults_tolerated = 1;
  status.epoch = 5;
  status.last_lsn = kMaxLsn;
  status.notes = {"one", "two \"quoted\""};
  DeviceStatus device;
  device.id = 3;
  device.path = "/dev/disk";
  device.state = "behind";
  device.missing_bytes = 1 << 20;
  device.slabs = 40;
  device.slabs_used = 12;
  device.flush_domain = -1;
  device.written_for = {{"user", 12}, {"log", 0}};
  device.errors_total = {-5, 1, 2, 3, 4, 5};
  device.last_completion = {"rebuild", 3, 990, 12, 49152, 7, 100, 200};
  status.devices = {device, {}};
  JobStatus job;
  job.name = "scrub";
  job.running = true;
  job.seconds = 1.5;
  status.jobs = {job};
  return status;
}

TEST_CASE("control_messages: a question comes back as it was, whatever bytes its names have") {
  ControlRequest request;
  request.ask = "list";
  request.collection = "default";
  request.name = kNoText;
  request.prefix = "caf\xc3\xa9/";
  request.after = "\xfe";
  request.delimiter = "/";
  request.limit = 7;
  request.reverse = true;
  request.rate = ~0ULL;
  request.objects = {{"default", kNoText}, {"caf\xc3\xa9", "b"}};
  const ControlRequest back = decode_request(encode_request(request)).value();
  CHECK(back.ask == request.ask);
  CHECK(back.collection == request.collection);
  CHECK(back.name == request.name);
  CHECK(back.prefix == request.prefix);
  CHECK(back.after == request.after);
  CHECK(back.delimiter == request.delimiter);
  CHECK(back.limit == 7);
  CHECK(back.reverse);
  CHECK_FALSE(back.ranges);
  CHECK(back.rate == ~0ULL);
  REQUIRE(back.objects.size() == 2);
  CHECK(back.objects[0].name == kNoText);
  CHECK(back.objects[1].collection == "caf\xc3\xa9");
  CHECK_FALSE(back.device.has_value());
  for (const std::uint64_t device : {0, 3}) {
    request.device = device;
    CHECK(decode_request(encode_request(request))->device == device);
  }
  CHECK(encode_request(request).find('\n') == std::string::npos);
}

TEST_CASE("control_messages: what is no question of this version is refused") {
  for (const char* bad :
       {"", "{", "[]", "1", "null", "{}", R"({"hexad":1})", R"({"hexad":"1","ask":"status"})",
        R"({"hexad":1,"ask":""})", R"({"hexad":1,"ask":7})",
        R"({"hexad":1,"ask":"list","limit":-1})", R"({"hexad":1,"ask":"list","name":{}})",
        R"({"hexad":1,"ask":"list","name_b64":"*"})"}) {
    CAPTURE(bad);
    REQUIRE_FALSE(decode_request(bad).ok());
    CHECK(decode_request(bad).error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(decode_request(R"({"hexad":2,"ask":"status"})").error().code == ErrorCode::kUnsupported);
  CHECK(decode_request(R"({"hexad":1,"ask":"status","later":[]})")->ask == "status");
}

TEST_CASE("control_messages: a reply has who gives it, and a result or an error") {
  ControlHolder holder;
  holder.store.bytes[0] = 9;
  holder.process = {4711, "python3 serve.py", 1'700'000'000'000'000'000};
  holder.opened = 1'700'000'001'000'000'000;
  const ControlReply good = decode_reply(encode_reply(holder, std::string(R"({"a":1})"))).value();
  CHECK(good.holder.store == holder.store);
  CHECK(good.holder.process.pid == 4711);
  CHECK(good.holder.process.command == "python3 serve.py");
  CHECK(good.holder.opened == holder.opened);
  CHECK(good.result.value() == R"({"a":1})");
  const ControlReply bad =
      decode_reply(encode_reply(holder, Error{ErrorCode::kNoSpace, "full", "Delete."})).value();
  REQUIRE_FALSE(bad.result.ok());
  CHECK(bad.result.error().code == ErrorCode::kNoSpace);
  CHECK(bad.result.error().message == "full");
  CHECK(bad.result.error().hint == "Delete.");
  CHECK(decode_reply("x").error().code == ErrorCode::kCorruption);
  CHECK(decode_reply(R"({"hexad":3})").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("control_messages: every code of an error comes back") {
  for (int code = 1; code <= static_cast<int>(ErrorCode::kFenced); ++code) {
    const Error error{static_cast<ErrorCode>(code), "x", ""};
    CHECK(decode_reply(encode_reply({}, error))->result.error().code == error.code);
  }
}

TEST_CASE("control_messages: a status comes back as it was") {
  const StoreStatus status = some_status();
  const StoreStatus back = decode_status(encode_status(status)).value();
  CHECK(encode_status(back) == encode_status(status));
  CHECK(back.uuid == status.uuid);
  CHECK(back.health == Health::kDamaged);
  CHECK(back.damaged_blobs == 4);
  CHECK(back.last_lsn == kMaxLsn);
  CHECK(back.notes == status.notes);
  REQUIRE(back.devices.size() == 2);
  CHECK(back.devices[0].written_for == status.devices[0].written_for);
  CHECK(back.devices[0].flush_domain == -1);
  CHECK(back.devices[0].slabs == 40);
  CHECK(back.devices[0].slabs_used == 12);
  REQUIRE(back.jobs.size() == 1);
  CHECK(back.jobs[0].running);
  CHECK(back.jobs[0].seconds == 1.5);

  StoreStatus filling;
  filling.metadata_on = "fast blocks";
  filling.layers = {{"index", false, 5, 0, 7, 1, 3, 900}};
  filling.fill = {1000, 3600, -5, std::nullopt, "never"};
  StoreStatus filled = decode_status(encode_status(filling)).value();
  CHECK(filled.metadata_on == "fast blocks");
  REQUIRE(filled.layers.size() == 1);
  CHECK_FALSE(filled.layers[0].in_use);
  CHECK(filled.layers[0].timed_ns == 900);
  CHECK(filled.fill.bytes_per_hour == -5);
  CHECK_FALSE(filled.fill.hours_to_full.has_value());
  filling.fill.hours_to_full = 2.5;
  filled = decode_status(encode_status(filling)).value();
  CHECK(filled.fill.hours_to_full == 2.5);
}

TEST_CASE("control_messages: space, counters, names, objects, collections and scrubs do, too") {
  SpaceUsage space;
  space.capacity = 1ULL << 50;
  space.fragmentation = 0.25;
  space.free_runs = {{4096, 2, 8192}};
  space.per_device = {{1, "/dev/sda", 10, 5}};
  const SpaceUsage spaced = decode_space(encode_space(space)).value();
  CHECK(encode_space(spaced) == encode_space(space));
  CHECK_FALSE(spaced.available_for_mix.has_value());
  space.available_for_mix = 3;
  space.least = {4096, 1000, 10};
  space.readers = {{"c", kNoText, 1'800'000'000'000'000'000, 5}};
  const SpaceUsage held = decode_space(encode_space(space)).value();
  CHECK(held.available_for_mix == 3u);
  CHECK(held.least == space.least);
  REQUIRE(held.readers.size() == 1);
  CHECK(held.readers.front().name == kNoText);
  CHECK(held.readers.front().opened == space.readers.front().opened);
  CHECK(held.readers.front().held == 5);

  CHECK(decode_device_id(encode_device_id(41)).value() == 41);
  CHECK_FALSE(decode_device_id("[]").ok());

  const std::vector<Counter> counters = {{"reads", 5, 2}};
  CHECK(decode_counters(encode_counters(counters))->at(0).since_open == 2);

  ListPage page;
  page.entries = {{kNoText, 5, 6, false}, {"dir/", 0, 0, true}};
  page.next = "\xff";
  const ListPage paged = decode_page_of_names(encode_page(page)).value();
  REQUIRE(paged.entries.size() == 2);
  CHECK(paged.entries[0].name == kNoText);
  CHECK(paged.entries[0].version == 6);
  CHECK(paged.entries[1].common_prefix);
  CHECK(paged.next == page.next);
  page.next.reset();
  CHECK_FALSE(decode_page_of_names(encode_page(page))->next.has_value());

  ObjectLook look;
  look.stat.size = 10;
  look.stat.mtime = -5;
  look.stat.hint = Hint::kCompressible | Hint::kImmutable;
  look.stat.placement = "packed";
  look.attributes[kNoText] = "value";
  look.ranges = {{0, 4}, {8, 2}};
  const ObjectLook looked = decode_look(encode_look(look)).value();
  CHECK(looked.stat.mtime == -5);
  CHECK(looked.stat.hint == look.stat.hint);
  CHECK(looked.attributes == look.attributes);
  CHECK(looked.ranges == look.ranges);

  CollectionInfo collection;
  collection.name = kNoText;
  collection.compression = compression::parse_policy("aggressive,zstd").value();
  collection.quota = {7, 8};
  const CollectionInfo collected = decode_collections(encode_collections({collection}))->at(0);
  CHECK(collected.name == kNoText);
  CHECK(collected.quota == collection.quota);
  CHECK(compression::to_string(collected.compression) ==
        compression::to_string(collection.compression));

  const std::vector<Damage> damage = {
      {"default", kNoText, std::nullopt, 5, 6, 7, "rotten", true},
      {"b", "c", "", 0, 1, 2, "", false},
      {"b", "d", kNoText, 0, 1, 2, "", false},
  };
  CHECK(decode_damage_list(encode_damage_list(damage)).value() == damage);
  const std::vector<Damage> many(kMaxControlDamage + 1, damage[0]);
  CHECK(decode_damage_list(encode_damage_list(many))->size() == kMaxControlDamage);

  ControlScrub scrub;
  scrub.began = 1;
  scrub.running = true;
  scrub.paused = true;
  scrub.report.findings = {{"object a", "rotten", true}};
  scrub.report.next = "there";
  const ControlScrub scrubbed = decode_scrub(encode_scrub(scrub)).value();
  CHECK(scrubbed.running);
  CHECK(scrubbed.paused);
  CHECK(scrubbed.report.findings.at(0).repaired);
  CHECK(scrubbed.report.next == "there");
}

TEST_CASE("control_messages: lines with bytes changed are read or refused") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  io::Rng rng(seed);
  ControlRequest request;
  request.ask = "list";
  request.name = kNoText;
  const std::string lines[] = {encode_request(request),
                               encode_reply({}, encode_status(some_status())),
                               encode_status(some_status())};
  for (int round = 0; round < 3000; ++round) {
    std::string line = lines[rng.below(3)];
    for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
      line[rng.below(line.size())] = static_cast<char>(rng.below(256));
    }
    if (rng.below(2) == 0) line.resize(rng.below(line.size()));
    decode_request(line).status().ignore();
    decode_reply(line).status().ignore();
    decode_status(line).status().ignore();
    decode_space(line).status().ignore();
    decode_page_of_names(line).status().ignore();
  }
}

TEST_CASE("control_messages: brackets without end are no stack without end") {
  const std::string deep(60'000, '[');
  CHECK_FALSE(decode_request(deep).ok());
  CHECK_FALSE(decode_request(R"({"hexad":1,"ask":"status","x":)" + deep).ok());
}

}  // namespace
}  // namespace hexad::core
