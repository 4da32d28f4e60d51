#include "core/runs/run_catalogue.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/runs/coded_file.h"

namespace hexad::core {

namespace {

class CodedRunFile final : public kv::RunFile {
 public:
  CodedRunFile(const BlobReader& reader, CodedFile file) : file_(reader, std::move(file)) {}
  std::uint64_t size() const override { return file_.size(); }
  Status read(std::uint64_t offset, MutByteView out) const override {
    return file_.read(offset, out);
  }
  Status read_together(std::span<const kv::RunRead> reads) const override {
    std::vector<CodedFileReader::Read> all;
    all.reserve(reads.size());
    for (const kv::RunRead& read : reads) {
      all.push_back({&static_cast<const CodedRunFile*>(read.file)->file_, read.offset, read.out});
    }
    return CodedFileReader::read_together(all);
  }

 private:
  CodedFileReader file_;
};

class CodedRunSink final : public kv::RunSink {
 public:
  explicit CodedRunSink(CodedFileWriter& file) : file_(file) {}
  Status append(ByteView bytes) override { return file_.append(bytes); }

 private:
  CodedFileWriter& file_;
};

kv::RunInfo info_of(const ManifestRun& run) {
  kv::RunInfo info;
  info.bytes = run.file.bytes;
  info.entries = run.entries;
  info.tombstones = run.tombstones;
  info.first_lsn = run.first_lsn;
  info.last_lsn = run.last_lsn;
  info.footer_crc = run.footer_crc;
  return info;
}

std::uint64_t units_of(const std::vector<alloc::Extent>& stripes) {
  std::uint64_t units = 0;
  for (const alloc::Extent& stripe : stripes) units += stripe.units;
  return units;
}

std::vector<std::uint64_t> sizes_of(const std::vector<ManifestRun>& runs) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(runs.size());
  for (const ManifestRun& run : runs) sizes.push_back(run.file.bytes);
  return sizes;
}

std::string name_of(const ManifestRun& run) {
  return "run " + std::to_string(run.id) + " of LSNs " + std::to_string(run.first_lsn) + " to " +
         std::to_string(run.last_lsn);
}

}  // namespace

std::uint64_t units_of(const std::vector<ManifestRun>& runs) {
  std::uint64_t units = 0;
  for (const ManifestRun& run : runs) units += units_of(stripes_of(run.file));
  return units;
}

RunCatalogue::RunCatalogue(io::Executor& executor, const StoreShape& shape, const ec::Codec& codec,
                           const BlobReader& reader, Members& members, Space& space,
                           Counters& counters, kv::RunCache& cache)
    : executor_(executor),
      shape_(shape),
      reader_(reader),
      members_(members),
      space_(space),
      counters_(counters),
      cache_(cache),
      store_(shape, codec, members, counters),
      mutex_(executor),
      set_(
          std::make_shared<const kv::RunSet>(std::vector<std::shared_ptr<kv::RunReader>>(), 0, 0)) {
  manifest_.store = shape.uuid;
  manifest_.next_run = 1;
}

Result<std::shared_ptr<kv::RunReader>> RunCatalogue::open(
    const ManifestRun& run, std::optional<std::uint64_t> serial) const {
  Result<std::shared_ptr<kv::RunReader>> reader =
      kv::RunReader::open(std::make_shared<CodedRunFile>(reader_, run.file), shape_.uuid,
                          info_of(run), cache_, serial.has_value() ? *serial : cache_.new_run());
  if (!reader.ok()) return reader.error().with_context(name_of(run));
  return reader;
}

Status RunCatalogue::load(const alloc::ManifestAddress& address, Lsn lsn) {
  if (address.is_nil()) return {};
  HEXAD_TRY(space_.register_zone(address.extent.zone, address.slots, space_.slab_units()));
  HEXAD_TRY_ASSIGN(const std::string bytes, store_.read(address));
  HEXAD_TRY_ASSIGN(Manifest manifest, decode_manifest(as_bytes(bytes), shape_.record));
  if (!(manifest.store == shape_.uuid) || manifest.lsn != lsn) {
    return Error{ErrorCode::kCorruption,
                 "the manifest is as of LSN " + std::to_string(manifest.lsn) + " of store " +
                     to_string(manifest.store) + ", the root names LSN " + std::to_string(lsn),
                 "Run hexad fsck POOL."};
  }
  for (const ManifestZone& zone : manifest.zones) {
    HEXAD_TRY(space_.register_zone(zone.zone, zone.slots, zone.units));
  }
  for (const ManifestRun& run : manifest.runs) {
    HEXAD_TRY_ASSIGN(readers_.emplace_back(), open(run));
  }
  manifest_ = std::move(manifest);
  address_ = address;
  const io::Lock lock(mutex_);
  set_ = std::make_shared<const kv::RunSet>(readers_, manifest_.lsn, manifest_.epoch);
  return {};
}

Status RunCatalogue::mark_used() {
  if (address_.is_nil()) return {};
  std::vector<alloc::Extent> stripes = stripes_of(manifest_);
  stripes.push_back(address_.extent);
  for (const alloc::Extent& stripe : stripes) HEXAD_TRY(space_.mark_used(stripe));
  return {};
}

std::shared_ptr<const kv::RunSet> RunCatalogue::set() const {
  const io::Lock lock(mutex_);
  return set_;
}

std::uint64_t RunCatalogue::bytes() const {
  std::uint64_t bytes = 0;
  for (const ManifestRun& run : manifest_.runs) bytes += run.file.bytes;
  return bytes;
}

RunDraft RunCatalogue::begin() const {
  RunDraft draft;
  draft.manifest = manifest_;
  draft.readers = readers_;
  if (!address_.is_nil()) draft.replaced.push_back({{address_.extent}, nullptr});
  return draft;
}

// A run as `fill` writes it, without an id. On an error all its space is given back.
Result<ManifestRun> RunCatalogue::write(const Writing& writing,
                                        const std::function<Status(kv::RunWriter&)>& fill) const {
  std::optional<CodedFileWriter> file;
  file.emplace(
      CodedFileWriter::World{shape_, writing.preparer, space_, members_, counters_, writing.use});
  CodedRunSink sink(*file);
  kv::RunWriter writer(sink, shape_.uuid, writing.first, writing.last, writing.filter_bits);
  const auto write_all = [&]() -> Result<ManifestRun> {
    HEXAD_TRY(fill(writer));
    HEXAD_TRY_ASSIGN(const kv::RunInfo info, writer.finish());
    ManifestRun run;
    run.first_lsn = writing.first;
    run.last_lsn = writing.last;
    run.entries = info.entries;
    run.tombstones = info.tombstones;
    run.footer_crc = info.footer_crc;
    HEXAD_TRY_ASSIGN(run.file, file->finish());
    return run;
  };
  Result<ManifestRun> run = write_all();
  writing.failed.insert(file->failed().begin(), file->failed().end());
  file.reset();  // what was still on its way may have failed, too
  writing.failed.merge(space_.suspects());
  return run;
}

std::optional<RunMerge> RunCatalogue::plan_merge(const RunDraft& draft) const {
  const std::vector<std::uint64_t> sizes = sizes_of(draft.manifest.runs);
  std::optional<kv::RunMergePlan> plan = kv::plan_run_merge(sizes, {});
  if (!space_.reserve_whole() && sizes.size() > 1) plan = {0, sizes.size()};
  return plan.has_value() ? std::optional<RunMerge>(merge_of(draft, *plan)) : std::nullopt;
}

std::optional<RunMerge> RunCatalogue::plan_merge_newer(const RunDraft& draft,
                                                       std::uint64_t than) const {
  if (!space_.reserve_whole()) return {};
  const std::vector<std::uint64_t> sizes = sizes_of(draft.manifest.runs);
  std::size_t newer = 0;
  while (newer < sizes.size() && draft.manifest.runs[newer].id != than) ++newer;
  if (newer == sizes.size()) return {};
  const auto plan = kv::plan_run_merge(std::span(sizes).first(newer), {});
  return plan.has_value() ? std::optional<RunMerge>(merge_of(draft, *plan)) : std::nullopt;
}

RunMerge RunCatalogue::merge_of(const RunDraft& draft, const kv::RunMergePlan& plan) {
  const std::vector<ManifestRun>& runs = draft.manifest.runs;
  const std::vector<std::uint64_t> sizes = sizes_of(runs);
  const auto first = static_cast<std::ptrdiff_t>(plan.first);
  const auto end = first + static_cast<std::ptrdiff_t>(plan.count);
  RunMerge merge;
  merge.inputs.assign(runs.begin() + first, runs.begin() + end);
  merge.readers.assign(draft.readers.begin() + first, draft.readers.begin() + end);
  merge.oldest = plan.first + plan.count == runs.size();
  const std::uint64_t together =
      std::accumulate(sizes.begin() + first, sizes.begin() + end, std::uint64_t{0});
  merge.largest = *std::max_element(sizes.begin(), sizes.end()) <= together;
  return merge;
}

Result<MergedRun> RunCatalogue::merge(const RunMerge& plan, const BlobPreparer& preparer,
                                      std::set<DeviceId>& failed,
                                      const std::function<Status()>& between) const {
  MergedRun merged;
  for (const ManifestRun& run : plan.inputs) merged.inputs.push_back(run.id);
  const Writing writing{preparer,
                        plan.inputs.back().first_lsn,
                        plan.inputs.front().last_lsn,
                        StripeUse::kMerge,
                        plan.largest ? kv::RunFilterBits::kOfLargest : kv::RunFilterBits::kUsual,
                        failed};
  const std::uint64_t serial = cache_.new_run();
  const auto inherit = [&](kv::RunPieceKind kind, std::uint64_t offset, ByteView stored) {
    cache_.inherit_stored({kind, serial, offset}, stored);
  };
  std::uint64_t moved = 0;
  Result<ManifestRun> run = write(writing, [&](kv::RunWriter& into) -> Status {
    // Tombstones are for older runs.
    const auto tombstones = plan.oldest ? kv::Tombstones::kDropped : kv::Tombstones::kKept;
    HEXAD_TRY(kv::merge_runs(plan.readers, tombstones, into, between, inherit));
    moved = into.taken_over();
    return Status();
  });
  if (!run.ok()) {
    cache_.end_run(serial);
    return run.error();
  }
  merged.run = std::move(run).value();
  Result<std::shared_ptr<kv::RunReader>> reader = open(merged.run, serial);
  if (!reader.ok()) {
    cache_.end_run(serial);
    drop(merged);
    return reader.error();
  }
  merged.reader = *std::move(reader);
  counters_.add(CounterId::kMergeBytesMoved, moved);
  counters_.add(CounterId::kMergeBytesMade, merged.run.file.bytes - moved);
  return merged;
}

void RunCatalogue::drop(const MergedRun& merged) const {
  for (const alloc::Extent& stripe : stripes_of(merged.run.file)) space_.discard_internal(stripe);
}

bool RunCatalogue::install(RunDraft& draft, MergedRun& merged) const {
  std::vector<ManifestRun>& runs = draft.manifest.runs;
  const auto at =
      std::search(runs.begin(), runs.end(), merged.inputs.begin(), merged.inputs.end(),
                  [](const ManifestRun& run, std::uint64_t id) { return run.id == id; });
  if (at == runs.end()) return false;
  const auto first = at - runs.begin();
  const auto end = first + static_cast<std::ptrdiff_t>(merged.inputs.size());
  for (auto i = first; i < end; ++i) {
    draft.replaced.push_back({stripes_of(runs[i].file), draft.readers[i]});
  }
  const std::vector<alloc::Extent> stripes = stripes_of(merged.run.file);
  draft.fresh.insert(draft.fresh.end(), stripes.begin(), stripes.end());
  merged.run.id = draft.manifest.next_run++;
  runs.erase(runs.begin() + first + 1, runs.begin() + end);
  runs[first] = std::move(merged.run);
  draft.readers.erase(draft.readers.begin() + first + 1, draft.readers.begin() + end);
  draft.readers[first] = std::move(merged.reader);
  counters_.add(CounterId::kRunsMerged, merged.inputs.size());
  return true;
}

std::vector<alloc::Extent> RunCatalogue::deferred_in_images(const RunDraft& draft) const {
  std::vector<alloc::Extent> stripes;
  for (const RunDraft::GivenUp& given : draft.replaced) {
    stripes.insert(stripes.end(), given.stripes.begin(), given.stripes.end());
  }
  for (const Waiting& waiting : waiting_) {
    stripes.insert(stripes.end(), waiting.stripes.begin(), waiting.stripes.end());
  }
  return stripes;
}

Status RunCatalogue::add_run(RunDraft& draft, const BlobPreparer& preparer, Lsn lsn, Epoch epoch,
                             const EachChange& changes) const {
  const Lsn after = draft.manifest.runs.empty() ? Lsn{0} : draft.manifest.runs.front().last_lsn;
  const Writing writing{preparer,
                        after,
                        lsn,
                        StripeUse::kRun,
                        after == 0 ? kv::RunFilterBits::kOfLargest : kv::RunFilterBits::kUsual,
                        draft.failed};
  HEXAD_TRY_ASSIGN(
      ManifestRun run, write(writing, [&](kv::RunWriter& into) {
        return changes([&](std::string_view key, std::optional<std::string_view> value) {
          // There is nothing older that it could hide.
          return after == 0 && !value.has_value() ? Status() : into.add(key, value);
        });
      }));
  run.id = draft.manifest.next_run++;
  const std::vector<alloc::Extent> stripes = stripes_of(run.file);
  draft.fresh.insert(draft.fresh.end(), stripes.begin(), stripes.end());
  HEXAD_TRY_ASSIGN(std::shared_ptr<kv::RunReader> reader, open(run));
  draft.manifest.runs.insert(draft.manifest.runs.begin(), std::move(run));
  draft.readers.insert(draft.readers.begin(), std::move(reader));
  draft.manifest.lsn = lsn;
  draft.manifest.epoch = epoch;
  return {};
}

Status RunCatalogue::write_manifest(RunDraft& draft) const {
  std::set<alloc::ZoneId> zones;
  for (const alloc::Extent& stripe : stripes_of(draft.manifest)) zones.insert(stripe.zone);
  draft.manifest.zones.clear();
  for (const alloc::ZoneId zone : zones) {
    const ZoneCreation made = space_.describe_zone(zone);
    draft.manifest.zones.push_back({made.zone, made.units, made.slots});
  }
  HEXAD_TRY_ASSIGN(
      draft.address,
      store_.write(space_, as_bytes(encode_manifest(draft.manifest, shape_.record)), draft.failed));
  draft.fresh.push_back(draft.address.extent);
  return {};
}

void RunCatalogue::adopt(RunDraft&& draft) {
  const Lsn lsn = draft.manifest.lsn;
  space_.publish_internal(draft.fresh, lsn);
  for (RunDraft::GivenUp& given : draft.replaced) {
    // The manifest has no reader: a pointer that was never set counts as expired.
    waiting_.push_back({std::move(given.stripes), given.reader, lsn});
  }
  draft.replaced.clear();
  manifest_ = std::move(draft.manifest);
  address_ = std::move(draft.address);
  readers_ = std::move(draft.readers);
  auto set = std::make_shared<const kv::RunSet>(readers_, manifest_.lsn, manifest_.epoch);
  const io::Lock lock(mutex_);
  set_.swap(set);
}

void RunCatalogue::discard(RunDraft& draft) const {
  for (const alloc::Extent& stripe : draft.fresh) space_.discard_internal(stripe);
  draft.fresh.clear();
}

Status RunCatalogue::release() {
  std::vector<Waiting> left;
  Status status;
  for (Waiting& waiting : waiting_) {
    if (!waiting.reader.expired()) {
      left.push_back(std::move(waiting));
      continue;
    }
    const Status freed = space_.free_internal(waiting.stripes, waiting.lsn);
    if (status.ok()) status = freed;
  }
  waiting_ = std::move(left);
  return status;
}

std::vector<RunCatalogue::HeldRun> RunCatalogue::held() const {
  std::vector<HeldRun> held;
  for (std::size_t i = 0; i < manifest_.runs.size(); ++i) {
    held.push_back({name_of(manifest_.runs[i]), manifest_.runs[i].file.pieces, readers_[i]});
  }
  return held;
}

std::vector<RunCatalogue::Owned> RunCatalogue::owned() const {
  std::vector<Owned> owned;
  for (const ManifestRun& run : manifest_.runs)
    owned.push_back({name_of(run), run.file.pieces, {}});
  if (!address_.is_nil()) owned.push_back({"the manifest", {}, {address_.extent}});
  for (const Waiting& waiting : waiting_) {
    owned.push_back({"a run or manifest that was replaced", {}, waiting.stripes});
  }
  return owned;
}

}  // namespace hexad::core
