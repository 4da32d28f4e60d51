#include "core/record/forward_keys.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace hexad::core {

namespace {

using StripeStart = std::pair<alloc::ZoneId, std::uint32_t>;  // zone, first unit

bool is_forwarded(const Extent& extent) {
  return !extent.is_inline() && extent.blob.forward != Forward::kNone;
}

bool any_forwarded(const ExtentList& extents) {
  return std::any_of(extents.begin(), extents.end(), is_forwarded);
}

StripeStart start_of(const Blob& blob) { return {blob.where.zone, blob.where.unit}; }

}  // namespace

void ForwardKeys::change(const ListName& was, const ExtentList& before, const ListName& is,
                         ExtentList& now) {
  if (!any_forwarded(before) && !any_forwarded(now)) return;
  const bool same = was == is;
  std::set<StripeStart> stripes_before;
  std::set<LogPlace> unplaced_before;
  for (const Extent& extent : before) {
    if (!is_forwarded(extent)) continue;
    if (extent.blob.placement == Placement::kPacked) stripes_before.insert(start_of(extent.blob));
    if (extent.blob.placement == Placement::kLog) unplaced_before.insert(extent.blob.log);
  }
  std::map<StripeStart, bool> stripes;  // whether their keys are due
  for (Extent& extent : now) {
    if (!is_forwarded(extent)) continue;
    Blob& blob = extent.blob;
    if (blob.placement == Placement::kPacked) {
      stripes[start_of(blob)] |= blob.forward == Forward::kDue;
      blob.forward = Forward::kWritten;
    } else if (blob.placement == Placement::kLog) {
      if (same && unplaced_before.contains(blob.log)) continue;
      add(written_, unplaced_forward_key(blob.log.lsn, blob.log.index, is.text()));  // FW3
    }
  }
  for (const auto& [stripe, due] : stripes) {
    if (same && !due && stripes_before.contains(stripe)) continue;
    add(written_, forward_key(stripe.first, stripe.second, is.text()));
  }
  // Also where its key was due: a checkpoint may be writing it.
  for (const StripeStart& stripe : stripes_before) {
    if (same && stripes.contains(stripe)) continue;
    add(gone_, forward_key(stripe.first, stripe.second, was.text()));
  }
}

void ForwardKeys::add(std::set<std::string>& keys, std::string key) {
  const std::size_t size = key.size();
  if (keys.insert(std::move(key)).second) bytes_ += size;
}

void ForwardKeys::write(std::vector<PostImage>& images) const {
  for (const std::string& key : written_) images.push_back({key, std::string()});
  for (const std::string& key : gone_) {
    if (!written_.contains(key)) images.push_back({key, std::nullopt});
  }
}

}  // namespace hexad::core
