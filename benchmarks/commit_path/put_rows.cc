// Durable puts: one at a time, in flight, in transactions of 64.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

double fio_dsync_p50(const Bench& bench, const char* block) {
  return run_fio({bench.fio_file()}, bench.plan().seconds,
                 {"ioengine=psync", "sync=dsync", "rw=randwrite", std::string("bs=") + block})
      .p50_us;
}

// What fio writes to its file with these arguments, MiB/s.
double fio_writes(const Bench& bench, const std::vector<std::string>& arguments) {
  return run_fio({bench.fio_file()}, bench.plan().seconds, arguments).bytes_per_second /
         static_cast<double>(1_MiB);
}

Sample p50_of_one_at_a_time(const Bench& bench, Puts& puts) {
  const Measured measured = puts.committed({bench.plan().seconds, 1, 1});
  const Sample sample = sample_of(measured, {1, puts.size()});
  return with_value(sample, *sample.p50_us);
}

// "put_4k_1" or "put_64k_1".
void one_at_a_time(Bench& bench, Puts& puts, const std::string& id, const std::string& what,
                   const Bar& bar) {
  const std::string block = size_word(puts.size());
  bench.add(
      {id, what, "us, p50", bar, block + " dsync write, p50"},
      [&] { return p50_of_one_at_a_time(bench, puts); },
      [&] { return fio_dsync_p50(bench, block.c_str()); });
}

// The rows of thousands of puts of 4 KiB per second.
void rates_of_4k(Bench& bench, Puts& puts) {
  enum class Callers : std::uint8_t { kSubmit, kBlock };
  struct Rate {
    const char* id;
    std::string what;
    Load load;
    Bar bar;
    std::uint64_t batch = 1;  // puts per transaction; of callers that block: 1
    Callers callers = Callers::kSubmit;
  };
  const double seconds = bench.plan().seconds;
  const double long_seconds = bench.plan().long_seconds;
  const std::string one = "durable 4 KiB put, ";
  const std::string batch = "durable 4 KiB put in transactions of 64, ";
  const Rate rates[] = {
      {"put_4k_64_callback",
       one + "64 in flight, 2 submitters",
       {seconds, 2, 64},
       Bar::value_at_least(60)},
      {"put_4k_64_blocking",
       one + "64 blocking callers",
       {seconds, 64, 64},
       Bar::value_at_least(35),
       1,
       Callers::kBlock},
      {"put_4k_batch_1", batch + "one at a time", {seconds, 1, 1}, Bar::none(), kBatch},
      {"put_4k_batch",
       batch + "16 in flight, 2 submitters",
       {seconds, 2, 16},
       Bar::value_at_least(200),
       kBatch},
      {"put_4k_batch_long",
       batch + fmt::format("the same for {:g} s", long_seconds),
       {long_seconds, 2, 16},
       Bar::value_at_least(70),
       kBatch},
  };
  for (const Rate& rate : rates) {
    if (!bench.wants(rate.id)) continue;
    bench.add({rate.id, rate.what, "k/s", rate.bar}, [&] {
      const auto puts_each = static_cast<double>(rate.batch);
      const Measured measured = rate.callers == Callers::kBlock
                                    ? puts.committed(rate.load)
                                    : puts.submitted(rate.load, rate.batch);
      return with_value(sample_of(measured, {puts_each, 4_KiB}),
                        thousands_per_second(measured, puts_each));
    });
  }
}

void in_flight_64k(Bench& bench, Puts& puts) {
  bench.add(
      {"put_64k_64", "durable 64 KiB put, 64 in flight: raw bytes written", "MiB/s",
       Bar::ratio_at_least(0.75), "256 KiB writes, 12 in flight, fdatasync every 12"},
      [&] {
        const Measured measured = puts.submitted({bench.plan().seconds, 2, 64}, 1);
        Sample sample = sample_of(measured, {1, 64_KiB});
        sample.counted.emplace_back("k puts/s", thousands_per_second(measured, 1));
        return with_value(std::move(sample), static_cast<double>(measured.counts.bytes_written) /
                                                 static_cast<double>(1_MiB) / measured.seconds);
      },
      [&] {
        return fio_writes(
            bench, {"ioengine=io_uring", "iodepth=12", "rw=write", "bs=256k", "fdatasync=12"});
      });
}

void in_flight_4m(Bench& bench, Puts& puts) {
  bench.add(
      {"put_4m_16", "durable 4 MiB put, 16 in flight: user bytes", "MiB/s",
       Bar::ratio_at_least(0.9), "4 MiB dsync writes, 16 in flight", 1 / 1.5},
      [&] {
        const Measured measured = puts.submitted({bench.plan().seconds, 2, 16}, 1);
        return with_value(sample_of(measured, {1, 4_MiB}), measured.per_second() * 4);
      },
      [&] {
        return fio_writes(bench,
                          {"ioengine=io_uring", "iodepth=16", "rw=write", "bs=4m", "sync=dsync"});
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
    rates_of_4k(bench, puts);
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

// Answers that wait for one copy of the log, the one on the fast directory, while the others are
// written on the same disk all the same.
void measure_fast_log(Bench& bench, BenchPool& pool) {
  const char* const ids[] = {"put_4k_1_fast", "put_64k_1_fast", "put_4k_64_fast"};
  if (std::none_of(std::begin(ids), std::end(ids), [&](const char* id) { return bench.wants(id); }))
    return;
  RuntimeOptions options;
  options.log_durability = LogDurability::kFast;
  pool.reopen(options);
  const std::string after = ", answered after the fast copy of the log";
  {
    Puts puts(pool, 4_KiB);
    if (bench.wants(ids[0])) {
      one_at_a_time(bench, puts, ids[0], "durable 4 KiB put, one at a time" + after,
                    Bar::ratio_at_most(1.25));
    }
    if (bench.wants(ids[2])) {
      bench.add(
          {ids[2], "durable 4 KiB put, 64 in flight, 2 submitters" + after, "k/s", Bar::none()},
          [&] {
            const Measured measured = puts.submitted({bench.plan().seconds, 2, 64}, 1);
            return with_value(sample_of(measured, {1, 4_KiB}), thousands_per_second(measured, 1));
          });
    }
  }
  if (!bench.wants(ids[1])) return;
  Puts puts(pool, 64_KiB);
  one_at_a_time(bench, puts, ids[1], "durable 64 KiB put, one at a time" + after,
                Bar::ratio_at_most(1.5));
}

void measure_fresh(Bench& bench) {
  if (!bench.wants("put_4k_1_fresh")) return;
  // A new pool for each repetition: the second would not be fresh any more.
  bench.add(
      {"put_4k_1_fresh", "durable 4 KiB put, one at a time, in a pool just made", "us, p50",
       Bar::none(), "4k dsync write, p50"},
      [&] {
        BenchPool pool(bench.plan().directory / "fresh", bench.plan().device_size, Age::kFresh);
        Puts puts(pool, 4_KiB);
        return p50_of_one_at_a_time(bench, puts);
      },
      [&] { return fio_dsync_p50(bench, "4k"); });
}

}  // namespace hexad::bench
