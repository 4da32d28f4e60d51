// Reads of one open store: a pinned state, the object's record and extents, the blobs behind them.
// Also what a collection holds, attributes, omaps, listings.
//
// Any thread. Takes no lock but those of the cache and, for a moment, of the pins; a read that the
// cache answers takes none of the latter. Holds no state of its own beside a reference to each part
// of the store, all of which outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "core/api/pinned_bytes.h"
#include "core/api/types.h"
#include "core/blob/blob_read.h"
#include "core/cache/read_cache.h"
#include "core/cache/read_gather.h"
#include "core/cache/read_pins.h"
#include "core/metadata/metadata.h"
#include "core/record/plain_object.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

// One consistent state for reading. Space that it needs is not reused while it lives.
// A thread has one of these or one snapshot of the index at a time, which tests watch
// (nested_readers_test): who had two could wait for himself.
struct ReadState {
  ReadPins::Pin pin;
  std::unique_ptr<MetaView> view;
};

// What a StoreReader reads from.
struct ReadSources {
  const StoreShape& shape;
  Metadata& metadata;
  LogBlobs& log_blobs;  // places of blobs whose records still say that they are in the log
  const BlobReader& blobs;
  ReadCache& cache;
  ReadPins& pins;
  Counters& counters;
  io::Executor& executor;
  // The newest LSN that readers may see.
  std::function<Lsn()> visible;
};

class StoreReader {
 public:
  explicit StoreReader(ReadSources sources);

  // --- states, and what is found in them (store_reader.cc) ---
  Result<ReadState> read_state();
  // Keeps what is visible now, and everything newer, from being reclaimed or forgotten.
  ReadPins::Pin pin_visible();
  // Errors: kNotFound.
  Result<CollectionRecord> find_collection(MetaView& view, std::string_view collection);
  Result<ObjectRecord> find_object(MetaView& view, std::string_view collection,
                                   std::string_view name);
  // An object's record as the view has it, from the read cache or into it. Errors: kNotFound.
  Result<std::shared_ptr<const CachedRecord>> find_cached(MetaView& view,
                                                          std::string_view collection,
                                                          std::string_view name) {
    return find_cached(view, collection, name, nullptr);
  }
  // An entry of the object's omap; nothing: there is none (read_omap.cc).
  Result<std::optional<ObjectRecord>> find_entry(MetaView& view, const ObjectRecord& object,
                                                 std::string_view key);

  // --- bytes of what was found ---
  // Fills `out` from `offset`; the caller has cut the range to the object's size.
  Status read_range(MetaView& view, const ObjectRecord& record, std::uint64_t offset,
                    MutByteView out);
  // The same, with the pages (when the object has any) from somewhere else.
  using PageSource = std::function<Result<ExtentList>(std::uint32_t page)>;
  Status read_pages(const ObjectRecord& record, std::uint64_t offset, MutByteView out,
                    const PageSource& page_of);
  // The same as read_range(), from the read cache and into it.
  Status read_through_cache(MetaView& view, const CachedRecord& record, std::uint64_t offset,
                            MutByteView out);

  // --- the calls of Store, which says what they mean (core/store.h) ---
  Result<Bytes> get(std::string_view collection, std::string_view name);
  std::optional<PinnedBytes> cached(std::string_view collection, std::string_view name);
  Result<std::uint64_t> read(std::string_view collection, std::string_view name,
                             std::uint64_t offset, MutByteView into);
  std::optional<std::uint64_t> cached_read(std::string_view collection, std::string_view name,
                                           std::uint64_t offset, MutByteView into);
  // For who opened a version of the object and reads on: as read() of out.size() bytes that are
  // there, when the object still is of that version and its name in that space. False: it is
  // another one by now, or the cache has no use for so long a read; nothing is read.
  Result<bool> read_if_unchanged(std::string_view collection, std::string_view name,
                                 CollectionId space, Lsn version, std::uint64_t offset,
                                 MutByteView out);
  // (read_ranges.cc)
  Result<Bytes> read_ranges(std::string_view collection, std::string_view name,
                            std::span<const ByteRange> ranges);
  Status read_ranges(std::string_view collection, std::string_view name,
                     std::span<RangeInto> ranges);
  Result<std::vector<ByteRange>> extents(std::string_view collection, std::string_view name,
                                         const ByteRange& range);
  Result<RangeChecksum> checksum(std::string_view collection, std::string_view name,
                                 const ByteRange& range, ChecksumType type);
  // (read_omap.cc)
  Result<std::map<std::string, Bytes>> omap_get(std::string_view collection, std::string_view name,
                                                std::span<const std::string> keys);
  Result<Bytes> omap_header(std::string_view collection, std::string_view name);
  Result<OmapPage> omap_list(std::string_view collection, std::string_view name,
                             const OmapOptions& options);
  // (read_facts.cc)
  Result<bool> exists(std::string_view collection, std::string_view name);
  Result<ObjectStat> stat(std::string_view collection, std::string_view name);
  std::optional<ObjectStat> cached_stat(std::string_view collection, std::string_view name);
  std::optional<std::uint64_t> cached_size(std::string_view collection, std::string_view name);
  Result<ObjectStat> stat_of(MetaView& view, const ObjectRecord& record);
  Result<Attributes> attributes(std::string_view collection, std::string_view name);
  Result<std::optional<std::string>> attribute(std::string_view collection, std::string_view name,
                                               std::string_view attribute);
  // (read_collections.cc)
  // `deleted` gets how many deleted names the page passed over.
  Result<ListPage> list(std::string_view collection, const ListOptions& options,
                        std::uint64_t& deleted);
  Result<std::vector<CollectionInfo>> collections();
  Result<CollectionInfo> collection(std::string_view name);
  Result<CollectionUsage> collection_usage(std::string_view name);

 private:
  // What one read finds that has no read cache to leave it in. What is found lies in here.
  struct Room {
    std::optional<PlainObject> plain;
    std::optional<CachedRecord> record;
  };
  // The same. With `room` and without a read cache what is found lies there; null: the object is
  // plain, and its bytes are its blob's.
  Result<std::shared_ptr<const CachedRecord>> find_cached(MetaView& view,
                                                          std::string_view collection,
                                                          std::string_view name, Room* room);
  // Fills `out` from `offset`. `record`: null where the object is plain.
  Status read_found(MetaView& view, const Room& room, const CachedRecord* record,
                    std::uint64_t offset, MutByteView out);
  bool read_from_cache(const CachedRecord& record, std::uint64_t offset, MutByteView out);
  Result<std::shared_ptr<const CachedRecord>> find_page(MetaView& view, BodyId body,
                                                        std::uint32_t page);
  // Of an object whose record is_small(): all of it is read, and left with the record.
  Status read_small(const CachedRecord& record, std::uint64_t offset, MutByteView out);
  // Counts a read that the cache alone could not answer.
  void note_read(io::Nanos began, std::uint64_t bytes);
  // One object of one state, read range by range: the page that was looked up last is kept.
  struct RangeReader {
    MetaView& view;
    const CachedRecord& record;
    bool keep;                // what the gathering leaves in the read cache; and look there
    std::uint64_t bytes = 0;  // of all that one call reads
    std::shared_ptr<const CachedRecord> page = nullptr;
    std::uint32_t page_index = 0;
  };
  // `out` is filled when the gathering is finished.
  Status gather_range(RangeReader& reader, ReadGather& gather, std::uint64_t offset,
                      MutByteView out);

  // read_ranges.cc
  struct WantedRange;
  Status read_wanted(MetaView& view, const CachedRecord& record, std::vector<WantedRange>& wanted);
  std::size_t first_round(std::span<const WantedRange> wanted) const;
  Status read_spans(RangeReader& reader, std::span<WantedRange> wanted);

  // read_omap.cc
  Result<Bytes> read_entry(MetaView& view, const ObjectRecord& entry);

  const StoreShape& shape_;
  Metadata& metadata_;
  LogBlobs& log_blobs_;
  const BlobReader& blobs_;
  ReadCache& cache_;
  ReadPins& pins_;
  Counters& counters_;
  io::Executor& executor_;
  const std::function<Lsn()> visible_;
};

// What a call says of an object that is not there.
Error no_object(std::string_view collection, std::string_view name);

}  // namespace hexad::core
