#include "io/bounded_reads.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace hexad::io {

bool is_silent(Device& device) { return device.silent_for() >= kSilence; }

std::string describe_silence(Device& device) {
  const auto seconds = [](Nanos time) { return std::to_string(time / 1'000'000'000) + " s"; };
  const Nanos owing = device.owing_for();
  if (owing >= kSilence && !is_silent(device)) {
    return "has owed an answer for " + seconds(owing) + ", and gives others";
  }
  return "has not answered for " + seconds(device.silent_for());
}

std::vector<Status> read_round(IoQueue& queue, std::vector<IoRequest> reads, AlignedBuffer& buffer,
                               Nanos limit) {
  std::vector<Status> outcomes;
  auto batch = std::make_unique<IoBatch>();
  batch->requests = std::move(reads);
  if (queue.run_for(*batch, limit)) {
    for (IoRequest& request : batch->requests) outcomes.push_back(std::move(request.status));
    return outcomes;
  }
  std::vector<std::pair<std::size_t, std::size_t>> left;  // begin and end of what has no answer
  for (const IoRequest& request : batch->requests) {
    if (request.is_answered()) {
      outcomes.push_back(request.status);
      continue;
    }
    outcomes.emplace_back(Error{ErrorCode::kUnavailable,
                                request.device->name() + " " + describe_silence(*request.device),
                                ""});
    const auto begin = static_cast<std::size_t>(request.data - buffer.data());
    left.emplace_back(begin, begin + request.length);
  }
  std::sort(left.begin(), left.end());
  left.emplace_back(buffer.size(), buffer.size());
  AlignedBuffer kept(buffer.size());
  std::size_t at = 0;
  for (const auto& [begin, end] : left) {
    copy_bytes(kept.bytes().subspan(at), ByteView(buffer).subspan(at, begin - at));
    at = end;
  }
  std::vector<AlignedBuffer> buffers;
  buffers.push_back(std::exchange(buffer, std::move(kept)));
  queue.abandon(std::move(batch), std::move(buffers));
  return outcomes;
}

}  // namespace hexad::io
