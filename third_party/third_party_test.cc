// Calls into every library once. When this fails to compile or link, the
// installation is broken, not our code: type `./run setup`.

#include <fmt/format.h>
#include <isa-l.h>
#include <liburing.h>
#include <lmdb.h>
#include <lz4.h>
#include <snappy.h>
#include <xxhash.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "third_party/round_trip.h"

// Jerasure's headers include gf_complete.h, which does not say that it is C.
extern "C" {
#include <gf_complete.h>
#include <jerasure.h>
#include <jerasure/reed_sol.h>
}

TEST_CASE("third_party: erasure codes compute in GF(256)") {
  CHECK(gf_mul(2, 0x80) == 0x1d);

  gf_t field;
  REQUIRE(gf_init_easy(&field, 8) != 0);
  CHECK(field.multiply.w32(&field, 2, 0x80) == 0x1dU);
  gf_free(&field, 1);

  int* matrix = reed_sol_vandermonde_coding_matrix(4, 2, 8);
  REQUIRE(matrix != nullptr);
  CHECK(matrix[0] == 1);
  std::free(matrix);
}

TEST_CASE("third_party: compressors give back what they got") {
  const std::string text(1000, 'x');
  CHECK(hexad::third_party::zstd_round_trip(text) == text);

  std::string packed;
  std::string out;
  snappy::Compress(text.data(), text.size(), &packed);
  CHECK(snappy::Uncompress(packed.data(), packed.size(), &out));
  CHECK(out == text);

  std::array<char, 2000> lz4{};
  CHECK(LZ4_compress_default(text.data(), lz4.data(), 1000, 2000) > 0);
}

TEST_CASE("third_party: checksums have their published values") {
  const std::string_view digits = "123456789";
  CHECK(crc32(0, reinterpret_cast<const unsigned char*>(digits.data()), 9) == 0xcbf43926U);
  CHECK(XXH3_64bits("", 0) == 0x2d06800538d394c2ULL);
  CHECK(digits == std::string_view("123456789"));
}

TEST_CASE("third_party: LMDB and io_uring are there") {
  MDB_env* env = nullptr;
  REQUIRE(mdb_env_create(&env) == 0);
  mdb_env_close(env);

  io_uring ring;
  if (io_uring_queue_init(8, &ring, 0) == 0) {
    io_uring_queue_exit(&ring);
  } else {
    WARN("this kernel or container offers no io_uring");
  }
}

TEST_CASE("third_party: text libraries") {
  CHECK(fmt::format("{:>4}", 7) == "   7");
  CHECK(nlohmann::json::parse("[1, 2]").size() == 2);
  CLI::App app;
  CHECK(app.get_name().empty());
}
