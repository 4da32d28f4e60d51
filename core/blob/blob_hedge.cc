// Reads that go round a device that takes long (core/blob/read_hedges.h): the same bytes of k other
// cells give those back that are waited for. What comes first counts.
//
// Nothing is judged by that: what is rebuilt so either verifies, or the late answer is waited for
// as if nothing else had been asked. Nothing is healed either.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/blob/blob_job.h"
#include "core/blob/blob_read.h"

namespace hexad::core {

namespace {

// What one late fetch is rebuilt from.
struct Others {
  Fetch* fetch;
  const Blob* blob;
  std::size_t request;  // that is late
  std::vector<MutByteView> shards;
  ec::ShardSet here;                 // that the read has got already
  std::vector<std::uint32_t> roles;  // that are asked for
  std::size_t first_extra = 0;       // the first of these in the extra batch
};

bool is_late(const io::IoBatch& batch, const io::Device* device) {
  return std::any_of(batch.requests.begin(), batch.requests.end(),
                     [&](const io::IoRequest& request) {
                       return request.device == device && !request.is_answered();
                     });
}

}  // namespace

struct BlobReader::Hedge {
  std::vector<Others> late;
  std::unique_ptr<io::IoBatch> extra = std::make_unique<io::IoBatch>();
};

io::Nanos BlobReader::patience(std::span<const Job> jobs, const io::IoBatch& batch) const {
  io::Nanos longest = 0;
  for (const Job& job : jobs) {
    for (std::size_t i = 0; i < job.fetches.size() && !job.degraded; ++i) {
      const io::Device& device = *batch.requests[job.first_request + i].device;
      longest = std::max(longest, hedges_->patience(job.fetches[i].device, device.read_times()));
    }
  }
  return longest;
}

bool BlobReader::plan_hedge(std::span<Job> jobs, const io::IoBatch& batch, Hedge& hedge) const {
  for (Job& job : jobs) {
    for (std::size_t i = 0; i < job.fetches.size() && !job.degraded; ++i) {
      if (batch.requests[job.first_request + i].is_answered()) continue;
      if (!plan_others(job, i, batch, hedge)) return false;
    }
  }
  return !hedge.late.empty() &&
         hedges_->take(static_cast<std::uint32_t>(hedge.extra->requests.size()));
}

bool BlobReader::plan_others(Job& job, std::size_t index, const io::IoBatch& batch,
                             Hedge& hedge) const {
  Result<std::vector<CellPlace>> places = map_.locate(job.blob->where);
  if (!places.ok()) return false;
  leave_out_silent(*places);
  Fetch& fetch = job.fetches[index];
  const auto stride = static_cast<std::size_t>(round_up(fetch.size, AlignedBuffer::kAlignment));
  fetch.others = AlignedBuffer(stride * shape_.cells());
  Others others{&fetch, job.blob, job.first_request + index, {}, {}, {}, 0};
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    others.shards.push_back(fetch.others.bytes().subspan(role * stride, fetch.size));
  }
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    const Fetch& got = job.fetches[i];
    const io::IoRequest& request = batch.requests[job.first_request + i];
    const bool covers = got.from <= fetch.from && fetch.from + fetch.size <= got.from + got.size;
    if (i == index || !covers || !request.is_answered() || !request.status.ok()) continue;
    copy_bytes(others.shards[got.wanted.role],
               got.buffer.subspan(fetch.from - got.from, fetch.size));
    others.here.add(got.wanted.role);
  }
  others.first_extra = hedge.extra->requests.size();
  const std::size_t most =
      hedges_->wants_all() ? shape_.cells() : shape_.k() - std::min(shape_.k(), others.here.size());
  for (std::uint32_t role = 0; role < shape_.cells() && others.roles.size() < most; ++role) {
    const CellPlace& place = (*places)[role];
    if (role == fetch.wanted.role || others.here.contains(role) || !place.readable) continue;
    if (!hedges_->wants_all() && is_late(batch, place.device)) continue;
    hedge.extra->requests.push_back(
        io::IoRequest::read(*place.device, place.offset + fetch.from, others.shards[role]));
    others.roles.push_back(role);
  }
  const bool enough = others.here.size() + others.roles.size() >= shape_.k();
  hedge.late.push_back(std::move(others));
  return enough;
}

BlobReader::Hedged BlobReader::use_hedge(const io::IoBatch& batch, Hedge& hedge) const {
  for (Others& others : hedge.late) {
    Fetch& fetch = *others.fetch;
    if (batch.requests[others.request].is_answered() || !fetch.rebuilt.empty()) continue;
    ec::ShardSet present = others.here;
    bool more = false;
    for (std::size_t i = 0; i < others.roles.size(); ++i) {
      const io::IoRequest& request = hedge.extra->requests[others.first_extra + i];
      if (!request.is_answered()) {
        more = true;
      } else if (request.status.ok()) {
        present.add(others.roles[i]);
      }
    }
    const Hedged without = more ? Hedged::kNotYet : Hedged::kNever;
    if (present.size() < shape_.k()) return without;
    AlignedBuffer rebuilt(fetch.size);
    others.shards[fetch.wanted.role] = rebuilt.bytes();
    const ec::ShardSet wanted{fetch.wanted.role};
    if (!codec_.reconstruct_wanted(others.shards, present, wanted).ok()) return Hedged::kNever;
    const ByteView verified =
        ByteView(rebuilt.bytes()).subspan(fetch.skip, fetch.end - fetch.begin);
    if (!verifies(fetch, verified, *others.blob, shape_.record)) return without;
    // Where it was read into, the device may still write.
    fetch.buffer = rebuilt.bytes();
    fetch.rebuilt = std::move(rebuilt);
    counters_.add(CounterId::kHedgesUsed);
  }
  return Hedged::kDone;
}

bool BlobReader::run_hedged(std::span<Job> jobs, io::IoBatch& batch) const {
  constexpr io::Nanos kFirstSlice = 50'000;
  constexpr io::Nanos kLongestSlice = 10'000'000;
  const io::Nanos began = queue_.now();
  const io::Nanos end = began + io::kSilence;
  for (io::IoRequest& request : batch.requests) request.sent = began;
  hedges_->note_reads(static_cast<std::uint32_t>(batch.requests.size()));
  const io::Nanos soon = std::min(patience(jobs, batch), io::kSilence);
  if (queue_.run_briefly(batch, soon)) return true;
  Hedge hedge;
  Hedged outcome = Hedged::kNever;
  if (queue_.now() < end && plan_hedge(jobs, batch, hedge)) {
    counters_.add(CounterId::kHedgedReads);
    counters_.add(CounterId::kHedgeDeviceReads, hedge.extra->requests.size());
    for (io::IoRequest& request : hedge.extra->requests) {
      request.sent = queue_.now();
      counters_.add(CounterId::kDeviceBytesRead, request.length);
    }
    queue_.submit(*hedge.extra);
    // For the others most of the time: they are expected.
    for (io::Nanos slice = std::max(soon, kFirstSlice); !batch.complete();
         slice = std::min(2 * slice, kLongestSlice)) {
      queue_.wait_briefly(*hedge.extra, slice);
      outcome = use_hedge(batch, hedge);
      if (outcome != Hedged::kNotYet || queue_.wait_briefly(batch, slice / 4)) break;
      if (queue_.now() >= end) break;
    }
    if (!hedge.extra->complete()) abandon(hedge);
  }
  if (outcome == Hedged::kDone) return batch.complete();
  if (queue_.wait_briefly(batch, std::max<io::Nanos>(end - queue_.now(), 0))) return true;
  io::IoQueue::count_timeouts(batch);
  return false;
}

void BlobReader::abandon(Hedge& hedge) const {
  std::vector<AlignedBuffer> buffers;
  for (Others& others : hedge.late) buffers.push_back(std::move(others.fetch->others));
  queue_.abandon(std::move(hedge.extra), std::move(buffers));
}

}  // namespace hexad::core
