#include "core/blob/stripe_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "ec/stripe_layout.h"
#include "io/refused.h"

namespace hexad::core {

namespace {

struct Accounts {
  CounterId payload;
  CounterId padding;
  CounterId parity;
  io::IoCause data_cause;
  io::IoCause parity_cause;
};

Accounts accounts_of(StripeUse use) {
  switch (use) {
    case StripeUse::kUser:
      return {CounterId::kDeviceBytesUser, CounterId::kDeviceBytesPadding,
              CounterId::kDeviceBytesParity, io::IoCause::kUser, io::IoCause::kParity};
    case StripeUse::kRun:
      return {CounterId::kDeviceBytesRun, CounterId::kDeviceBytesPadding,
              CounterId::kDeviceBytesParity, io::IoCause::kRun, io::IoCause::kRun};
    case StripeUse::kMerge:
      return {CounterId::kDeviceBytesMerge, CounterId::kDeviceBytesPadding,
              CounterId::kDeviceBytesParity, io::IoCause::kMerge, io::IoCause::kMerge};
    case StripeUse::kManifest:
      return {CounterId::kDeviceBytesSuper, CounterId::kDeviceBytesSuper,
              CounterId::kDeviceBytesSuper, io::IoCause::kSuper, io::IoCause::kSuper};
    case StripeUse::kClean:
      return {CounterId::kDeviceBytesClean, CounterId::kDeviceBytesPadding,
              CounterId::kDeviceBytesParity, io::IoCause::kClean, io::IoCause::kClean};
  }
  HEXAD_ASSERT(false);
  return {};
}

}  // namespace

std::uint32_t StripeOutcome::durable() const {
  const auto is_durable = [](const Cell& cell) { return cell.fate == CellFate::kDurable; };
  return static_cast<std::uint32_t>(std::count_if(cells.begin(), cells.end(), is_durable));
}

std::uint64_t StripeOutcome::unwritten() const {
  std::uint64_t slots = 0;
  for (const Cell& cell : cells) {
    if (cell.fate != CellFate::kDurable) slots |= std::uint64_t{1} << cell.slot;
  }
  return slots;
}

StripeOutcome StripeWriter::append(const StripeWrite& stripe, io::WriteMode mode,
                                   std::vector<io::IoRequest>& requests,
                                   const std::set<DeviceId>& without) const {
  const Result<std::vector<CellPlace>> places = space_.locate(stripe.where);
  HEXAD_ASSERT(places.ok());
  const Accounts accounts = accounts_of(use_);
  const PreparedBlob& prepared = stripe.prepared;
  const std::uint64_t bytes = prepared.blob.cell_bytes;
  const ec::StripeGeometry geometry{shape_.k(), shape_.m(),
                                    stripe_rotation(stripe.where.unit, shape_.cells())};
  StripeOutcome outcome;
  outcome.where = stripe.where;
  outcome.cells.reserve(shape_.cells());
  std::uint64_t payload = 0;
  std::uint64_t data = 0;
  std::uint64_t parity = 0;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    const CellPlace& place = (*places)[role];
    outcome.cells.push_back({ec::slot_of_role(geometry, role), place.id, CellFate::kUnsent});
    if (!place.readable || without.contains(place.id)) continue;
    outcome.cells.back().fate = CellFate::kSent;
    const bool is_data = role < shape_.k();
    requests.push_back(io::IoRequest::write(*place.device, place.offset, prepared.cell(role), mode,
                                            is_data ? accounts.data_cause : accounts.parity_cause));
    (is_data ? data : parity) += bytes;
    if (is_data) payload += prepared.payload_of(role);
  }
  counters_.add(accounts.payload, payload);  // SW1
  counters_.add(accounts.padding, data - payload);
  counters_.add(accounts.parity, parity);
  return outcome;
}

void StripeWriter::release(const alloc::Extent& where) const {
  if (use_ == StripeUse::kUser || use_ == StripeUse::kClean) {
    space_.discard(where);
  } else {
    space_.discard_internal(where);
  }
}

StripeBatch::~StripeBatch() {
  if (submitted_ && !landed_) wait();
}

void StripeBatch::add(const StripeWrite& stripe, const std::set<DeviceId>& without) {
  HEXAD_ASSERT(!submitted_);
  stripes_.push_back(writer_.append(stripe, io::WriteMode::kDurable, batch_.requests, without));
}

void StripeBatch::submit() {
  HEXAD_ASSERT(!submitted_);
  submitted_ = true;
  if (!batch_.requests.empty()) batch_.requests.front().device->queue().submit(batch_);
}

void StripeBatch::wait() {
  if (batch_.requests.empty()) return;
  io::IoQueue& queue = batch_.requests.front().device->queue();
  if (submitted_) {
    queue.wait(batch_);
  } else {
    queue.run(batch_);
  }
}

LandedStripes StripeBatch::land() {
  wait();
  Status refused;
  for (const io::IoRequest& request : batch_.requests) {
    if (refused.ok() && io::is_refused(request)) refused = request.status;
  }
  return judge(std::move(refused));
}

LandedStripes StripeBatch::land_patiently(io::Executor& executor) {
  wait();
  return judge(io::send_again_briefly(batch_, executor));
}

// All requests have their outcome.
LandedStripes StripeBatch::judge(Status refused) {
  HEXAD_ASSERT(!landed_);
  submitted_ = true;
  landed_ = true;
  LandedStripes landed;
  landed.status = std::move(refused);
  std::size_t next = 0;  // request
  for (StripeOutcome& stripe : stripes_) {
    const std::size_t first = next;
    for (StripeOutcome::Cell& cell : stripe.cells) {
      if (cell.fate == CellFate::kUnsent) continue;
      const io::IoRequest& request = batch_.requests[next++];
      if (request.status.ok()) {
        cell.fate = CellFate::kDurable;
      } else if (request.device->is_retired()) {
        cell.fate = CellFate::kUnsent;  // SW4
      } else if (io::is_refused(request)) {
        cell.fate = CellFate::kRefused;
      } else {
        cell.fate = CellFate::kFailed;
        landed.failed.insert(cell.device);
      }
    }
    if (landed.status.ok()) landed.status = check_count(stripe, first);
  }
  landed.stripes = std::move(stripes_);
  writer_.space().suspect(landed.failed);  // SW2
  return landed;
}

// SW3. `first`: of its requests.
Status StripeBatch::check_count(const StripeOutcome& outcome, std::size_t first) const {
  const StoreShape& shape = writer_.shape();
  if (outcome.durable() >= shape.k()) return {};
  const std::string subject = alloc::to_string(outcome.where) + ": " +
                              std::to_string(outcome.durable()) + " of " +
                              std::to_string(shape.cells()) + " cells could be written, " +
                              std::to_string(shape.k()) + " are needed";
  for (const StripeOutcome::Cell& cell : outcome.cells) {
    if (cell.fate == CellFate::kUnsent) continue;
    const Status& status = batch_.requests[first++].status;
    if (!status.ok()) return status.error().with_context(subject);
  }
  return Error{ErrorCode::kUnavailable, subject, "Attach the missing devices."};
}

}  // namespace hexad::core
