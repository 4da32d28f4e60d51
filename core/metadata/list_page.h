// One page of a collection's names out of one state.
//
// Names that are rolled up are skipped by seeking behind them: one seek per common prefix, whatever
// lies below it. In either order that is one comparison of keys: everything below a common prefix
// begins with it, and nothing else lies in between.
//
// The names of a collection that was split or merged lie in several ranges of keys, in the order of
// the names: each range that the page reaches has a cursor of its own.
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/api/types.h"
#include "core/metadata/metadata.h"
#include "core/record/keys.h"
#include "core/record/record.h"

namespace hexad::core {

// Errors: kInvalidArgument, a text that is longer than a name may be.
Status check_list_options(const ListOptions& options);

// `moves`, when given, gets what it took. Cost: that of the cursor (core/metadata/metadata.h),
// which stays inside the names that begin with the prefix. Errors: kCorruption (a record that
// cannot be read), kIo.
Result<ListPage> list_page(MetaView& view, const CollectionRecord& collection,
                           const ListOptions& options, CursorMoves* moves = nullptr);

}  // namespace hexad::core
