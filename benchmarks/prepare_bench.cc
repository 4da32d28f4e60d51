// What does the processor do for the bytes of one put before they go anywhere, beside what no put
// can do without? bytes_per_second counts user bytes; one thread, 4+2, incompressible data.
//
//   prepare            a payload as the commit path makes it ready: copied into cells, cut,
//                      checksummed per 16 KiB, coded, page by page; below 256 KiB it only waits for
//                      its group
//   fused              the payload copied into cells, summed and coded in one walk, by the codec:
//                      what the commit path does of it
//   copy_crc_code      the same three passes over a stripe, one after the other, nothing else
//   ceiling_memcpy     the payload copied once
//   ceiling_crc        the payload checksummed once
//   ceiling_code       the payload's parity, cells in place
//   build              a transaction of so many puts of 4 KiB, copied in or borrowed
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "base/units.h"
#include "benchmarks/must.h"
#include "benchmarks/noise.h"
#include "compression/compressor.h"
#include "core/api/transaction.h"
#include "core/blob/blob_prepare.h"
#include "ec/codec.h"
#include "io/executor.h"

namespace {

using namespace hexad;
using bench::must;
using bench::noise;

constexpr std::uint64_t kChecksumBlock = 16_KiB;

void set_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void prepare(benchmark::State& state, core::BlobPreparer::Form form) {
  const auto executor = io::make_thread_executor(1);
  core::StoreShape shape;
  shape.record = {shape.profile.k, shape.profile.m, ChecksumType::kCrc32c, kChecksumBlock};
  const std::unique_ptr<ec::Codec> codec = must(ec::make_codec(shape.profile));
  compression::Counters counters;
  const compression::Compressor compressor(executor->clock(), counters);
  const core::BlobPreparer preparer(shape, *codec, compressor);
  const Bytes payload = noise(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    // All pages of a large object wait for their group.
    std::vector<core::PreparedBlob> blobs;
    for (std::size_t at = 0; at < payload.size(); at += core::kPageSpan) {
      const ByteView page = ByteView(payload).subspan(
          at, std::min<std::size_t>(core::kPageSpan, payload.size() - at));
      blobs.push_back(
          must(preparer.prepare(page, compression::Hint::kNone, compression::Policy(), form)));
    }
    benchmark::DoNotOptimize(blobs.data());
  }
  set_bytes(state);
}

struct Stripe {
  explicit Stripe(std::size_t size) : cells(size / 4 * 6) {
    const std::size_t cell = size / 4;
    for (std::size_t i = 0; i < 4; ++i) {
      data.push_back(ByteView(cells.bytes()).subspan(i * cell, cell));
    }
    for (std::size_t i = 4; i < 6; ++i) parity.push_back(cells.bytes().subspan(i * cell, cell));
  }
  AlignedBuffer cells;
  std::vector<ByteView> data;
  std::vector<MutByteView> parity;
};

std::uint64_t sum_blocks(ByteView bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kChecksumBlock) {
    sum ^= checksum(ChecksumType::kCrc32c,
                    bytes.subspan(at, std::min<std::size_t>(kChecksumBlock, bytes.size() - at)));
  }
  return sum;
}

void copy_crc_code(benchmark::State& state) {
  const Bytes payload = noise(static_cast<std::size_t>(state.range(0)));
  const std::unique_ptr<ec::Codec> codec = must(ec::make_codec(ec::Profile()));
  Stripe stripe(payload.size());
  for (auto _ : state) {
    copy_bytes(stripe.cells.bytes().first(payload.size()), payload);
    if (!codec->encode(stripe.data, stripe.parity).ok()) std::abort();
    benchmark::DoNotOptimize(sum_blocks(stripe.cells.bytes()));
  }
  set_bytes(state);
}

void fused(benchmark::State& state) {
  const Bytes source = noise(static_cast<std::size_t>(state.range(0)));
  AlignedBuffer payload(source.size());
  copy_bytes(payload.bytes(), source);
  const std::unique_ptr<ec::Codec> codec = must(ec::make_codec(ec::Profile()));
  Stripe stripe(payload.size());
  const std::size_t cell = payload.size() / 4;
  std::vector<ByteView> sources;
  std::vector<MutByteView> shards;
  for (std::size_t i = 0; i < 6; ++i) {
    if (i < 4) sources.push_back(ByteView(payload.bytes()).subspan(i * cell, cell));
    shards.push_back(stripe.cells.bytes().subspan(i * cell, cell));
  }
  for (auto _ : state) {
    std::array<std::uint32_t, 6> sums{};
    if (!codec->encode_and_sum(sources, shards, sums).ok()) std::abort();
    benchmark::DoNotOptimize(sums);
  }
  set_bytes(state);
}

void ceiling_memcpy(benchmark::State& state) {
  // Aligned: some processors copy an order of magnitude slower between addresses that differ by
  // little modulo a page, as two neighbours on the heap do.
  const Bytes source = noise(static_cast<std::size_t>(state.range(0)));
  AlignedBuffer payload(source.size());
  copy_bytes(payload.bytes(), source);
  AlignedBuffer copy(payload.size());
  for (auto _ : state) {
    copy_bytes(copy.bytes(), payload);
    benchmark::ClobberMemory();
  }
  set_bytes(state);
}

void ceiling_crc(benchmark::State& state) {
  const Bytes payload = noise(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(sum_blocks(payload));
  set_bytes(state);
}

void ceiling_code(benchmark::State& state) {
  const std::unique_ptr<ec::Codec> codec = must(ec::make_codec(ec::Profile()));
  Stripe stripe(static_cast<std::size_t>(state.range(0)));
  fill_zero(stripe.cells.bytes());
  for (auto _ : state) {
    if (!codec->encode(stripe.data, stripe.parity).ok()) std::abort();
    benchmark::ClobberMemory();
  }
  set_bytes(state);
}

enum class Payload { kCopied, kBorrowed };

void build(benchmark::State& state, Payload payload) {
  const Bytes data = noise(4_KiB);
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    names.push_back("bucket/object-" + std::to_string(i));
  }
  for (auto _ : state) {
    Transaction transaction;
    for (const std::string& name : names) {
      if (payload == Payload::kBorrowed) {
        transaction.put_borrowed("default", name, data);
      } else {
        transaction.put("default", name, data);
      }
    }
    benchmark::DoNotOptimize(transaction);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("bytes")->Arg(4096)->Arg(16384)->Arg(65536)->Arg(262144)->Arg(1048576)->Arg(
      4194304);
}

BENCHMARK_CAPTURE(prepare, own_stripe, core::BlobPreparer::Form::kOwnStripe)->Apply(sizes);
BENCHMARK_CAPTURE(prepare, by_size, core::BlobPreparer::Form::kBySize)->Apply(sizes);
BENCHMARK(fused)->Apply(sizes);
BENCHMARK(copy_crc_code)->Apply(sizes);
BENCHMARK(ceiling_memcpy)->Apply(sizes);
BENCHMARK(ceiling_crc)->Apply(sizes);
BENCHMARK(ceiling_code)->Apply(sizes);
BENCHMARK_CAPTURE(build, copied, Payload::kCopied)->ArgName("puts")->Arg(1)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(build, borrowed, Payload::kBorrowed)->ArgName("puts")->Arg(1)->Arg(16)->Arg(64);

}  // namespace
