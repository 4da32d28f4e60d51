#include "core/opening/opening.h"

#include <algorithm>
#include <utility>

#include "core/check/header_check.h"
#include "core/opening/device_survey.h"
#include "core/opening/pool_options.h"
#include "core/opening/pool_plan.h"
#include "core/opening/recovery.h"
#include "core/opening/replacement.h"
#include "core/opening/room_below.h"
#include "core/opening/take_over.h"
#include "core/record/keys.h"
#include "core/runs/fast_index.h"
#include "kv/lmdb/lmdb_index.h"

namespace hexad::core {

namespace {

// Memory for the table of blocks on the fast device, beside the read cache: a part of that, bytes.

constexpr const char* kBusErrorMeaning =
    "somebody has cut the file, or its medium has failed. It is the index of a pool and only a "
    "copy, "
    "so nothing is lost: see to the medium, and open the pool again.";

StoreShape shape_of(const Survey& survey, const alloc::Root& root) {
  StoreShape shape;
  shape.uuid = survey.store;
  shape.profile = survey.options.profile;
  shape.record = {survey.label.k, survey.label.m, survey.label.checksum,
                  survey.label.checksum_granularity};
  shape.block = survey.label.layout.physical_block;
  shape.log_block = survey.label.layout.block_of_log();
  shape.unit = survey.label.layout.unit;
  shape.data_devices = root.data_device_count();
  shape.private_threshold = own_stripe_from(shape.unit, shape.k());
  shape.max_pack_units = pack_units(shape.unit, shape.k(), survey.label.layout.slab_units);
  return shape;
}

// Live data devices that are not there.
std::string list_missing(const alloc::RootChoice& choice) {
  std::string text;
  for (const alloc::DeviceStanding& device : choice.devices) {
    const alloc::RootDevice* const row = choice.root.find(device.id);
    if (row == nullptr || row->role != alloc::DeviceRole::kData ||
        row->state != alloc::MemberState::kLive || device.standing == alloc::Standing::kHealthy) {
      continue;
    }
    text += (text.empty() ? "" : "; ") + device.reason;
  }
  return text;
}

std::string list_unusable(const std::vector<Member>& members,
                          const std::vector<DeviceStatus>& unrecognised) {
  std::string text;
  for (const Member& member : members) {
    if (member.device != nullptr && !member.returning && !member.behind) continue;
    text += "\n  device " + std::to_string(member.id) +
            (member.path.empty() ? "" : " (" + member.path + ")") + ": " + member.state +
            (member.detail.empty() ? "" : ", " + member.detail);
  }
  for (const DeviceStatus& device : unrecognised) {
    text += "\n  " + device.path + ": " + device.state + ", " + device.detail;
  }
  return text;
}

std::set<DeviceId> attached(const std::vector<Member>& members) {
  std::set<DeviceId> ids;
  for (const Member& member : members) {
    if (member.device != nullptr && !member.returning) ids.insert(member.id);
  }
  return ids;
}

// For writing one that is behind counts as lost (BK4), and one that is filling as far as zones say;
// for reading whatever they have may do.
Status check_enough(const Assignment& assignment, const StoreShape& shape, Access access) {
  const alloc::Root& root = assignment.choice.root;
  const std::set<DeviceId> there = attached(assignment.members);
  const std::vector<DeviceId> found(there.begin(), there.end());
  const std::uint32_t lost = access == Access::kReadOnly ? alloc::cells_without(root, found)
                                                         : alloc::lost_cells(root, there);
  if (lost <= shape.m()) return {};
  const std::uint32_t data = root.data_device_count();
  const std::string too_many =
      root.domain_cells == 0
          ? std::to_string(data - std::min(data, lost)) + " of " + std::to_string(data) +
                " data devices can be used, " + std::to_string(data - shape.m()) + " are needed"
          : describe_lost(lost, root.domain_cells) + " are lost, " + survives(shape.m());
  return Error{ErrorCode::kUnavailable,
               too_many + ":" + list_unusable(assignment.members, assignment.unrecognised),
               shape.m() > 0
                   ? "Attach the missing devices and open the store again."
                   : "The devices of this pool are said to be redundant themselves, so it "
                     "has no parity: bring the missing ones back, and open it again."};
}

// Two devices with one identity: a path given twice, or a copy of a device. Which of them has the
// newer bytes nobody can tell, and going on without both would make the original stale.
Status check_duplicates(const PoolDescription& pool,
                        const std::vector<DeviceStatus>& unrecognised) {
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    if (std::find(pool.devices.begin(), pool.devices.begin() + static_cast<std::ptrdiff_t>(i),
                  pool.devices[i]) == pool.devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    return Error{ErrorCode::kInvalidArgument, pool.devices[i] + " is given twice",
                 "Name each device once."};
  }
  std::string copies;
  for (const DeviceStatus& device : unrecognised) {
    if (device.state == "duplicate") copies += "\n  " + device.path + ": " + device.detail;
  }
  if (copies.empty()) return {};
  return Error{
      ErrorCode::kInvalidArgument, "some devices are copies of one another:" + copies,
      "Open the store with the original alone; a copy that was opened meanwhile is stale."};
}

// The index that the store reads: the fast one where there is a place for it and it can be used,
// else the runs.
Status open_index(const Survey& survey, Access access, StoreParts& parts, Lsn* ahead) {
  const bool writing = access == Access::kReadWrite;
  const io::OpenMode mode = writing ? io::OpenMode::kReadWrite : io::OpenMode::kReadOnly;
  const std::shared_ptr<const kv::RunSet> runs = parts.runs->set();
  FastIndex fast;
  if (!parts.index_directory.empty()) {
    parts.runs_writer = checkpoint_writer(runs);
    HEXAD_TRY_ASSIGN(fast, open_fast_index(*parts.indexes, parts.index_directory, survey.store,
                                           mode, *runs, parts.runs_writer));
  }
  *ahead = fast.ahead;
  const Lsn checkpoint = parts.root.checkpoint_lsn;
  const bool from_index = runs->lsn() == 0 && checkpoint > 0;
  if (from_index && (fast.index == nullptr || fast.index->applied_lsn() < checkpoint)) {
    return Error{ErrorCode::kUnavailable,
                 "the index on the fast tier " +
                     (parts.index_directory.empty() ? "is not known"
                      : fast.index == nullptr
                          ? fast.problem
                          : "is as of LSN " + std::to_string(fast.index->applied_lsn())) +
                     ", and the store has no runs yet to make it from: its checkpoint, LSN " +
                     std::to_string(checkpoint) + ", is of a version that wrote none",
                 "Put the newest copy of the fast directory back."};
  }
  if (fast.index != nullptr && !fast.verified) {
    // Until it has been verified the runs answer.
    if (writing) parts.unverified_index = std::move(fast.index);
    fast.index.reset();
  } else if (fast.index == nullptr && parts.index_directory.empty()) {
    parts.notes.push_back(
        "no fast directory: there is no index, and the runs on the data devices answer for the "
        "metadata");
  } else if (fast.index == nullptr) {
    parts.notes.push_back("the index on the fast tier " + fast.problem +
                          (writing ? "; it is made again from the runs, which answer until then"
                                   : "; the runs answer instead"));
  }
  parts.index =
      std::make_unique<kv::TieredIndex>(parts.system->executor(), runs, std::move(fast.index));
  return {};
}

// What an opening stands on (P8). Errors: kUnavailable (nothing, and no word was given).
Result<alloc::Ground> find_ground(const alloc::RootChoice& choice, const StoreShape& shape,
                                  SplitRisk risk) {
  const alloc::Ground ground = alloc::ground_of(choice, shape.m());
  if (ground != alloc::Ground::kNone) return ground;
  if (risk == SplitRisk::kTake) return alloc::Ground::kWord;
  return Error{ErrorCode::kUnavailable,
               "the devices that are there do not know whether the others have been written "
               "without them: " +
                   list_missing(choice),
               "Attach one of those that are missing, or open it for reading. Where they are lost "
               "for good, --risk-split (in C++ SplitRisk::kTake, in Python "
               "split_risk='take') goes on without them; if they were written since, the two "
               "halves can never be joined."};
}

// What some request of this opening was refused with, and not by its device's fault (R18): what was
// taken for lost or torn may be there. And what that means for the call.
Status check_refusals(const Members& members, const char* so) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (member.device == nullptr) continue;
    const std::optional<Error> refusal = member.device->last_refusal();
    if (refusal.has_value()) {
      return Error{refusal->code, refusal->message + "; " + so, refusal->hint};
    }
  }
  return {};
}

// A root promises every epoch before the log has a block of it. The epoch that comes next is above
// all promises, so it is above all of the log's.
Status check_epochs(const kv::LogScan& scan, const alloc::RootChoice& choice) {
  if (scan.max_epoch <= choice.promised_epoch) return {};
  return Error{ErrorCode::kCorruption,
               "the log has a block of epoch " + std::to_string(scan.max_epoch) +
                   ", and no root that was found promises an epoch above " +
                   std::to_string(choice.promised_epoch) + ": the roots are older than the log",
               "Attach the devices that are missing and open the store again."};
}

// The copy of a device's label that is damaged, or older, is written again from the other one,
// which is not touched: a crash meanwhile leaves that. A whole one of another version stays, as
// later (HD1 of core/check/header_check.h). A device that fails here fails again where
// it matters; as before, one copy will do. Roots need nothing: an opening has written two to each
// device by now, which fill all four slots (P10).
void mend_headers(const Survey& survey, StoreParts& parts) {
  Members& members = *parts.members;
  for (const SurveyedDevice& found : survey.devices) {
    if (found.bad_slots() == 0 || !found.label.has_value()) continue;
    const Member* const member = members.find(found.label->device);
    if (member == nullptr || !members.usable(member->id) || member->path != found.path) continue;
    Finding told = header_finding(member->id, member->path, "");
    for (const std::string& root : found.bad_roots) {
      parts.notes.push_back(told.subject + ": " + root + "; it has been written over");
    }
    members.note_bad_header_slots(member->id, found.other_copy_stays() ? 1 : 0);
    if (!found.damaged_copy.has_value()) continue;
    if (found.other_copy_stays()) {
      parts.notes.push_back(told.subject + ": one of its two labels is not for this program (" +
                            found.damaged_copy->message + "); it is not written over");
      continue;
    }
    const Status mended = alloc::mend_label(*member->device, *found.label);
    told.repaired = mended.ok();
    told.problem = "one of its two labels was not as it should be (" + found.damaged_copy->message +
                   ")" +
                   (mended.ok() ? "; it has been written again"
                                : ", and could not be written: " + mended.error().message);
    parts.notes.push_back(told.subject + ": " + told.problem);
    parts.mended.push_back(std::move(told));
    if (!mended.ok()) members.note_bad_header_slots(member->id, 1);
  }
}

// What cannot be read of it is forgotten: nothing rests on it.
Status load_device_records(StoreParts& parts) {
  for (std::size_t i = 0; i < parts.members->size(); ++i) {
    const DeviceId id = parts.members->at(i).id;
    HEXAD_TRY_ASSIGN(const auto value, parts.metadata->get_latest(device_key(id)));
    if (!value.has_value()) continue;
    Result<DeviceRecord> record = decode_device(*value);
    if (record.ok()) {
      parts.device_records.emplace(id, *std::move(record));
    } else {
      parts.notes.push_back("device " + std::to_string(id) +
                            ": errors and completions of earlier openings are not known, " +
                            record.error().message);
    }
  }
  return {};
}

// BK7: before anything says that the old one is no member any more.
Result<DeviceCopy> copy_replaced(StoreParts& parts, const ReplacedDevice& replaced,
                                 const Replacement& replacement) {
  const Member& member = *parts.members->find(replacement.device);
  HEXAD_TRY(reserve_room_below(*parts.members, *parts.space, member.id, parts.shape->unit));
  HEXAD_TRY_ASSIGN(DeviceCopy copy, copy_device(*parts.space, replaced, member, replacement,
                                                parts.system->executor()));
  std::uint64_t unread = 0;
  for (const alloc::Extent& extent : copy.unread) unread += extent.units * parts.shape->unit;
  parts.notes.push_back(
      "device " + std::to_string(member.id) + ": " + format_size(copy.bytes) +
      " were copied from " + replaced.device->name() + ", whose place " + member.path + " takes" +
      (unread == 0 ? "" : "; " + format_size(unread) + " could not be read there and are rebuilt"));
  return copy;
}

// All of open_parts(), into `parts`, whose devices are asked when it fails.
Status open_all(const PoolDescription& pool, const RuntimeOptions& options, io::System* system,
                kv::IndexHome* indexes, const Replacement* replacement, StoreParts& parts) {
  HEXAD_TRY(options.validate());
  parts.options = options;
  parts.pool = pool;
  if (system == nullptr) {
    HEXAD_TRY_ASSIGN(parts.owned_system, io::make_real_system());
    system = parts.owned_system.get();
  }
  parts.system = system;
  const bool writing = options.access == Access::kReadWrite;
  const io::OpenMode mode = writing ? io::OpenMode::kReadWrite : io::OpenMode::kReadOnly;
  HEXAD_TRY(check_duplicates(pool, {}));
  HEXAD_TRY_ASSIGN(Survey survey, survey_devices(pool, mode, *system, options.unwritable_devices));
  parts.pool.fast_directories = survey.fast_directories;
  HEXAD_TRY_ASSIGN(Assignment assignment, assign_members(survey));
  ReplacedDevice replaced;
  if (replacement != nullptr) {
    HEXAD_TRY_ASSIGN(replaced, prepare_replacement(*replacement, *system, survey, assignment));
  }
  const alloc::RootChoice& choice = assignment.choice;
  parts.root = choice.root;
  parts.shape = std::make_unique<StoreShape>(shape_of(survey, choice.root));
  parts.compression = survey.options.compression;
  parts.redundant_devices = survey.label.redundant_devices;
  parts.unrecognised = std::move(assignment.unrecognised);
  HEXAD_TRY(check_duplicates(pool, parts.unrecognised));
  HEXAD_TRY(check_enough(assignment, *parts.shape, options.access));
  alloc::Ground ground = alloc::ground_of(choice, parts.shape->m());
  if (writing) {
    HEXAD_TRY_ASSIGN(ground, find_ground(choice, *parts.shape, options.split_risk));
  } else if (ground == alloc::Ground::kNone) {
    parts.notes.push_back(
        "the devices that are there do not know whether the others have been written without them, "
        "and if so, what is read is old: " +
        list_missing(choice));
  }

  io::Executor& executor = system->executor();
  parts.counters = std::make_unique<Counters>();
  parts.compression_counters = std::make_unique<compression::Counters>();
  parts.members = std::make_unique<Members>(executor, std::move(assignment.members),
                                            options.flush_sharing, choice.root.domain_cells);
  HEXAD_TRY_ASSIGN(parts.codec, ec::make_codec(parts.shape->profile));
  if (indexes == nullptr) {
    parts.owned_indexes = kv::make_lmdb_home(executor);
    indexes = parts.owned_indexes.get();
  }
  parts.indexes = indexes;
  if (parts.owned_indexes == nullptr || !survey.fast_directories.empty()) {
    parts.index_directory = index_directory(survey.fast_directories);
  }
  if (options.bus_errors == BusErrors::kExplain && !parts.index_directory.empty()) {
    HEXAD_TRY_ASSIGN(parts.bus_errors, io::BusErrorWatch::start(parts.index_directory + "/data.mdb",
                                                                kBusErrorMeaning));
  }
  parts.log_blobs = std::make_unique<LogBlobs>(executor, parts.shape->record);
  parts.space = std::make_unique<Space>(executor, *parts.shape, *parts.members, *parts.counters,
                                        *parts.log_blobs);
  parts.run_compressor =
      std::make_unique<compression::Compressor>(system->clock(), *parts.compression_counters);
  const bool parity = parts.shape->m() > 0;
  if (!parity && options.hedged_reads != HedgedReads::kOff) {
    parts.notes.push_back(
        "hedged reads are " + std::string(to_string(options.hedged_reads)) +
        ", but without parity there is nothing to read in place of what is late: reads wait");
  }
  parts.hedges = std::make_unique<ReadHedges>(parity ? options.hedged_reads : HedgedReads::kOff);
  parts.run_reader = std::make_unique<BlobReader>(
      *parts.shape, *parts.codec, *parts.run_compressor, *parts.space, system->queue(),
      *parts.counters, *parts.log_blobs, nullptr, BlobReader::OnLost(), parts.hedges.get());
  parts.cache =
      std::make_unique<ReadCache>(executor, options.cache_size, parts.shape->record.checksum_block);
  // Whoever only reads may not write there.
  parts.resident = std::make_unique<kv::ResidentPieces>(
      *system, writing ? resident_path(survey.fast_directories) : "",
      resident_table_memory(options.cache_size));
  parts.cache->set_resident(parts.resident.get());
  parts.resident->tell_memory(
      [cache = parts.cache.get()](std::uint64_t bytes) { cache->set_beside(bytes); });
  parts.runs =
      std::make_unique<RunCatalogue>(executor, *parts.shape, *parts.codec, *parts.run_reader,
                                     *parts.members, *parts.space, *parts.counters, *parts.cache);
  HEXAD_TRY(parts.runs->load(choice.root.manifest, choice.root.checkpoint_lsn));
  Lsn index_ahead = 0;
  HEXAD_TRY(open_index(survey, options.access, parts, &index_ahead));
  parts.metadata = std::make_unique<Metadata>(executor, *parts.index);

  HEXAD_TRY_ASSIGN(const auto totals, parts.metadata->get_latest(meta_key(kCounterTotals)));
  if (totals.has_value()) HEXAD_TRY(parts.counters->load_base(*totals));

  HEXAD_TRY(load_device_records(parts));

  Recovery recovery(*parts.shape, choice.root, *parts.members, *parts.index, *parts.metadata,
                    *parts.space, *parts.run_reader, *parts.counters);
  HEXAD_TRY_ASSIGN(Recovered recovered, recovery.run());
  HEXAD_TRY(check_epochs(recovered.scan, choice));
  if (index_ahead > recovered.last_lsn) {
    return Error{ErrorCode::kCorruption,
                 "the index on the fast tier holds LSN " + std::to_string(index_ahead) +
                     ", the log ends at LSN " + std::to_string(recovered.last_lsn) +
                     ": the devices are older than the fast tier, or have lost writes",
                 "Attach the right devices. To go on with what they have, move the directory " +
                     parts.index_directory + " away."};
  }
  HEXAD_TRY(check_refusals(*parts.members, "so it is not known what the pool holds"));
  HEXAD_TRY(parts.runs->mark_used());
  parts.last_lsn = recovered.last_lsn;
  parts.notes.insert(parts.notes.end(), recovered.notes.begin(), recovered.notes.end());
  if (!choice.root.clean_close &&
      parts.counters->since_open(CounterId::kRecoveredTransactions) > 0) {
    parts.notes.push_back(
        "recovery: replayed " +
        std::to_string(parts.counters->since_open(CounterId::kRecoveredTransactions)) +
        " transactions from the log");
  }
  if (writing) {
    Result<std::vector<std::string>> unsure =
        reserve_room_below(*parts.members, *parts.space, parts.shape->unit);
    if (!unsure.ok()) {
      return Error{unsure.error().code,
                   unsure.error().message +
                       "; the pool is not opened for writing, and no byte of "
                       "it has changed",
                   unsure.error().hint};
    }
    for (std::string& note : *unsure) parts.notes.push_back(std::move(note));
    if (replacement != nullptr) {
      HEXAD_TRY(make_replacement_ready(replacement->device, *parts.members, *parts.space));
    }
    DeviceCopy copy;
    if (replaced.device != nullptr) {
      HEXAD_TRY_ASSIGN(copy, copy_replaced(parts, replaced, *replacement));
      parts.bytes_copied = copy.bytes;
    }
    HEXAD_TRY(take_over(parts, recovery, recovered, choice, ground));
    mend_headers(survey, parts);
    parts.space->allow_healing();
    // All up to the end is durable now, and the fence says so (R9).
    parts.space->reclaim(parts.last_lsn);
    // BK8: a new device has shown no root yet.
    for (std::size_t i = 0; i < parts.members->size(); ++i) {
      const Member& member = parts.members->at(i);
      if (!member.replaced) continue;
      HEXAD_TRY(alloc::write_root({member.device.get(), member.layout.device_size}, parts.root));
      if (replaced.device == nullptr) parts.space->lack_everything(member.id);
      for (const alloc::Extent& extent : copy.unread) parts.space->lack(member.id, extent);
    }
  } else {
    HEXAD_TRY_ASSIGN(parts.torn, recovery.find_torn(recovered.incomplete));
    if (parts.torn.count() > 0) {
      parts.notes.push_back("recovery: " + std::to_string(parts.torn.count()) +
                            " cells of the last commits are not whole, as a crash leaves them; the "
                            "others make up for them, " +
                            (survey.of_the_past
                                 ? "and they stay so in a snapshot: in the pool that it was taken "
                                   "of, its writer or its next opening for writing writes them"
                                 : "and the next opening for writing writes them again"));
    }
  }
  return {};
}

}  // namespace

Result<StoreParts> open_parts(const PoolDescription& pool, const RuntimeOptions& options,
                              io::System* system, kv::IndexHome* indexes,
                              const Replacement* replacement) {
  StoreParts parts;
  PoolDescription all = pool;
  const bool known = replacement == nullptr || std::find(pool.devices.begin(), pool.devices.end(),
                                                         replacement->path) != pool.devices.end();
  if (!known) all.devices.push_back(replacement->path);
  const Status opened = open_all(all, options, system, indexes, replacement, parts);
  if (opened.ok()) return parts;
  // Whatever was made of a refused request, it is why.
  if (parts.members != nullptr) {
    HEXAD_TRY(check_refusals(*parts.members, "no device has left the pool by that"));
  }
  return opened.error();
}

Result<StoreStatus> inspect_devices(const PoolDescription& pool, io::System* system) {
  std::unique_ptr<io::System> owned;
  if (system == nullptr) {
    HEXAD_TRY_ASSIGN(owned, io::make_real_system());
    system = owned.get();
  }
  HEXAD_TRY_ASSIGN(Survey survey, survey_devices(pool, io::OpenMode::kLook, *system));
  StoreStatus status;
  status.uuid = survey.store;
  status.health = Health::kUnavailable;
  status.read_only = true;
  status.parity_cells = survey.label.m;
  status.redundant_devices = survey.label.redundant_devices;
  status.io_queue = system->queue().name();
  Result<Assignment> assignment = assign_members(survey);
  if (!assignment.ok()) {
    status.notes.push_back(assignment.error().message);
    for (const SurveyedDevice& device : survey.devices) {
      DeviceStatus row;
      row.path = device.path;
      const bool fast =
          device.path.size() > 4 && device.path.compare(device.path.size() - 4, 4, "/log") == 0;
      row.role = alloc::to_string(fast ? alloc::DeviceRole::kLog : alloc::DeviceRole::kData);
      row.state = "ok";
      if (device.label.has_value()) {
        row.id = device.label->device;
        row.role = alloc::to_string(device.label->role);
        row.size = device.label->layout.device_size;
        row.physical_block = device.label->layout.physical_block;
      }
      if (device.problem.has_value()) {
        row.state = device.problem->code == ErrorCode::kNotFound ? "missing" : "unreadable";
      }
      if (device.problem.has_value()) row.detail = device.problem->message;
      row.bad_header_slots = device.bad_slots();
      status.devices.push_back(std::move(row));
    }
    return status;
  }
  status.epoch = assignment->choice.root.epoch;
  status.domain_cells = assignment->choice.root.domain_cells;
  status.checkpoint_lsn = assignment->choice.root.checkpoint_lsn;
  for (const Member& member : assignment->members) {
    DeviceStatus row;
    row.id = member.id;
    row.path = member.path;
    row.role = alloc::to_string(member.role);
    row.state = member.state;
    row.detail = member.detail;
    row.bad_header_slots = member.bad_header_slots;
    row.size = member.layout.device_size;
    row.physical_block = member.layout.physical_block;
    row.draining = member.draining;
    row.failure_domain = member.domain;
    if (row.state == "ok" && member.draining) row.state = "draining";
    status.devices.push_back(std::move(row));
  }
  const std::uint32_t lost =
      alloc::lost_cells(assignment->choice.root, attached(assignment->members));
  status.health = health_with(lost, survey.label.m);
  status.faults_tolerated = tolerated_with(lost, survey.label.m);
  for (DeviceStatus& device : assignment->unrecognised) status.devices.push_back(std::move(device));
  return status;
}

}  // namespace hexad::core
