// Reads that go round a device that takes long (core/blob/read_hedges.h): the same bytes of k other
// cells give those back that are waited for. What comes first counts.
//
// Nothing is judged by that: what is rebuilt so either verifies, or the late answer is waited for
// as if nothing else had been asked. Nothing is healed either.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/blob/blob_job.h"
#include "core/blob/blob_read.h"
#include "io/recall.h"

namespace hexad::core {

// What is late of one job, and what else is asked for in its place: of each other cell the columns
// from `begin` to `end`, which all late fetches lie in.
struct BlobReader::Others {
  struct Late {
    Fetch* fetch;
    const io::IoRequest* request;
    AlignedBuffer rebuilt;
    std::vector<MutByteView> shards;  // k+m
  };
  Job* job;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<Late> late;
  std::vector<std::uint32_t> roles;  // that are asked for
  std::size_t first_extra = 0;       // the first of these in the extra batch
};

struct BlobReader::Hedge {
  std::vector<Others> jobs;
  std::unique_ptr<io::IoBatch> extra = std::make_unique<io::IoBatch>();
  std::vector<AlignedBuffer> buffers;  // of the extra batch
};

namespace {

bool is_late(const io::IoBatch& batch, const io::Device* device) {
  return std::any_of(batch.requests.begin(), batch.requests.end(),
                     [&](const io::IoRequest& request) {
                       return request.device == device && !request.is_answered();
                     });
}

}  // namespace

io::Nanos BlobReader::patience(std::span<const Job> jobs, const io::IoBatch& batch) const {
  io::Nanos longest = 0;
  for (const Job& job : jobs) {
    for (std::size_t i = 0; i < job.fetches.size() && !job.degraded; ++i) {
      const io::Device& device = *batch.requests[job.first_request + i].device;
      longest = std::max(longest, hedges_->patience(job.fetches[i].device, device.read_times()));
    }
  }
  return std::min(longest, io::kSilence);
}

bool BlobReader::plan_hedge(std::span<Job> jobs, const io::IoBatch& batch, Hedge& hedge) const {
  for (Job& job : jobs) {
    if (!job.degraded && !plan_others(job, batch, hedge)) return false;
  }
  return !hedge.jobs.empty() &&
         hedges_->take(static_cast<std::uint32_t>(hedge.extra->requests.size()));
}

bool BlobReader::plan_others(Job& job, const io::IoBatch& batch, Hedge& hedge) const {
  Others others{&job, 0, 0, {}, {}, hedge.extra->requests.size()};
  ec::ShardSet late;
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    Fetch& fetch = job.fetches[i];
    const io::IoRequest& request = batch.requests[job.first_request + i];
    if (request.is_answered()) continue;
    if (ReadHedges::is_crowded(*request.device)) return false;
    others.begin = others.late.empty() ? fetch.from : std::min(others.begin, fetch.from);
    others.end = std::max(others.end, fetch.from + fetch.size);
    others.late.push_back(
        {&fetch, &request, AlignedBuffer(fetch.size), std::vector<MutByteView>(shape_.cells())});
    late.add(fetch.wanted.role);
  }
  if (others.late.empty()) return true;
  // What the job reads itself counts when it is answered; whoever wants no more than is needed
  // counts on what has been.
  ec::ShardSet own;
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    const Fetch& fetch = job.fetches[i];
    const io::IoRequest& request = batch.requests[job.first_request + i];
    const bool covers = fetch.from <= others.begin && others.end <= fetch.from + fetch.size;
    const bool counts = request.is_answered() ? request.status.ok() : hedges_->wants_all();
    if (covers && counts) own.add(fetch.wanted.role);
  }
  Result<std::vector<CellPlace>> located = map_.locate(job.blob->where);
  if (!located.ok()) return false;
  std::vector<CellPlace> places = std::move(located).value();
  leave_out_silent(places);
  // What is late does not help itself.
  const std::uint32_t wanted = shape_.k() + ((own & late).empty() ? 0 : 1);
  const std::uint32_t needed = wanted - std::min(wanted, own.size());
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    if (!hedges_->wants_all() && others.roles.size() == needed) break;
    const bool read_anyway = own.contains(role) || late.contains(role);
    if (read_anyway || !places[role].readable) continue;
    if (ReadHedges::is_crowded(*places[role].device)) continue;
    if (!hedges_->wants_all() && is_late(batch, places[role].device)) continue;
    others.roles.push_back(role);
  }
  if (others.roles.size() < needed) return false;
  const std::uint64_t size = others.end - others.begin;
  const auto stride = static_cast<std::size_t>(round_up(size, AlignedBuffer::kAlignment));
  AlignedBuffer& buffer = hedge.buffers.emplace_back(stride * others.roles.size());
  for (std::size_t i = 0; i < others.roles.size(); ++i) {
    const CellPlace& place = places[others.roles[i]];
    hedge.extra->requests.push_back(io::IoRequest::read(*place.device, place.offset + others.begin,
                                                        buffer.bytes().subspan(i * stride, size)));
  }
  hedge.jobs.push_back(std::move(others));
  return true;
}

BlobReader::Hedged BlobReader::use_hedge(const io::IoBatch& batch, Hedge& hedge) const {
  Hedged outcome = Hedged::kDone;
  for (Others& others : hedge.jobs) {
    for (std::size_t i = 0; i < others.late.size(); ++i) {
      const Others::Late& late = others.late[i];
      if (late.request->is_answered() || !late.fetch->rebuilt.empty()) continue;
      const Hedged one = rebuild_late(batch, hedge, others, i);
      if (one == Hedged::kNever) return one;
      if (one == Hedged::kNotYet) outcome = one;
    }
  }
  return outcome;
}

BlobReader::Hedged BlobReader::rebuild_late(const io::IoBatch& batch, const Hedge& hedge,
                                            Others& others, std::size_t index) const {
  Others::Late& late = others.late[index];
  Fetch& fetch = *late.fetch;
  const Job& job = *others.job;
  ec::ShardSet present;
  bool more = false;
  const auto look_at = [&](const io::IoRequest& request, std::uint32_t role, std::uint64_t from) {
    if (!request.is_answered()) {
      more = true;
    } else if (request.status.ok()) {
      late.shards[role] =
          MutByteView(request.data, request.length).subspan(fetch.from - from, fetch.size);
      present.add(role);
    }
  };
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    const Fetch& own = job.fetches[i];
    const bool covers = own.from <= fetch.from && fetch.from + fetch.size <= own.from + own.size;
    if (&own == &fetch || !covers) continue;
    look_at(batch.requests[job.first_request + i], own.wanted.role, own.from);
  }
  for (std::size_t i = 0; i < others.roles.size(); ++i) {
    look_at(hedge.extra->requests[others.first_extra + i], others.roles[i], others.begin);
  }
  const Hedged without = more ? Hedged::kNotYet : Hedged::kNever;
  if (present.size() < shape_.k()) return without;
  const MutByteView rebuilt = late.rebuilt.bytes();
  late.shards[fetch.wanted.role] = rebuilt;
  const ec::ShardSet wanted{fetch.wanted.role};
  if (!codec_.reconstruct_wanted(late.shards, present, wanted).ok()) return Hedged::kNever;
  const ByteView verified = ByteView(rebuilt).subspan(fetch.skip, fetch.end - fetch.begin);
  if (!verifies(fetch, verified, *job.blob, shape_.record)) return without;
  // Where it was read into, the device may still write.
  fetch.buffer = rebuilt;
  fetch.rebuilt = std::move(late.rebuilt);
  counters_.add(CounterId::kHedgesUsed);
  return Hedged::kDone;
}

bool BlobReader::run_hedged(std::span<Job> jobs, io::IoBatch& batch) const {
  constexpr io::Nanos kFirstSlice = 50'000;
  constexpr io::Nanos kLongestFirst = 1'000'000;
  constexpr io::Nanos kLongestSlice = 10'000'000;
  const io::Nanos began = queue_.now();
  const io::Nanos end = began + io::kSilence;
  const auto left = [&] { return std::max<io::Nanos>(end - queue_.now(), 0); };
  for (io::IoRequest& request : batch.requests) request.sent = began;
  hedges_->note_reads(static_cast<std::uint32_t>(batch.requests.size()));
  const io::Nanos soon = patience(jobs, batch);
  if (soon == 0) {
    queue_.submit(batch);
  } else if (queue_.run_briefly(batch, soon)) {
    return true;
  }
  Hedge hedge;
  Hedged outcome = Hedged::kNever;
  const auto use = [&] {
    try {
      return use_hedge(batch, hedge);
    } catch (const std::bad_alloc&) {
      return Hedged::kNever;
    }
  };
  bool planned = false;
  try {
    planned = left() > 0 && !io::Recall::has_come() && plan_hedge(jobs, batch, hedge);
  } catch (const std::bad_alloc&) {
    // Then the device is waited for.
  }
  if (planned) {
    counters_.add(CounterId::kHedgedReads);
    counters_.add(CounterId::kHedgeDeviceReads, hedge.extra->requests.size());
    for (io::IoRequest& request : hedge.extra->requests) {
      request.sent = queue_.now();
      counters_.add(CounterId::kDeviceBytesRead, request.length);
    }
    queue_.submit(*hedge.extra);
    // For the others most of the time: they are expected.
    for (io::Nanos slice = std::clamp(soon / 8, kFirstSlice, kLongestFirst); !batch.complete();
         slice = std::min(2 * slice, kLongestSlice)) {
      queue_.wait_briefly(*hedge.extra, std::min(slice, left()));
      outcome = use();
      if (outcome != Hedged::kNotYet || io::Recall::has_come()) break;
      if (queue_.wait_briefly(batch, std::min(slice / 4, left())) || left() == 0) break;
    }
    if (!hedge.extra->complete()) {
      queue_.abandon(std::move(hedge.extra), std::move(hedge.buffers));
    }
  }
  if (outcome == Hedged::kDone) return batch.complete();
  if (queue_.wait_briefly(batch, left())) return true;
  io::IoQueue::count_timeouts(batch);
  return false;
}

}  // namespace hexad::core
