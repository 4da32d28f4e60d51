// Streamed objects for tests: written and read in pieces of odd sizes.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "io/rng.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

inline FormatOptions stream_format() {
  FormatOptions options = small_format();
  options.device_size = 64_MiB;
  return options;
}

// Pieces of odd sizes.
inline Status write_noise(ObjectWriter& writer, std::uint64_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min<std::uint64_t>(size - done, 1 + rng.below(700'000));
    HEXAD_TRY(writer.append(as_bytes(noise(piece, seed + done))));
    done += piece;
  }
  return {};
}

inline bool reads_noise(Store& store, std::string_view name, std::uint64_t size,
                        std::uint64_t seed) {
  Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(kBucket, name);
  REQUIRE(message_of(reader.status()) == "");
  REQUIRE((*reader)->stat().size == size);
  io::Rng rng(seed);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min<std::uint64_t>(size - done, 1 + rng.below(700'000));
    Bytes into(piece);
    const Result<std::uint64_t> read = (*reader)->read(into);
    REQUIRE(message_of(read.status()) == "");
    if (*read != piece || as_text(into) != noise(piece, seed + done)) return false;
    done += piece;
  }
  Bytes more(10);
  REQUIRE(*(*reader)->read(more) == 0);
  return true;
}

inline std::unique_ptr<ObjectWriter> writer_of(Store& store, std::string_view name) {
  Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kBucket, name);
  REQUIRE(message_of(writer.status()) == "");
  return std::move(writer).value();
}

}  // namespace hexad::testing
