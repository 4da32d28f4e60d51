// Where the cells of a stripe lie on the media of a test's devices, and damage to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/pack_stripe.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

struct CellOnMedia {
  std::size_t device = 0;
  std::uint64_t offset = 0;  // bytes
  Bytes bytes;               // that should be there
};
using StripeOnMedia = std::vector<CellOnMedia>;  // in role order

// The private stripe of a value that does not compress. Default profile. Fails the test when there
// is none.
StripeOnMedia find_private(StoreFixture& fixture, std::string_view value);

struct PackOnMedia {
  core::PackFooter footer;
  StripeOnMedia cells;
};
// The pack stripe with the most entries. Fails the test when there is none.
PackOnMedia find_pack(StoreFixture& fixture, const FormatOptions& options);

void write_cell(StoreFixture& fixture, const CellOnMedia& cell, ByteView bytes);
void flip_byte(StoreFixture& fixture, const CellOnMedia& cell, std::size_t at);
Bytes read_cell(StoreFixture& fixture, const CellOnMedia& cell);
void restore(StoreFixture& fixture, const StripeOnMedia& cells);
bool is_whole(StoreFixture& fixture, const StripeOnMedia& cells);
// A deep check that repairs finds one thing, and repairs it.
void require_repair(Store& store);

}  // namespace hexad::testing
