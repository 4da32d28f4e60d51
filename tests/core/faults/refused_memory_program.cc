// A program whose n-th allocation is refused, alone or with all that follow: refused_memory_test.cc
// runs it, reads what it was told, and looks whether that is true.
//
//   refused_memory_program POOL ROUND once|on N
//
// N counts from the opening; 0: none is refused. What it says on standard output, a line each:
//   B name version   it asks for this version of the object; version 0: to remove it
//   A                that is acknowledged
//   V                that can be read, and is durable with the next A or S
//   N                that has not happened
//   U                whether it has happened is not known
//   S                all that was V is durable
//   W name           what was read is not what was acknowledged
//   T count          so many allocations; the end
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <new>
#include <string>

#include "core/hexad.h"
#include "tests/core/faults/refused_memory_objects.h"

namespace {

// Of the whole process, and of every kind: what C++ allocates comes from malloc(), too.
std::atomic<bool> counting{false};
std::atomic<long> counted{0};
long first_refused = 0;  // 0: none
bool all_that_follow = false;

bool refused() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const long number = counted.fetch_add(1, std::memory_order_relaxed) + 1;
  if (first_refused == 0 || number < first_refused) return false;
  if (number > first_refused && !all_that_follow) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) { return refused() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return refused() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  return refused() ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return refused() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return refused() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  if (refused()) return ENOMEM;
  *to = __libc_memalign(alignment, size);
  return *to == nullptr ? ENOMEM : 0;
}
}

namespace hexad::testing {
namespace {

// Without memory, and whole: a line is shorter than what a pipe takes at once.
template <typename... Values>
void say(const char* format, Values... values) {
  char line[128];
  const int length = std::snprintf(line, sizeof line, format, values...);
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) ::_exit(3);
}

// As a program in Python does it: what throws is over, and the store is used on.
template <typename Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
  }
}

class Scenario {
 public:
  Scenario(Store& store, unsigned long round) : store_(store), round_(round) {}

  void run() {
    for (int i = 0; i < 4; ++i) put(i, 3'000 + 700 * i, Durability::kDurable);
    put(4, 300'000, Durability::kDurable);
    for (int i = 5; i < 9; ++i) put(i, 5'000, Durability::kBuffered);
    sync();
    for (int i = 0; i < 9; ++i) read(i);
    stream(9, 2'500'000);
    put(1, 60'000, Durability::kDurable);
    remove(2);
    list();
    checkpoint();
    submit(3, 9'000);
    put(6, 200, Durability::kBuffered);
    put(2, 1'200'000, Durability::kDurable);
    read(2);
    read(9);
    close();
  }

 private:
  unsigned long version(int object) const { return version_of(round_, object, ++steps_); }

  template <typename Outcome>
  void commit(int object, unsigned long version, const Outcome& outcome, bool durable = true) {
    say("B %s %lu\n", object_name(object), version);
    attempt([&] {
      const Status status = outcome();
      if (status.ok()) {
        say(durable ? "A\n" : "V\n");
        known_[object] = version;
      } else {
        say(status.error().code == ErrorCode::kUnknown || status.error().code == ErrorCode::kIo
                ? "U\n"
                : "N\n");
      }
    });
  }

  void put(int object, std::size_t size, Durability durability) {
    const unsigned long now = version(object);
    commit(
        object, now,
        [&] {
          Transaction t;
          t.put(kDefaultCollection, object_name(object), content(now, size));
          return store_.commit(std::move(t), {durability}).status();
        },
        durability == Durability::kDurable);
  }

  void remove(int object) {
    commit(object, 0, [&] {
      Transaction t;
      t.remove(kDefaultCollection, object_name(object));
      return store_.commit(std::move(t)).status();
    });
  }

  void submit(int object, std::size_t size) {
    const unsigned long now = version(object);
    commit(object, now, [&] {
      std::promise<Status> told;
      Transaction t;
      t.put(kDefaultCollection, object_name(object), content(now, size));
      // The answer comes exactly once, so waiting for it ends.
      store_.submit(std::move(t), [&](const Result<Lsn>& lsn) { told.set_value(lsn.status()); });
      return told.get_future().get();
    });
  }

  void stream(int object, std::size_t size) {
    const unsigned long now = version(object);
    commit(object, now, [&]() -> Status {
      HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectWriter> writer,
                       store_.open_writer(kDefaultCollection, object_name(object)));
      const std::string bytes = content(now, size);
      for (std::size_t at = 0; at < bytes.size(); at += 400'000) {
        HEXAD_TRY(writer->append(as_bytes(std::string_view(bytes).substr(at, 400'000))));
      }
      return writer->commit().status();
    });
  }

  void read(int object) {
    attempt([&] {
      const Result<Bytes> found = store_.get(kDefaultCollection, object_name(object));
      if (known_[object] == 0 || !found.ok()) return;
      if (as_text(*found) != content(known_[object], found->size())) {
        say("W %s\n", object_name(object));
      }
    });
  }

  void sync() {
    attempt([&] {
      if (store_.sync().ok()) say("S\n");
    });
  }
  void list() {
    attempt([&] { store_.list(kDefaultCollection).status().ignore(); });
  }
  void checkpoint() {
    attempt([&] { store_.checkpoint().ignore(); });
  }
  void close() {
    attempt([&] { store_.close().ignore(); });
  }

  Store& store_;
  unsigned long round_;
  mutable unsigned long steps_ = 0;
  unsigned long known_[kObjects] = {};  // 0: nothing
};

int main_of(char** arguments) {
  const Result<PoolDescription> pool = read_pool(arguments[1]);
  if (!pool.ok()) return 2;
  all_that_follow = std::strcmp(arguments[3], "on") == 0;
  first_refused = std::atol(arguments[4]);
  const unsigned long round = std::strtoul(arguments[2], nullptr, 10);
  counting = true;
  attempt([&] {
    Result<Store> store = Store::open(*pool);
    if (store.ok()) Scenario(*store, round).run();
  });
  counting = false;
  say("T %ld\n", counted.load());
  return 0;
}

}  // namespace
}  // namespace hexad::testing

int main(int, char** arguments) { return hexad::testing::main_of(arguments); }
