#include "core/clean/stripe_owners.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/clean/stripe_world.h"

namespace hexad::core {
namespace {

using testing::StripeWorld;

const std::string kFirst = page_key(7, 0);
const std::string kSecond = page_key(8, 0);
const std::string kThird = page_key(9, 0);

// The keys of the lists that show each blob, or what is wrong.
std::vector<std::vector<std::string>> owners_in(StripeWorld& w, const PackFooter& footer,
                                                std::uint64_t live,
                                                std::uint64_t most_list_bytes = 10'000) {
  const OwnersQuery query{StripeWorld::kStripe, live, most_list_bytes};
  const auto found = find_owners(query, footer, w.shape, w.log_blobs, w.reads);
  if (!found.ok()) return {{found.error().message}};
  std::vector<std::vector<std::string>> keys;
  for (const OwnedBlob& blob : *found) {
    keys.emplace_back();
    for (const ShowingList& list : blob.lists) {
      CHECK(list.value_bytes == w.metadata.map.at(list.key).size());
      keys.back().push_back(list.key);
    }
  }
  return keys;
}

const std::vector<std::vector<std::string>> kUnknown = {{"not all owners are known"}};

TEST_CASE("stripe owners: by the footer, by forward keys, and by both") {
  StripeWorld w;
  const PackFooter footer = StripeWorld::footer({kFirst, kFirst, kFirst});
  w.put_page(kFirst, {StripeWorld::shown(0), StripeWorld::shown(1, 20)});
  w.put_page(kSecond, {StripeWorld::shown(1, 20, Forward::kWritten),
                       StripeWorld::shown(2, 0, Forward::kWritten)});
  w.metadata.map[share_key(20)] = encode_owners(2);
  using Keys = std::vector<std::string>;
  CHECK(owners_in(w, footer, 3000) ==
        std::vector{Keys{kFirst}, Keys{kFirst, kSecond}, Keys{kSecond}});
  // More is alive than anybody shows.
  CHECK(owners_in(w, footer, 3001) == kUnknown);
  // A key that leads to nothing is of no account.
  w.metadata.map[forward_key(3, 10, kThird)] = "";
  CHECK(owners_in(w, footer, 3000).size() == 3);
}

TEST_CASE("stripe owners: of a blob that clones share all lists that are counted, or none") {
  StripeWorld w;
  const PackFooter footer = StripeWorld::footer({kFirst, kFirst});
  w.put_page(kFirst, {StripeWorld::shown(0), StripeWorld::shown(1, 20)});
  w.put_page(kSecond, {StripeWorld::shown(1, 20, Forward::kWritten)});
  w.metadata.map[share_key(20)] = encode_owners(3);
  CHECK(owners_in(w, footer, 2000) == kUnknown);
  CHECK(owners_in(w, footer, 1000).size() == 1);
  w.metadata.map[share_key(20)] = encode_owners(2);
  CHECK(owners_in(w, footer, 2000).size() == 2);
  // More lists than one record may change.
  CHECK(owners_in(w, footer, 2000, 50) == kUnknown);
  // One that is left has no record.
  w.metadata.map.erase(share_key(20));
  CHECK(owners_in(w, footer, 2000) == kUnknown);
  w.metadata.map.erase(kFirst);
  CHECK(owners_in(w, footer, 1000).size() == 1);
}

TEST_CASE("stripe owners: where the blob begins in the list that owns it now") {
  StripeWorld w;
  Extent part = StripeWorld::shown(0, 20, Forward::kWritten);
  part.offset = 700;
  part.blob_offset = 400;
  part.length = 100;
  w.put_page(kSecond, {part});
  const OwnersQuery query{StripeWorld::kStripe, 1000, 10'000};
  const auto found =
      find_owners(query, StripeWorld::footer({kFirst}), w.shape, w.log_blobs, w.reads).value();
  REQUIRE(found.size() == 1);
  CHECK(found[0].entry.offset == 300);
  CHECK(found[0].entry.lsn == 5);
}

TEST_CASE("stripe owners: what reading says is said") {
  StripeWorld w;
  w.metadata.map[kFirst] = "nonsense";
  const OwnersQuery query{StripeWorld::kStripe, 1000, 10'000};
  CHECK(find_owners(query, StripeWorld::footer({kFirst}), w.shape, w.log_blobs, w.reads)
            .error()
            .code == ErrorCode::kCorruption);
  CHECK(owners_in(w, StripeWorld::footer({}), 0) == kUnknown);
}

}  // namespace
}  // namespace hexad::core
