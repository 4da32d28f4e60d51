// What do compression, decompression of everything, a 4 KiB read out of it, and the probe cost, by
// algorithm, kind of data and frame size? bytes_per_second counts user bytes; `stored` is the
// stored size in percent of them (100: stored raw). One thread, 256 KiB payloads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "compression/frames.h"
#include "compression/probe.h"
#include "tests/compression/data.h"

namespace {

using namespace hexad;
using namespace hexad::compression;

constexpr std::size_t kPayload = 256 * 1024;

Bytes make_data(const std::string& kind) {
  if (kind == "text") return data::text(kPayload, 1);
  if (kind == "records") return data::records(kPayload, 2);
  if (kind == "fio80") return data::fio(kPayload, 80, 8192, 3);
  return data::noise(kPayload, 4);
}

void compress_payload(benchmark::State& state, const Policy& policy, const std::string& kind) {
  const Bytes payload = make_data(kind);
  Bytes out(kPayload);
  std::size_t stored = kPayload;
  for (auto _ : state) {
    const auto set = compress_frames(policy, payload, out);
    if (!set.ok()) std::abort();
    stored = set->has_value() ? (*set)->stored_bytes : kPayload;
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kPayload));
  state.counters["stored"] = 100.0 * static_cast<double>(stored) / kPayload;
}

// Reads `length` bytes at a time from all over the payload.
void read_payload(benchmark::State& state, const Policy& policy, const std::string& kind,
                  std::size_t length) {
  const Bytes payload = make_data(kind);
  Bytes stored(kPayload);
  const auto set = std::move(compress_frames(policy, payload, stored)).value();
  if (!set) {
    state.SkipWithError("stored raw");
    return;
  }
  Bytes out(length);
  std::size_t offset = 0;
  const auto read_at_offset = [&] {
    const FrameRange range = *frames_for_range(*set, offset, length);
    const ByteView in = ByteView(stored).subspan(range.stored_offset, range.stored_length);
    if (!decompress_range(*set, offset, in, out).ok()) std::abort();
  };
  for (auto _ : state) {
    read_at_offset();
    benchmark::ClobberMemory();
    offset = (offset + 5 * length) % kPayload;  // 5 is odd, so every piece gets its turn
  }
  read_at_offset();
  if (!std::equal(out.begin(), out.end(), payload.begin() + offset)) std::abort();
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * length));
}

void probe(benchmark::State& state, const std::string& kind) {
  const Bytes payload = make_data(kind);
  const auto size = static_cast<std::size_t>(state.range(0));
  bool answer = false;
  for (auto _ : state) {
    answer = looks_compressible(ByteView(payload).first(size), 875);
    benchmark::DoNotOptimize(answer);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * size));
  state.counters["compressible"] = answer;
}

bool register_all() {
  for (const std::string kind : {"text", "records", "fio80", "noise"}) {
    benchmark::RegisterBenchmark(("probe/" + kind).c_str(), probe, kind)
        ->ArgName("bytes")
        ->Arg(4096)
        ->Arg(65536)
        ->Arg(kPayload);
    for (const std::string algorithm : {"snappy", "lz4", "zstd", "zstd,level=3", "zlib"}) {
      for (const std::string frame : {"16KiB", "32KiB", "64KiB"}) {
        const Policy policy = *parse_policy("force,max_blob_size=" + frame + "," + algorithm);
        const std::string name = "/" + kind + "/" + algorithm + "/" + frame;
        benchmark::RegisterBenchmark(("compress" + name).c_str(), compress_payload, policy, kind);
        if (kind == "noise") continue;  // always raw
        benchmark::RegisterBenchmark(("read_all" + name).c_str(), read_payload, policy, kind,
                                     kPayload);
        benchmark::RegisterBenchmark(("read_4KiB" + name).c_str(), read_payload, policy, kind,
                                     std::size_t{4096});
      }
    }
  }
  return true;
}

const bool registered = register_all();

}  // namespace
