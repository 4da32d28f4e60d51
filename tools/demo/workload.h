// What the crash demonstration writes: an endless row of transactions, each a pure function of the
// seed, of the round (one life of the writing process) and of its number, so that whoever knows
// how far the store has come knows every byte that has to be in it.
//
// Every transaction puts two to five objects of 64 KiB to 4 MiB, marks each with its number, may
// remove one and rename one, and notes its number in the object kHeadName. The state after n
// transactions is thus different from the state after any other number of them, and a state that
// holds half of one is nobody's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "core/api/transaction.h"

namespace hexad::tools::demo {

inline constexpr const char* kLedgerCollection = "crash-ledger";
inline constexpr const char* kHeadName = "head";
inline constexpr const char* kNumberAttribute = "number";

// Where the content of an object comes from.
struct Origin {
  std::uint64_t round = 0;
  std::uint64_t number = 0;  // of the transaction that put it
  std::uint64_t slot = 0;    // under which name it was put
  std::uint64_t size = 0;    // bytes

  bool operator==(const Origin&) const = default;
};

// Object names and what they have to hold; the head is not among them.
using Model = std::map<std::string, Origin>;

struct Rename {
  std::string from;
  std::string to;
};

struct Change {
  std::map<std::string, Origin> puts;
  std::vector<std::string> removes;
  std::vector<Rename> renames;  // after puts and removes
};

// What transaction `number` does in a store that looks like `model`.
Change plan_change(std::uint64_t seed, std::uint64_t round, std::uint64_t number,
                   const Model& model);
void apply_change(const Change& change, Model& model);
// The change as a transaction. Cost: the payloads are made here.
Transaction build(const Change& change, std::uint64_t seed, std::uint64_t round,
                  std::uint64_t number);

// Half of all contents are random bytes, half compress well.
Bytes content(std::uint64_t seed, const Origin& origin);
std::string head_text(std::uint64_t round, std::uint64_t number);

struct Head {
  std::uint64_t round = 0;
  std::uint64_t number = 0;
};
// Errors: kCorruption.
Result<Head> parse_head(std::string_view text);

// The transactions of one round that have survived.
struct Span {
  std::uint64_t round = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
// One "ROUND FIRST LAST" per line; numbers go on from line to line. Errors: kInvalidArgument.
Result<std::vector<Span>> parse_ledger(std::string_view text);
Model replay(std::uint64_t seed, const std::vector<Span>& ledger);

}  // namespace hexad::tools::demo
