// Durable puts: one at a time, in flight, in transactions of 64.
#include <fmt/format.h>

#include "base/units.h"
#include "benchmarks/commit_path/bench_state.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

constexpr std::uint64_t kBatch = 64;

std::string size_word(std::uint64_t size) {
  return size < 1_MiB ? fmt::format("{}k", size / 1_KiB) : fmt::format("{}m", size / 1_MiB);
}

// Puts of one size. Names go round, so that at most the pool's live limit is alive; what is
// overwritten becomes free.
class Puts {
 public:
  Puts(BenchPool& pool, std::uint64_t size)
      : pool_(pool),
        size_(size),
        family_("put" + size_word(size)),
        names_(std::max<std::uint64_t>(kBatch, pool.live_limit() / size)),
        data_(noise(size)) {}
  ~Puts() { remove_all(pool_.store(), family_, std::min(names_, next_)); }
  Puts(const Puts&) = delete;
  Puts& operator=(const Puts&) = delete;

  // Fills a transaction with `count` puts.
  FillTransaction fill(std::uint64_t count) {
    return [this, count, first = next_](Transaction& t, std::uint64_t index) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t name = (first + index * count + i) % names_;
        t.put_borrowed(kDefaultCollection, object_name(family_, name), data_,
                       Hint::kIncompressible);
      }
    };
  }
  Measured submitted(const Load& load, std::uint64_t count) {
    make_quiet();
    return note(submit_for(pool_.store(), load, fill(count)), count);
  }
  Measured committed(const Load& load) {
    make_quiet();
    return note(commit_for(pool_.store(), load, fill(1)), 1);
  }
  std::uint64_t size() const { return size_; }

 private:
  // Every run begins with an empty log and an empty memtable.
  void make_quiet() { must(pool_.store().checkpoint()); }
  Measured note(Measured measured, std::uint64_t count) {
    next_ += measured.transactions * count;
    return measured;
  }

  BenchPool& pool_;
  const std::uint64_t size_;
  const std::string family_;
  const std::uint64_t names_;
  const Bytes data_;
  std::uint64_t next_ = 0;  // the index of the next name, before it goes round
};

Sample with_value(Sample sample, double value) {
  sample.value = value;
  return sample;
}

double fio_dsync_p50(const Bench& bench, const char* block) {
  return run_fio({bench.fio_file()}, bench.plan().seconds,
                 {"ioengine=psync", "sync=dsync", "rw=randwrite", std::string("bs=") + block})
      .p50_us;
}

// "put_4k_1" or "put_64k_1".
void one_at_a_time(Bench& bench, Puts& puts, const std::string& id, const std::string& what,
                   const Bar& bar) {
  const std::string block = size_word(puts.size());
  bench.add(
      {id, what, "us, p50", bar, block + " dsync write, p50", 1, {}},
      [&] {
        const Measured measured = puts.committed({bench.plan().seconds, 1, 1});
        const Sample sample = sample_of(measured, {1, puts.size()});
        return with_value(sample, *sample.p50_us);
      },
      [&] { return fio_dsync_p50(bench, block.c_str()); });
}

void in_flight_4k(Bench& bench, Puts& puts) {
  const double seconds = bench.plan().seconds;
  if (bench.wants("put_4k_64_callback")) {
    bench.add(
        {"put_4k_64_callback",
         "durable 4 KiB put, 64 in flight, 2 submitters",
         "k/s",
         Bar::value_at_least(60),
         "",
         1,
         {}},
        [&] {
          const Measured measured = puts.submitted({seconds, 2, 64}, 1);
          return with_value(sample_of(measured, {1, 4_KiB}), thousands_per_second(measured, 1));
        });
  }
  if (bench.wants("put_4k_64_blocking")) {
    bench.add(
        {"put_4k_64_blocking",
         "durable 4 KiB put, 64 blocking callers",
         "k/s",
         Bar::value_at_least(35),
         "",
         1,
         {}},
        [&] {
          const Measured measured = puts.committed({seconds, 64, 64});
          return with_value(sample_of(measured, {1, 4_KiB}), thousands_per_second(measured, 1));
        });
  }
}

void in_batches(Bench& bench, Puts& puts) {
  struct Variant {
    const char* id;
    std::string what;
    double seconds;
    unsigned repetitions;
    Load load;
    Bar bar;
  };
  const Plan& plan = bench.plan();
  const std::string what = "durable 4 KiB put in transactions of 64, ";
  const Variant variants[] = {
      {"put_4k_batch_1", what + "one at a time", plan.seconds, plan.repetitions, {1, 1, 1}, {}},
      {"put_4k_batch",
       what + "16 in flight, 2 submitters",
       plan.seconds,
       plan.repetitions,
       {1, 2, 16},
       Bar::value_at_least(200)},
      {"put_4k_batch_long",
       what + fmt::format("the same for {:g} s", plan.long_seconds),
       plan.long_seconds,
       plan.repetitions,
       {1, 2, 16},
       Bar::value_at_least(70)},
  };
  for (const Variant& variant : variants) {
    if (!bench.wants(variant.id)) continue;
    Load load = variant.load;
    load.seconds = variant.seconds;
    bench.add({variant.id, variant.what, "k/s", variant.bar, "", 1, {}}, variant.repetitions, [&] {
      const Measured measured = puts.submitted(load, kBatch);
      return with_value(sample_of(measured, {kBatch, 4_KiB}),
                        thousands_per_second(measured, kBatch));
    });
  }
}

void in_flight_64k(Bench& bench, Puts& puts) {
  const double seconds = bench.plan().seconds;
  bench.add(
      {"put_64k_64",
       "durable 64 KiB put, 64 in flight: raw bytes written",
       "MiB/s",
       Bar::ratio_at_least(0.75),
       "256 KiB writes, 12 in flight, fdatasync every 12",
       1,
       {}},
      [&] {
        const Measured measured = puts.submitted({seconds, 2, 64}, 1);
        Sample sample = sample_of(measured, {1, 64_KiB});
        sample.counted.emplace_back("k puts/s", thousands_per_second(measured, 1));
        return with_value(std::move(sample), static_cast<double>(measured.counts.bytes_written) /
                                                 static_cast<double>(1_MiB) / measured.seconds);
      },
      [&] {
        return run_fio({bench.fio_file()}, seconds,
                       {"ioengine=io_uring", "iodepth=12", "rw=write", "bs=256k", "fdatasync=12"})
                   .bytes_per_second /
               static_cast<double>(1_MiB);
      });
}

void in_flight_4m(Bench& bench, Puts& puts) {
  const double seconds = bench.plan().seconds;
  bench.add(
      {"put_4m_16",
       "durable 4 MiB put, 16 in flight: user bytes",
       "MiB/s",
       Bar::ratio_at_least(0.9),
       "4 MiB dsync writes, 16 in flight",
       1 / 1.5,
       {}},
      [&] {
        const Measured measured = puts.submitted({seconds, 2, 16}, 1);
        return with_value(sample_of(measured, {1, 4_MiB}), measured.per_second() * 4);
      },
      [&] {
        return run_fio({bench.fio_file()}, seconds,
                       {"ioengine=io_uring", "iodepth=16", "rw=write", "bs=4m", "sync=dsync"})
                   .bytes_per_second /
               static_cast<double>(1_MiB);
      });
}

}  // namespace

void measure_puts(Bench& bench, BenchPool& pool) {
  {
    Puts puts(pool, 4_KiB);
    if (bench.wants("put_4k_1")) {
      one_at_a_time(bench, puts, "put_4k_1", "durable 4 KiB put, one at a time",
                    Bar::ratio_at_most(1.5));
    }
    in_flight_4k(bench, puts);
    in_batches(bench, puts);
  }
  {
    Puts puts(pool, 64_KiB);
    if (bench.wants("put_64k_1")) {
      one_at_a_time(bench, puts, "put_64k_1", "durable 64 KiB put, one at a time",
                    Bar::ratio_at_most(2));
    }
    if (bench.wants("put_64k_64")) in_flight_64k(bench, puts);
  }
  Puts puts(pool, 4_MiB);
  if (bench.wants("put_4m_16")) in_flight_4m(bench, puts);
}

void measure_fresh(Bench& bench) {
  if (!bench.wants("put_4k_1_fresh")) return;
  // A new pool for each repetition: the second would not be fresh any more.
  bench.add(
      {"put_4k_1_fresh",
       "the same, in a pool just made",
       "us, p50",
       Bar::none(),
       "4k dsync write, p50",
       1,
       {}},
      [&] {
        BenchPool pool(bench.plan().directory / "fresh", bench.plan().device_size, Age::kFresh);
        Puts puts(pool, 4_KiB);
        const Sample sample = sample_of(puts.committed({bench.plan().seconds, 1, 1}), {1, 4_KiB});
        return with_value(sample, *sample.p50_us);
      },
      [&] { return fio_dsync_p50(bench, "4k"); });
}

}  // namespace hexad::bench
