// Whether the index on the fast tier can be used at an opening. It is a copy: what is wrong with it
// is told and costs time, and nothing else.
//
//   its LSN and epoch are those of the runs     used as it is
//   its LSN is an earlier one                   opened for writing: gets what it lacks from the
//                                               runs, where they say it. A crash between root and
//                                               index leaves this
//   another opening for writing wrote it        not used: LSNs and epochs are those of two
//                                               histories, where the devices, or the index, are
//                                               of a copy that was written to on its own (P11 of
//                                               alloc/root_choice.h), or were put back as they
//                                               had been
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
#include <optional>
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

// What a checkpoint by the writer `nonce` leaves under kCheckpointWriter in its run and in the
// index.
std::string encode_checkpoint_writer(std::uint64_t nonce);
// Of runs: what is there. Empty: before 2026-11-27, or no runs. Nothing: it cannot be read, and
// then any index will do.
std::optional<std::string> checkpoint_writer(const std::shared_ptr<const kv::RunSet>& runs);
// Whether the index, verified, has the same. Errors: kCorruption (another), those of reading.
Status check_checkpoint_writer(kv::Index& index, const std::optional<std::string>& writer);

// `writer`: of the runs. Errors: kBusy (somebody else has it open), and of applying what it lacks
// none: then it is not used.
Result<FastIndex> open_fast_index(kv::IndexHome& indexes, const std::string& directory,
                                  const Uuid& store, io::OpenMode mode, const kv::RunSet& runs,
                                  const std::optional<std::string>& writer);

}  // namespace hexad::core
