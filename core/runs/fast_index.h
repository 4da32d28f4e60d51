// Whether the index on the fast tier can be used at an opening. It is a copy: what is wrong with it
// is told and costs time, and nothing else.
//
//   its LSN and epoch are those of the runs     used as it is
//   its LSN is an earlier one                   opened for writing: gets what it lacks from the
//                                               runs, where they say it. A crash between root and
//                                               index leaves this, or an older copy put back
//   there are no runs yet                       used when it is sound: a store before its first
//                                               checkpoint, or from before there were runs
//   its LSN is a later one                      not used, and told: should recovery not reach that
//                                               LSN, the devices have lost what was acknowledged
//   missing, damaged, another store's           not used
//
// LMDB believes its pages, so an index is verified before anything is asked of it: here when it is
// small, else by the caller, who reads from the runs until then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/system.h"
#include "kv/index.h"
#include "kv/run/run_set.h"

namespace hexad::core {

inline constexpr std::uint64_t kVerifiedAtOpening = 32 << 20;  // bytes of the index

struct FastIndex {
  std::unique_ptr<kv::Index> index;  // null: not to be used
  bool verified = true;
  std::string problem;  // why not, or what was done; empty: nothing to tell
  Lsn ahead = 0;        // its LSN, when that is later than the runs'
};

// Errors: kBusy (somebody else has it open), and of applying what it lacks none: then it is not
// used.
Result<FastIndex> open_fast_index(kv::IndexHome& indexes, const std::string& directory,
                                  const Uuid& store, io::OpenMode mode, const kv::RunSet& runs);

}  // namespace hexad::core
