#include "benchmarks/peers/peer.h"

#ifdef HEXAD_HAS_SQLITE

#include <sqlite3.h>

#include <mutex>

#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

constexpr const char* kFile = "objects.sqlite";
constexpr const char* kSchema =
    "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "CREATE TABLE IF NOT EXISTS objects(name TEXT PRIMARY KEY, data BLOB NOT NULL);";

// Used by one thread at a time.
class Connection {
 public:
  explicit Connection(const std::filesystem::path& directory) {
    check(sqlite3_open((directory / kFile).c_str(), &db_));
    sqlite3_busy_timeout(db_, 10'000);
    run(kSchema);
    put_ = prepare("INSERT OR REPLACE INTO objects(name, data) VALUES(?1, ?2)");
    get_ = prepare("SELECT data FROM objects WHERE name = ?1");
    remove_ = prepare("DELETE FROM objects WHERE name = ?1");
  }
  ~Connection() {
    for (sqlite3_stmt* statement : {put_, get_, remove_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  void put(const std::string& name, ByteView data) {
    check(sqlite3_bind_blob(put_, 2, data.data(), static_cast<int>(data.size()), SQLITE_STATIC));
    change(put_, name);
  }
  void remove(const std::string& name) { change(remove_, name); }
  Bytes get(const std::string& name) {
    bind(get_, name);
    if (sqlite3_step(get_) != SQLITE_ROW) die("SQLite: " + name + " is not there");
    const auto* begin = static_cast<const std::byte*>(sqlite3_column_blob(get_, 0));
    Bytes data(begin, begin + sqlite3_column_bytes(get_, 0));
    check(sqlite3_reset(get_));
    return data;
  }

 private:
  void check(int result) const {
    if (result != SQLITE_OK) die(std::string("SQLite: ") + sqlite3_errmsg(db_));
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr));
    return statement;
  }
  void bind(sqlite3_stmt* statement, const std::string& name) {
    check(
        sqlite3_bind_text(statement, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC));
  }
  void change(sqlite3_stmt* statement, const std::string& name) {
    bind(statement, name);
    if (sqlite3_step(statement) != SQLITE_DONE) check(sqlite3_errcode(db_));
    check(sqlite3_reset(statement));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* get_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
};

class SqlitePeer final : public Peer {
 public:
  explicit SqlitePeer(const PeerPlace& place) : directory_(place.directory) {
    std::filesystem::create_directories(directory_);
    reopen();
  }

  void put(const std::string& name, ByteView data) override {
    const std::lock_guard<std::mutex> lock(writing_);
    writer_->put(name, data);
  }
  void remove(const std::string& name) override {
    const std::lock_guard<std::mutex> lock(writing_);
    writer_->remove(name);
  }
  Bytes get(const std::string& name) override {
    std::unique_ptr<Connection> reader = take_reader();
    Bytes data = reader->get(name);
    const std::lock_guard<std::mutex> lock(mutex_);
    readers_.push_back(std::move(reader));
    return data;
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    writer_->run("BEGIN");
    for (const std::string& name : names) writer_->put(name, data);
    writer_->run("COMMIT");
    writer_->run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  void reopen() override {
    readers_.clear();
    writer_.reset();
    writer_ = std::make_unique<Connection>(directory_);
  }

 private:
  std::unique_ptr<Connection> take_reader() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!readers_.empty()) {
        std::unique_ptr<Connection> reader = std::move(readers_.back());
        readers_.pop_back();
        return reader;
      }
    }
    return std::make_unique<Connection>(directory_);
  }

  const std::filesystem::path directory_;
  std::mutex writing_;
  std::unique_ptr<Connection> writer_;  // guarded by writing_
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> readers_;  // nobody uses them now; guarded by mutex_
};

}  // namespace

PeerKind sqlite_peer() {
  return {"sqlite", "SQLite",
          "version " SQLITE_VERSION
          "; journal_mode=WAL, synchronous=FULL, page_size=8192, all else default; one connection "
          "writes, a connection for each thread reads",
          [](const PeerPlace& place) { return std::make_unique<SqlitePeer>(place); }};
}

}  // namespace hexad::bench

#else

namespace hexad::bench {
PeerKind sqlite_peer() {
  return {"sqlite", "SQLite", "not in this build: install libsqlite3-dev", nullptr};
}
}  // namespace hexad::bench

#endif
