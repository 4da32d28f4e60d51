// Lists of extents in memory that show blobs of one pack stripe.
#pragma once

#include <string>

#include "core/clean/stripe_owners.h"
#include "core/record/forward_keys.h"
#include "core/record/keys.h"
#include "io/sim/sim_executor.h"
#include "tests/core/jobs/metadata_in_memory.h"

namespace hexad::core::testing {

struct StripeWorld {
  static constexpr alloc::Extent kStripe = {3, 10, 2};

  // The number of a blob says where in its stripe it lies.
  static Extent shown(std::uint32_t number, ShareId share = 0, Forward forward = Forward::kNone) {
    Extent extent;
    extent.offset = number * 1000;
    extent.length = 1000;
    extent.blob.placement = Placement::kPacked;
    extent.blob.forward = forward;
    extent.blob.where = {kStripe.zone, kStripe.unit, 0};
    extent.blob.cell = number % 4;
    extent.blob.cell_offset = number / 4 * 1000;
    extent.blob.raw = extent.blob.stored = 1000;
    extent.blob.cell_sums = {number};
    extent.blob.share = share;
    return extent;
  }

  // Page 0 of some body, with its forward keys.
  void put_page(const std::string& key, ExtentList list) {
    metadata.map[key] = encode_page(list, shape);
    ForwardKeys forwards;
    for (Extent& extent : list) {
      if (extent.blob.forward == Forward::kWritten) extent.blob.forward = Forward::kDue;
    }
    forwards.change({}, {}, {key}, list);
    std::vector<PostImage> images;
    forwards.write(images);
    for (const PostImage& image : images) metadata.map[image.key] = *image.value;
  }
  ExtentList page(const std::string& key) {
    return decode_page(metadata.map.at(key), parse_page_key(key)->page, shape).value();
  }

  // `owners`: by number, of the blobs that the footer has.
  static PackFooter footer(const std::vector<std::string>& owners) {
    PackFooter footer;
    footer.where = kStripe;
    for (std::uint32_t number = 0; number < owners.size(); ++number) {
      const Blob blob = shown(number).blob;
      footer.entries.push_back(
          {blob.cell, blob.cell_offset, blob.stored, 5, number * 1000, owners[number]});
    }
    return footer;
  }

  io::SimExecutor sim{3};
  RecordShape shape;
  LogBlobs log_blobs{sim, shape};
  MetadataInMemory metadata;
  StateReads reads{[this](std::string_view key) { return metadata.get(key); },
                   [this](std::string_view prefix, const auto& visit) {
                     return metadata.scan(prefix, [&](std::string_view key, std::string_view) {
                       return visit(key);
                     });
                   }};
};

}  // namespace hexad::core::testing
