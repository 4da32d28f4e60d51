// By RocksDB's interface for C, whose types are all opaque. Names and parameters as in its
// include/rocksdb/c.h.
#include <dlfcn.h>

#include "benchmarks/commit_path/must.h"
#include "benchmarks/transactions/rival.h"

namespace hexad::bench {

namespace {

// Of Debian 12 and 13, then of the package for developers.
constexpr const char* kLibraries[] = {"librocksdb.so.7.8", "librocksdb.so.9.10", "librocksdb.so"};

void* open_library() {
  for (const char* name : kLibraries) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

class RocksdbRival final : public Rival {
 public:
  RocksdbRival(void* library, const std::filesystem::path& directory) : library_(library) {
    std::filesystem::create_directories(directory.parent_path());
    void* const options = function<void*()>("rocksdb_options_create")();
    function<void(void*, unsigned char)>("rocksdb_options_set_create_if_missing")(options, 1);
    char* error = nullptr;
    database_ = function<void*(const void*, const char*, char**)>("rocksdb_open")(
        options, directory.c_str(), &error);
    must_rocksdb(error, "open");
    function<void(void*)>("rocksdb_options_destroy")(options);
    reading_ = function<void*()>("rocksdb_readoptions_create")();
    writing_ = function<void*()>("rocksdb_writeoptions_create")();
    function<void(void*, unsigned char)>("rocksdb_writeoptions_set_sync")(writing_, 1);
  }
  // The library stays: it may have threads that end later.
  ~RocksdbRival() override {
    function<void(void*)>("rocksdb_readoptions_destroy")(reading_);
    function<void(void*)>("rocksdb_writeoptions_destroy")(writing_);
    function<void(void*)>("rocksdb_close")(database_);
  }
  RocksdbRival(const RocksdbRival&) = delete;
  RocksdbRival& operator=(const RocksdbRival&) = delete;

  std::optional<std::string> get(std::string_view key) override {
    char* error = nullptr;
    std::size_t size = 0;
    char* const found = get_(database_, reading_, key.data(), key.size(), &size, &error);
    must_rocksdb(error, "get");
    if (found == nullptr) return std::nullopt;
    std::string value(found, size);
    free_(found);
    return value;
  }
  void commit(const std::vector<KeyChange>& changes) override {
    void* const batch = make_batch_();
    for (const KeyChange& change : changes) {
      put_(batch, change.key.data(), change.key.size(), change.value.data(), change.value.size());
    }
    char* error = nullptr;
    write_(database_, writing_, batch, &error);
    destroy_batch_(batch);
    must_rocksdb(error, "write");
  }

 private:
  template <typename Signature>
  Signature* function(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) die(std::string("RocksDB's library has no ") + name);
    return reinterpret_cast<Signature*>(found);  // NOLINT: what dlsym() is for
  }
  static void must_rocksdb(const char* error, const char* what) {
    if (error != nullptr) die(std::string("RocksDB: ") + what + ": " + error);
  }

  void* library_;
  void* database_ = nullptr;
  void* reading_ = nullptr;
  void* writing_ = nullptr;
  char* (*get_)(void*, const void*, const char*, std::size_t, std::size_t*, char**) =
      function<char*(void*, const void*, const char*, std::size_t, std::size_t*, char**)>(
          "rocksdb_get");
  void (*free_)(void*) = function<void(void*)>("rocksdb_free");
  void* (*make_batch_)() = function<void*()>("rocksdb_writebatch_create");
  void (*put_)(void*, const char*, std::size_t, const char*, std::size_t) =
      function<void(void*, const char*, std::size_t, const char*, std::size_t)>(
          "rocksdb_writebatch_put");
  void (*write_)(void*, const void*, void*,
                 char**) = function<void(void*, const void*, void*, char**)>("rocksdb_write");
  void (*destroy_batch_)(void*) = function<void(void*)>("rocksdb_writebatch_destroy");
};

}  // namespace

bool has_rocksdb() { return open_library() != nullptr; }

std::unique_ptr<Rival> open_rocksdb_rival(const std::filesystem::path& directory) {
  void* const library = open_library();
  if (library == nullptr) return nullptr;
  return std::make_unique<RocksdbRival>(library, directory);
}

}  // namespace hexad::bench
