// How fast are encoding and reconstruction, per codec and cell size, beside memcpy of the same
// bytes and beside GF-Complete's multiplication of regions with no codec above it? And what does
// each kernel that this processor has make of the parity of a codec, whichever make_codec() would
// choose? bytes_per_second counts user data: k cells per stripe. One thread, data in cache up to 64
// KiB cells.
#include <benchmark/benchmark.h>

extern "C" {
#include <gf_complete.h>
}

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "ec/codec.h"
#include "ec/gfni.h"
#include "ec/isal.h"
#include "ec/kernel.h"
#include "ec/matrix.h"
#include "ec/profile.h"

namespace {

using namespace hexad;

struct Stripe {
  Stripe(const ec::Profile& profile, std::size_t cell) {
    for (std::uint32_t i = 0; i < profile.shards(); ++i) {
      cells.emplace_back(cell);
      for (std::size_t at = 0; at < cell; ++at) {
        cells.back().data()[at] = static_cast<std::byte>((at * 167 + i * 59) >> 3);
      }
      all.push_back(cells.back().bytes());
      if (i < profile.k) data.push_back(cells.back().bytes());
    }
    parity.assign(all.begin() + profile.k, all.end());
  }

  std::vector<AlignedBuffer> cells;
  std::vector<ByteView> data;
  std::vector<MutByteView> parity;
  std::vector<MutByteView> all;
};

void require(const Status& status) {
  if (!status.ok()) {
    std::abort();
  }
}

void set_rates(benchmark::State& state, const ec::Profile& profile, std::size_t cell) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * profile.k * cell));
}

void encode(benchmark::State& state, const ec::Profile& profile) {
  const auto cell = static_cast<std::size_t>(state.range(0));
  const auto codec = std::move(ec::make_codec(profile)).value();
  Stripe stripe(profile, cell);
  for (auto _ : state) {
    require(codec->encode(stripe.data, stripe.parity));
    benchmark::ClobberMemory();
  }
  set_rates(state, profile, cell);
}

// The first `lost` data cells are rebuilt from the rest.
void reconstruct(benchmark::State& state, const ec::Profile& profile, std::uint32_t lost) {
  const auto cell = static_cast<std::size_t>(state.range(0));
  const auto codec = std::move(ec::make_codec(profile)).value();
  Stripe stripe(profile, cell);
  require(codec->encode(stripe.data, stripe.parity));
  std::vector<ec::ShardIndex> list;
  for (std::uint32_t i = 0; i < lost; ++i) list.push_back(i);
  for (auto _ : state) {
    require(codec->reconstruct(stripe.all, list));
    benchmark::ClobberMemory();
  }
  if (!*codec->verify(std::vector<ByteView>(stripe.all.begin(), stripe.all.end()))) std::abort();
  set_rates(state, profile, cell);
}

// The ceiling: the k data cells copied once.
void copy(benchmark::State& state) {
  const auto cell = static_cast<std::size_t>(state.range(0));
  const ec::Profile profile;
  Stripe from(profile, cell);
  Stripe to(profile, cell);
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < profile.k; ++i) copy_bytes(to.all[i], from.data[i]);
    benchmark::ClobberMemory();
  }
  set_rates(state, profile, cell);
}

// The parity of 4+2 Vandermonde by GF-Complete alone: a row of ones, and one of powers of 2.
void multiply_regions(benchmark::State& state) {
  const auto cell = static_cast<std::size_t>(state.range(0));
  const ec::Profile profile = *ec::parse_profile("4+2", "isa:reed_sol_van");
  Stripe stripe(profile, cell);
  gf_t field;
  if (gf_init_easy(&field, 8) == 0) std::abort();
  for (auto _ : state) {
    for (std::uint32_t parity = 0; parity < profile.m; ++parity) {
      for (std::uint32_t i = 0; i < profile.k; ++i) {
        const gf_val_32_t factor = 1U << (parity * i);
        field.multiply_region.w32(&field, stripe.all[i].data(), stripe.parity[parity].data(),
                                  factor, static_cast<int>(cell), i > 0 ? 1 : 0);
      }
    }
    benchmark::ClobberMemory();
  }
  gf_free(&field, 0);
  const auto codec = std::move(ec::make_codec(profile)).value();
  if (!*codec->verify(std::vector<ByteView>(stripe.all.begin(), stripe.all.end()))) std::abort();
  set_rates(state, profile, cell);
}

void kernel_alone(benchmark::State& state, const ec::Profile& profile,
                  const ec::ProgramFactory& factory) {
  const auto cell = static_cast<std::size_t>(state.range(0));
  Stripe stripe(profile, cell);
  const std::unique_ptr<ec::Program> program = factory(
      profile.codec == ec::CodecKind::kIsaVandermonde ? ec::isal_vandermonde(profile.k, profile.m)
                                                      : ec::isal_cauchy(profile.k, profile.m));
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> outputs;
  for (const ByteView bytes : stripe.data) sources.push_back(bytes.data());
  for (const MutByteView bytes : stripe.parity) outputs.push_back(bytes.data());
  for (auto _ : state) {
    program->run(sources.data(), outputs.data(), cell);
    benchmark::ClobberMemory();
  }
  const auto codec = std::move(ec::make_codec(profile)).value();
  if (!*codec->verify(std::vector<ByteView>(stripe.all.begin(), stripe.all.end()))) std::abort();
  set_rates(state, profile, cell);
}

bool register_all() {
  const auto sizes = [](benchmark::internal::Benchmark* bench) {
    for (std::int64_t cell : {512, 1024, 4096, 16384, 65536, 262144, 1048576}) bench->Arg(cell);
  };
  sizes(benchmark::RegisterBenchmark("memcpy/4_cells", copy)->ArgName("cell"));
  sizes(benchmark::RegisterBenchmark("encode/4+2/gf_complete_alone", multiply_regions)
            ->ArgName("cell"));
  const std::pair<const char*, const char*> profiles[] = {
      {"4+2", "isa:reed_sol_van"},      {"4+2", "isa:cauchy"},
      {"4+2", "jerasure:reed_sol_van"}, {"4+2", "jerasure:cauchy_good"},
      {"8+3", "isa:reed_sol_van"},      {"10+4", "isa:cauchy"},
      {"2+1", "isa:reed_sol_van"},
  };
  for (const auto& [shape, codec] : profiles) {
    const ec::Profile profile = *ec::parse_profile(shape, codec);
    const std::string suffix = "/" + std::string(shape) + "/" + codec;
    sizes(benchmark::RegisterBenchmark(("encode" + suffix).c_str(), encode, profile)
              ->ArgName("cell"));
    sizes(benchmark::RegisterBenchmark(("rebuild_1" + suffix).c_str(), reconstruct, profile, 1U)
              ->ArgName("cell"));
    if (profile.m >= 2) {
      sizes(benchmark::RegisterBenchmark(("rebuild_2" + suffix).c_str(), reconstruct, profile, 2U)
                ->ArgName("cell"));
    }
  }
  std::vector<std::pair<std::string, ec::ProgramFactory>> kernels = {
      {"isal", ec::make_isal_program}};
  for (const ec::GfniWidth width : {ec::GfniWidth::k256, ec::GfniWidth::k512}) {
    if (!ec::has_gfni(width)) continue;
    kernels.emplace_back(
        "gfni_" + std::to_string(static_cast<int>(width)),
        [width](const ec::Matrix& matrix) { return ec::make_gfni_program(matrix, width); });
  }
  for (const auto& [name, factory] : kernels) {
    for (const auto& [shape, codec] : {profiles[0], profiles[1], profiles[5]}) {
      const ec::Profile profile = *ec::parse_profile(shape, codec);
      const std::string full = "kernel/" + name + "/" + shape + "/" + codec;
      sizes(benchmark::RegisterBenchmark(full.c_str(), kernel_alone, profile, factory)
                ->ArgName("cell"));
    }
  }
  return true;
}

const bool registered = register_all();

}  // namespace
