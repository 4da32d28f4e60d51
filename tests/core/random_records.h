// Random values that the format allows, for round trips and for breaking.
#pragma once

#include <string>

#include "core/record/log_record.h"
#include "core/record/record.h"
#include "io/rng.h"

namespace hexad::core {

RecordShape random_shape(io::Rng& rng);
std::string random_bytes(io::Rng& rng, std::size_t size);
Blob random_blob(io::Rng& rng, const RecordShape& shape);
// Extents of one page: inline ones, new blobs, parts of blobs that others show as well.
ExtentList random_page(io::Rng& rng, std::uint32_t page, const RecordShape& shape);
PageCuts random_cuts(io::Rng& rng);  // at least one
ObjectRecord random_object(io::Rng& rng, const RecordShape& shape);
CollectionRecord random_collection(io::Rng& rng);
CollectionTotals random_totals(io::Rng& rng);
// Pack stripes and private ones that agree with the places in them, and payloads.
GroupPart random_group(io::Rng& rng, const RecordShape& shape);
LogRecord random_log_record(io::Rng& rng, const RecordShape& shape);

}  // namespace hexad::core
