// The long forms of codec_test.cc: everything up to 16+4.
#include <catch2/catch.hpp>
#include <vector>

#include "ec/codec.h"
#include "ec/isal.h"
#include "ec/jerasure.h"
#include "tests/ec/naive.h"

using namespace hexad;
using namespace hexad::ec;

TEST_CASE("codec: every loss of up to m shards is rebuilt, every shape up to 16+4") {
  for (std::uint32_t k = 1; k <= 16; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (const Profile& profile : naive::profiles_of_shape(k, m)) {
        const auto codec = std::move(make_codec(profile)).value();
        // One packet group, and lengths with a tail for every width of vector.
        const std::vector<std::size_t> lengths = uses_packets(profile.codec)
                                                     ? std::vector<std::size_t>{64}
                                                     : std::vector<std::size_t>{1, 95, 128};
        for (std::size_t length : lengths) {
          std::vector<Bytes> stripe = naive::make_stripe(profile, length, k * 5 + m);
          int wrong = 0;
          naive::each_subset(
              k + m, m, [&](ShardSet lost) { wrong += !naive::rebuilds(*codec, stripe, lost); });
          CAPTURE(to_string(profile), codec_to_string(profile), length);
          REQUIRE(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("codec: encoding has the published bytes at all lengths to 600 for shapes up to 16+4") {
  for (std::uint32_t k = 1; k <= 16; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (const Profile& profile : naive::profiles_of_shape(k, m)) {
        const auto codec = std::move(make_codec(profile)).value();
        const std::size_t unit = alignment(profile);
        const std::size_t longest = 600 / unit * unit;
        const std::vector<Bytes> stripe = naive::make_stripe(profile, longest, k);
        int wrong = 0;
        for (std::size_t length = 0; length <= longest; length += unit) {
          std::vector<ByteView> data;
          for (std::uint32_t i = 0; i < k; ++i) data.push_back(ByteView(stripe[i]).first(length));
          std::vector<Bytes> parity(m, Bytes(length));
          wrong += !codec->encode(data, naive::mutable_views(parity)).ok();
          for (std::uint32_t i = 0; i < m; ++i) {
            wrong += !std::equal(parity[i].begin(), parity[i].end(), stripe[k + i].begin());
          }
        }
        CAPTURE(to_string(profile), codec_to_string(profile));
        REQUIRE(wrong == 0);
      }
    }
  }
}

TEST_CASE("codec: the kernels agree byte for byte on one another's codes") {
  for (std::uint32_t k = 1; k <= 16; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (const Matrix& matrix : {isal_vandermonde(k, m), isal_cauchy(k, m),
                                   jerasure_matrix(CodecKind::kJerasureVandermonde, k, m),
                                   jerasure_matrix(CodecKind::kJerasureCauchyGood, k, m)}) {
        const auto isal = make_isal_program(matrix);
        const auto gf_complete = make_gf_complete_program(matrix);
        for (std::size_t length : {1, 31, 32, 33, 511, 512, 513, 4096, 20000}) {
          const std::vector<Bytes> data =
              naive::make_stripe(Profile{k, 1, CodecKind::kIsaCauchy, 0}, length, k);
          std::vector<const std::byte*> sources;
          for (std::uint32_t i = 0; i < k; ++i) sources.push_back(data[i].data());
          std::vector<Bytes> a(m, Bytes(length));
          std::vector<Bytes> b(m, Bytes(length));
          std::vector<std::byte*> a_out;
          std::vector<std::byte*> b_out;
          for (std::uint32_t i = 0; i < m; ++i) {
            a_out.push_back(a[i].data());
            b_out.push_back(b[i].data());
          }
          isal->run(sources.data(), a_out.data(), length);
          gf_complete->run(sources.data(), b_out.data(), length);
          CAPTURE(k, m, length);
          REQUIRE(a == b);
        }
      }
    }
  }
}
