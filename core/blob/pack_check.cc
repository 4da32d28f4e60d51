#include "core/blob/pack_check.h"

#include <algorithm>

#include "base/units.h"
#include "core/blob/asked_again.h"
#include "core/blob/enough_cells.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

std::vector<MutByteView> views(AlignedBuffer& buffer, std::size_t count, std::size_t cell) {
  std::vector<MutByteView> cells;
  for (std::size_t i = 0; i < count; ++i) {
    cells.push_back(buffer.bytes().subspan(i * round_up(cell, AlignedBuffer::kAlignment), cell));
  }
  return cells;
}

AlignedBuffer buffer_for(std::size_t count, std::size_t cell) {
  return AlignedBuffer(count * round_up(cell, AlignedBuffer::kAlignment));
}

std::string describe(const CellPlace& place, std::uint32_t role) {
  return "cell " + std::to_string(role) + " on device " + std::to_string(place.id);
}

}  // namespace

Result<CheckedPack> PackChecker::check(const PackIdentity& stripe,
                                       std::span<const ExpectedBlob> expected, Cells which) const {
  const std::size_t cell = stripe.where.units * shape_.unit;
  for (const ExpectedBlob& one : expected) {
    HEXAD_ASSERT(one.cell < shape_.k() && one.cell_offset + std::uint64_t{one.stored} <= cell);
  }
  CheckedPack pack;
  HEXAD_TRY_ASSIGN(pack.places, map_.locate(stripe.where));
  ec::ShardSet there;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    if (pack.places[role].readable) there.add(role);
  }
  const ec::ShardSet absent = ec::ShardSet::first(shape_.cells()) - there;
  if (which == Cells::kEnough) there = enough_cells(pack.places, shape_.k()).value_or(there);
  AlignedBuffer read_buffer = buffer_for(shape_.cells(), cell);
  pack.buffer = buffer_for(shape_.cells(), cell);
  pack.right = views(pack.buffer, shape_.cells(), cell);

  std::vector<std::string> why(shape_.cells());
  HEXAD_TRY_ASSIGN(const Found found, read_cells(pack.places, there, read_buffer, cell, why));
  const std::vector<MutByteView> cells = views(read_buffer, shape_.cells(), cell);
  pack.read = found.read;
  pack.silent = found.silent;
  pack.checked = cell * pack.read.size();
  HEXAD_TRY_ASSIGN(pack.result,
                   verify_pack(cells, pack.read, pack.right, stripe, expected, shape_, codec_));
  for (int i = 0; shape_.m() == 0 && !pack.result.whole && i < kAskedAgain; ++i) {
    ec::ShardSet wanted = pack.result.bad | (there - pack.read - pack.silent);
    if (wanted.empty()) wanted = pack.read;  // without a footer nobody knows which
    AlignedBuffer buffer = buffer_for(shape_.cells(), cell);
    HEXAD_TRY_ASSIGN(const Found again, read_cells(pack.places, wanted, buffer, cell, why));
    for (const std::uint32_t role : again.read) {
      copy_bytes(cells[role], views(buffer, shape_.cells(), cell)[role]);
      why[role].clear();
    }
    counters_.add(CounterId::kCellsAskedAgain, wanted.size());
    pack.read = pack.read | again.read;
    pack.silent = pack.silent | again.silent;
    HEXAD_TRY_ASSIGN(pack.result,
                     verify_pack(cells, pack.read, pack.right, stripe, expected, shape_, codec_));
  }
  counters_.add(CounterId::kChecksumErrors, pack.result.bad.size());
  for (const std::uint32_t role : pack.result.bad) pack.places[role].device->note_mismatch();
  if (pack.result.whole) {
    counters_.add(CounterId::kCellsReconstructed,
                  (absent | (there - pack.read) | pack.result.bad).size());
  }
  pack.bad = (there - pack.read - pack.silent) | pack.result.bad;
  const auto add = [&](const std::string& problem) {
    pack.problems += (pack.problems.empty() ? "" : "; ") + problem;
  };
  for (const std::uint32_t role : pack.bad) {
    const std::string subject = describe(pack.places[role], role);
    if (!why[role].empty()) {
      add(subject + ": " + why[role]);
    } else {
      add(subject +
          (role < shape_.k() ? " does not match its checksum" : " is not the code of the data"));
    }
  }
  if (!pack.result.whole) {
    add(pack.result.problem);
    for (const std::uint32_t role : pack.silent) {
      add(describe(pack.places[role], role) + ": " + why[role]);
    }
  }
  return pack;
}

void PackChecker::heal(const CheckedPack& pack) const {
  if (!pack.result.whole) return;
  for (const std::uint32_t role : pack.bad) map_.heal(pack.places[role], pack.right[role]);
}

bool PackChecker::repair(const CheckedPack& pack) const {
  if (!pack.result.whole) return false;
  heal(pack);
  const std::size_t cell = pack.right[0].size();
  AlignedBuffer buffer = buffer_for(shape_.cells(), cell);
  std::vector<std::string> why(shape_.cells());
  const Result<Found> again = read_cells(pack.places, pack.bad, buffer, cell, why);
  if (!again.ok() || again->read != pack.bad) return false;
  const std::vector<MutByteView> cells = views(buffer, shape_.cells(), cell);
  return std::all_of(pack.bad.begin(), pack.bad.end(), [&](std::uint32_t role) {
    return std::equal(cells[role].begin(), cells[role].end(), pack.right[role].begin());
  });
}

Result<PackChecker::Found> PackChecker::read_cells(const std::vector<CellPlace>& places,
                                                   ec::ShardSet wanted, AlignedBuffer& buffer,
                                                   std::size_t cell,
                                                   std::vector<std::string>& why) const {
  const std::vector<MutByteView> into = views(buffer, shape_.cells(), cell);
  Found found;
  std::vector<std::uint32_t> roles;
  std::vector<io::IoRequest> reads;
  for (const std::uint32_t role : wanted) {
    io::Device& device = *places[role].device;
    if (io::is_silent(device)) {
      found.silent.add(role);
      why[role] = device.name() + " " + io::describe_silence(device);
      continue;
    }
    roles.push_back(role);
    reads.push_back(io::IoRequest::read(device, places[role].offset, into[role]));
    counters_.add(CounterId::kDeviceBytesRead, cell);
  }
  const std::vector<Status> outcomes = io::read_round(queue_, std::move(reads), buffer);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (outcomes[i].ok()) {
      found.read.add(roles[i]);
      continue;
    }
    if (outcomes[i].error().code == ErrorCode::kFenced) return outcomes[i].error();
    why[roles[i]] = outcomes[i].error().message;
    if (outcomes[i].error().code == ErrorCode::kUnavailable) {
      found.silent.add(roles[i]);
    } else {
      counters_.add(CounterId::kReadErrors);
    }
  }
  return found;
}

}  // namespace hexad::core
