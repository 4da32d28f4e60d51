// Blobs that have stripes of their own on devices in memory, and what reads them from there.
#pragma once

#include <memory>

#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "ec/codec.h"
#include "io/executor.h"
#include "tests/core/memory_stripes.h"

namespace hexad::core::testing {

struct StoredBlobs {
  // With its cells on the devices, behind those of the blob before it.
  Blob store_blob(ByteView raw, const compression::Policy& policy = {}) {
    const PreparedBlob prepared =
        preparer.prepare(raw, compression::Hint::kNone, policy, BlobPreparer::Form::kOwnStripe)
            .value();
    Blob blob = prepared.blob;
    blob.where = {1, next_unit, prepared.units};
    next_unit += prepared.units;
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      const ByteView cell = prepared.cell(role);
      copy_bytes(map.cell_at(role, blob.where.unit * shape.unit, cell.size()), cell);
    }
    return blob;
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  StoreShape shape;
  std::unique_ptr<ec::Codec> codec = ec::make_codec(shape.profile).value();
  compression::Counters compression_counters;
  compression::Compressor compressor{executor->clock(), compression_counters};
  BlobPreparer preparer{shape, *codec, compressor};
  Counters counters;
  hexad::testing::CountingQueue queue;
  hexad::testing::MemoryStripes map{queue, shape.cells(), shape.unit};
  LogBlobs log_blobs{*executor, shape.record};
  BlobReader reader{shape, *codec, compressor, map, queue, counters, log_blobs};
  std::uint32_t next_unit = 1;
};

}  // namespace hexad::core::testing
