#include "tests/core/store_runner.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "io/rng.h"
#include "tests/core/noise.h"
#include "tests/core/store_model.h"

namespace hexad::testing {

namespace {

// Bytes that no user has.
std::uint64_t unused(const SpaceUsage& space) {
  return space.available + space.internally_reserved + space.internal_metadata;
}

const std::string kCollections[] = {"default", "second", "\x01\xff"};

// Of RunnerOptions::worn_percent. No other op goes there.
const std::string kWorn = "worn";
constexpr std::uint64_t kWornSize = std::uint64_t{64} << 10;

std::string worn_name(std::uint64_t number) { return "worn" + std::to_string(number); }

const std::string& name_of(io::Rng& rng) {
  static const std::string kNames[] = {
      "a",    "a/",     "a/b",
      "a/b/", "a/b/c",  "a//b",
      "b",    "\xff",   std::string("\0", 1),
      "c/d",  "c/d/e",  std::string(1024, 'c'),
      "cc",   "c/d/e/", std::string(1024, 'c').replace(1023, 1, "d")};
  return kNames[rng.below(std::size(kNames))];
}

// Makes ops, each out of a generator of its own, so that one seed gives one op.
class OpMaker {
 public:
  explicit OpMaker(std::uint64_t big_one_in) : big_one_in_(big_one_in) {}

  // Sizes around what the engine treats differently: inline, one block, several cells, pages.
  std::uint64_t size(io::Rng& rng) const {
    static const std::uint64_t kSizes[] = {0,      1,       255,     256,    257,   4095,
                                           4096,   4097,    8192,    16384,  16385, 100000,
                                           262144, 1048575, 1048576, 1048577};
    if (rng.chance(1, 4)) return rng.below(5000);
    return kSizes[rng.below(rng.chance(1, big_one_in_) ? std::size(kSizes) : 11)];
  }
  std::string payload(io::Rng& rng) const {
    const std::uint64_t bytes = size(rng);
    if (rng.chance(1, 3)) return std::string(bytes, static_cast<char>('a' + rng.below(26)));
    return noise(bytes, rng.next());
  }
  void add(Transaction& t, std::uint64_t seed, const Model& model) const;

 private:
  const std::uint64_t big_one_in_;
};

void OpMaker::add(Transaction& t, std::uint64_t seed, const Model& model) const {
  io::Rng rng(seed);
  const std::string& collection = kCollections[rng.chance(3, 4) ? 0 : rng.below(3)];
  const std::string& name = name_of(rng);
  static const std::string kAttributes[] = {"one", "two", kContentType};
  const std::string& attribute = kAttributes[rng.below(3)];
  const std::uint64_t offset = rng.chance(1, 2) ? rng.below(6000) : size(rng);
  const ModelObject* object = model.find(collection, name);
  static const std::string kKeys[] = {"k", std::string("k\0", 2), "l", std::string(1024, 'k'),
                                      "\xff"};
  const std::string& key = kKeys[rng.below(std::size(kKeys))];
  switch (rng.below(57)) {
    case 0:
      return t.create_collection(collection);
    case 1:
      return t.remove_collection(collection,
                                 rng.chance(1, 4) ? Contents::kRemoved : Contents::kMustBeEmpty);
    case 2:
      return t.touch(collection, name);
    case 3:
      return t.create(collection, name);
    case 4:
    case 5:
    case 6:
      return t.put(collection, name, payload(rng), static_cast<Hint>(rng.below(3)));
    case 7:
    case 8:
    case 9:
      return t.write(collection, name, offset, as_bytes(payload(rng)));
    case 10:
      // Many small ones, so that a page fills with inline extents.
      return t.write(collection, name, rng.below(9000),
                     as_bytes(noise(1 + rng.below(256), rng.next())));
    case 11:
    case 12:
      return t.append(collection, name, as_bytes(payload(rng)));
    case 13:
    case 14:
      return t.zero(collection, name, offset, size(rng));
    case 15:
    case 16:
      return t.truncate(collection, name, size(rng));
    case 17:
    case 18:
    case 19:
      return t.remove(collection, name);
    case 20:
      return t.set_attr(collection, name, attribute, noise(rng.below(300), rng.next()));
    case 21:
      return t.remove_attr(collection, name, attribute);
    case 22:
    case 23:
    case 24:
      return t.rename(collection, name, kCollections[rng.below(3)], name_of(rng));
    case 25:
      return t.expect_absent(collection, name);
    case 26:
      return t.expect_exists(collection, name);
    case 27: {
      std::string value = noise(rng.below(3), rng.next());
      if (object != nullptr && object->attributes.count(attribute) > 0 && rng.chance(3, 4)) {
        value = object->attributes.at(attribute);
      }
      return t.expect_attr(collection, name, attribute, value);
    }
    case 28:
      return t.expect_attr_absent(collection, name, attribute);
    case 29:
    case 30: {
      if (object == nullptr) return t.expect_bytes(collection, name, offset, as_bytes("x"));
      // Some of what is there, sometimes with one byte changed or one byte too many.
      const std::uint64_t from = rng.below(object->data->size() + 1);
      std::string bytes = object->data->substr(from, size(rng));
      if (!bytes.empty() && rng.chance(1, 4)) bytes[rng.below(bytes.size())] ^= 1;
      if (rng.chance(1, 8)) bytes += 'x';
      return t.expect_bytes(collection, name, from, as_bytes(bytes));
    }
    case 31: {
      Attributes attributes;
      for (const std::string& one : kAttributes) {
        if (rng.chance(1, 2)) attributes[one] = noise(rng.below(300), rng.next());
      }
      return t.set_attrs(collection, name, attributes);
    }
    case 32:
      return t.remove_attrs(collection, name);
    case 33:
    case 34: {
      // Mostly short ranges.
      const std::string to = rng.chance(1, 2) ? name + "/" : rng.chance(1, 4) ? "" : name_of(rng);
      return t.remove_range(collection, rng.chance(1, 8) ? "" : name, to.substr(0, kMaxNameSize));
    }
    case 35:
    case 36:
      return t.set_hint(collection, name, static_cast<Hint>(rng.below(1 << 10)));
    case 37: {
      compression::Policy policy;
      policy.mode = static_cast<compression::Mode>(rng.below(4));
      policy.algorithm = static_cast<compression::Algorithm>(1 + rng.below(4));
      return t.set_policy(collection, policy);
    }
    case 38:
      // Mostly none, so that not everything fails from then on.
      if (rng.chance(2, 3)) return t.set_quota(collection, {});
      return t.set_quota(collection, {rng.below(12), rng.chance(1, 2) ? 0 : rng.below(2'000'000)});
    case 39:
    case 40:
    case 41:
      return t.omap_set(collection, name, key, payload(rng), static_cast<Hint>(rng.below(3)));
    case 42:
      return t.omap_remove(collection, name, key);
    case 43:
      return t.omap_remove_range(collection, name, rng.chance(1, 4) ? "" : key,
                                 rng.chance(1, 4) ? "" : kKeys[rng.below(std::size(kKeys))]);
    case 44:
      if (rng.chance(1, 2)) return t.omap_clear(collection, name);
      return t.omap_set_header(collection, name, as_bytes(payload(rng)));
    case 45:
      return t.expect_omap_absent(collection, name, key);
    case 46: {
      const bool there =
          object != nullptr && object->omap != nullptr && object->omap->keys.count(key) > 0;
      std::string value = there ? *object->omap->keys.at(key) : "x";
      if (!value.empty() && rng.chance(1, 4)) value[rng.below(value.size())] ^= 1;
      return t.expect_omap(collection, name, key, as_bytes(value));
    }
    case 47:
    case 48:
    case 49:
      return t.clone(collection, name, kCollections[rng.below(3)], name_of(rng));
    case 50:
    case 51:
    case 52: {
      const std::uint64_t end = object == nullptr ? 10 : object->data->size();
      const std::uint64_t from = rng.below(end + 1);
      const std::uint64_t most = end - from + (rng.chance(1, 20) ? 1 : 0);
      const std::uint64_t length = rng.chance(1, 2) ? most : std::min(most, size(rng));
      return t.clone_range(collection, name, from, length, kCollections[rng.below(3)], name_of(rng),
                           offset);
    }
    case 53:
    case 54:
      return t.split_collection(collection, name.substr(0, rng.below(4)),
                                kCollections[rng.below(3)]);
    case 55:
      return t.merge_collection(kCollections[rng.below(3)], collection);
    default: {
      Lsn version = 7;
      if (object != nullptr) version = object->version + (rng.chance(1, 4) ? 1 : 0);
      return t.expect_version(collection, name, version);
    }
  }
}

// --- the run -------------------------------------------------------------------------------------

class Runner {
 public:
  Runner(RunnerTarget& target, const RunnerOptions& options)
      : target_(target), options_(options), maker_(options.big_one_in), rng_(options.seed) {
    model_.collections[kDefaultCollection];
  }

  RunnerTally run() {
    std::string why = put_worn();
    while (why.empty() && tally_.ops < options_.ops) why = step();
    if (why.empty()) why = finish();
    if (!why.empty()) {
      tally_.difference = "seed " + std::to_string(options_.seed) + ", transaction " +
                          std::to_string(tally_.transactions) + ": " + why + "\n" + last_ops_;
    }
    return std::move(tally_);
  }

 private:
  // A state that the power's failing may bring back.
  struct Past {
    Lsn lsn = 0;
    Model model;
  };

  std::string put_worn();
  void wear(Transaction& t);
  std::string step();
  std::string begin_stream();
  Transaction make_transaction();
  std::string commit(Transaction transaction);
  std::string look_at_one();
  std::string read_some();
  std::string happen();
  std::string compare_all();
  std::string check() { return target_.check(); }
  std::string reopen();
  std::string cut();
  std::string find_state(std::size_t& which);
  std::string finish();
  bool one_in(std::uint64_t count) { return count > 0 && rng_.chance(1, count); }

  RunnerTarget& target_;
  const RunnerOptions options_;
  const OpMaker maker_;
  io::Rng rng_;
  Model model_;
  RunnerTally tally_;
  std::unique_ptr<ObjectWriter> writer_;
  ModelStream written_;  // by writer_
  std::unique_ptr<ObjectReader> reader_;
  std::shared_ptr<const std::string> reading_;  // what reader_ is to show
  std::uint64_t read_to_ = 0;                   // ... and how far it has come
  std::string last_ops_;                        // of the transaction before, for people
  bool buffered_ = false;                       // commits since the last durable one
  Lsn newest_ = 0;                              // of model_
  std::vector<Past> past_;                      // before model_, the oldest first
  std::uint64_t worn_ = 0;                      // objects
  std::vector<std::pair<std::string, std::string>> touched_;  // objects of the transaction before
};

std::string describe(const Transaction& transaction) {
  std::string text;
  for (const TransactionOp& op : transaction.ops()) {
    text += std::to_string(static_cast<int>(op.kind)) + " " + printable(op.collection) + "/" +
            printable(op.name, 16) + " " + std::to_string(op.offset) + "+" +
            std::to_string(op.payload.size() + op.length) + "\n";
  }
  return text;
}

std::string text_of(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

std::string Runner::put_worn() {
  if (options_.worn_percent == 0) return "";
  const Result<ObjectRoom> room = target_.store().room_for(kWornSize);
  if (!room.ok()) return "room: " + room.error().to_string();
  Transaction made;
  made.create_collection(kWorn);
  if (std::string why = commit(std::move(made)); !why.empty()) return why;
  const std::uint64_t count = room->usable * options_.worn_percent / 100 / kWornSize;
  while (worn_ < count) {
    Transaction t;
    for (int i = 0; i < 16 && worn_ < count; ++i, ++worn_) {
      t.put(kWorn, worn_name(worn_), noise(kWornSize, rng_.next()));
    }
    if (std::string why = commit(std::move(t)); !why.empty()) return why;
  }
  return "";
}

void Runner::wear(Transaction& t) {
  constexpr std::uint64_t kPart = 1024;
  for (std::uint64_t writes = 1 + rng_.below(6); writes > 0; --writes) {
    const std::uint64_t at = rng_.below(kWornSize / kPart - 4) * kPart;
    t.write(kWorn, worn_name(rng_.below(worn_)), at,
            as_bytes(noise((1 + rng_.below(4)) * kPart, rng_.next())));
  }
  if (rng_.chance(1, 8)) t.put(kWorn, worn_name(rng_.below(worn_)), noise(kWornSize, rng_.next()));
  if (rng_.chance(1, 8)) {
    t.clone(kWorn, worn_name(rng_.below(worn_)), kWorn, "copy" + std::to_string(rng_.below(4)));
  }
}

std::string Runner::step() {
  if (rng_.chance(1, 20)) {
    if (std::string why = begin_stream(); !why.empty()) return why;
  }
  if (std::string why = commit(make_transaction()); !why.empty()) return why;
  if (std::string why = look_at_one(); !why.empty()) return why;
  if (std::string why = read_some(); !why.empty()) return why;
  return happen();
}

// A writer that the next transaction publishes, or that is dropped when it does not.
std::string Runner::begin_stream() {
  const std::string& collection = kCollections[rng_.chance(3, 4) ? 0 : rng_.below(3)];
  const std::string& name = name_of(rng_);
  std::optional<Hint> hint;
  if (rng_.chance(1, 2)) hint = static_cast<Hint>(rng_.below(3));
  Result<std::unique_ptr<ObjectWriter>> writer =
      target_.store().open_writer(collection, name, hint);
  if (model_.collections.count(collection) == 0) {
    const bool refused = !writer.ok() && writer.error().code == ErrorCode::kNotFound;
    return refused ? "" : "open_writer: does not say that the collection is missing";
  }
  if (!writer.ok()) return "open_writer: " + writer.error().to_string();
  std::string data;
  written_ = {};
  written_.hint = hint;
  for (std::uint64_t pieces = rng_.below(4); pieces > 0; --pieces) {
    const std::string piece = maker_.payload(rng_);
    if (const Status status = (*writer)->append(as_bytes(piece)); !status.ok()) {
      if (options_.may_be_full && status.error().code == ErrorCode::kNoSpace) {
        ++tally_.refused;
        return "";
      }
      return "append: " + text_of(status);
    }
    data += piece;
  }
  if (rng_.chance(1, 3)) {
    written_.attributes["one"] = noise(rng_.below(300), rng_.next());
    const Status status = (*writer)->set_attr("one", written_.attributes["one"]);
    if (!status.ok()) return "set_attr of a writer: " + text_of(status);
  }
  if ((*writer)->size() != data.size()) return "size of a writer differs";
  written_.data = std::make_shared<const std::string>(std::move(data));
  writer_ = rng_.chance(1, 8) ? nullptr : std::move(writer).value();
  return "";
}

// Most transactions of 20 random ops fail; ops that would fail are therefore mostly left out, by
// trying them on a copy of the model first.
Transaction Runner::make_transaction() {
  Transaction t;
  const auto publish = [&] {
    t.publish(*writer_);
    writer_.reset();
    model_.streams = {{t.ops().back().staged.get(), std::move(written_)}};
    ++tally_.streams;
  };
  if (writer_ != nullptr && rng_.chance(1, 2)) publish();
  const std::uint64_t ops = 1 + rng_.below(rng_.chance(1, 3) ? 20 : 4);
  std::optional<Model> trial;
  if (rng_.chance(2, 3)) {
    trial = model_;
    if (!t.empty()) trial->apply_op(t.ops().front());
  }
  std::uint64_t chosen = 0;
  for (std::uint64_t tries = 0; chosen < ops && tries < 60; ++tries) {
    const std::uint64_t seed = rng_.next();
    if (trial.has_value()) {
      Transaction probe;
      maker_.add(probe, seed, model_);
      const TransactionOp& op = probe.ops().front();
      if (!probe.problem().ok()) continue;
      if (is_guard(op.kind) ? !model_.holds(op) : trial->apply_op(op).has_value()) continue;
    }
    maker_.add(t, seed, model_);
    ++chosen;
  }
  if (writer_ != nullptr) publish();
  if (worn_ > 0 && rng_.chance(1, 2)) wear(t);
  return t;
}

std::string Runner::commit(Transaction transaction) {
  last_ops_ = describe(transaction);
  touched_.clear();
  for (const TransactionOp& op : transaction.ops()) {
    if (!op.name.empty()) touched_.emplace_back(op.collection, op.name);
    const bool two =
        op.kind == OpKind::kRename || op.kind == OpKind::kClone || op.kind == OpKind::kCloneRange;
    if (two) touched_.emplace_back(op.other_collection, op.other);
  }
  tally_.ops += transaction.size();
  ++tally_.transactions;
  Model next = model_;
  const std::optional<ErrorCode> expected = next.apply(transaction);
  CommitOptions options;
  if (rng_.chance(options_.buffered_in_4, 4)) options.durability = Durability::kBuffered;
  const Result<Lsn> lsn = target_.store().commit(std::move(transaction), options);
  model_.streams.clear();
  next.streams.clear();
  if (lsn.ok()) {
    if (expected.has_value()) {
      return "commit went well instead of failing with " + std::string(to_string(*expected));
    }
    buffered_ = options.durability == Durability::kBuffered;
    if (!buffered_) past_.clear();
    if (buffered_ && options_.cut_one_in > 0) past_.push_back({newest_, std::move(model_)});
    newest_ = *lsn;
    next.stamp(*lsn);
    model_ = std::move(next);
    return "";
  }
  if (options_.may_be_full && expected != ErrorCode::kNoSpace &&
      lsn.error().code == ErrorCode::kNoSpace) {
    ++tally_.refused;
    return "";
  }
  ++tally_.failures;
  if (expected == lsn.error().code) return "";
  return "commit failed: " + lsn.error().to_string() + ", instead of " +
         (expected.has_value() ? std::string(to_string(*expected)) : "going well");
}

std::string Runner::look_at_one() {
  if (touched_.empty()) return "";
  const auto& [collection, name] = touched_[rng_.below(touched_.size())];
  if (name.size() > kMaxNameSize) return "";
  return object_difference(target_.store(), model_, collection, name, rng_);
}

// What a reader shows is the version that it was opened for, unless it says that this was given up.
std::string Runner::read_some() {
  if (reader_ == nullptr) {
    if (!one_in(options_.read_one_in) || touched_.empty()) return "";
    const auto& [collection, name] = touched_[rng_.below(touched_.size())];
    const ModelObject* object = model_.find(collection, name);
    if (object == nullptr) return "";
    Result<std::unique_ptr<ObjectReader>> reader = target_.store().open_reader(collection, name);
    if (!reader.ok()) return "open_reader: " + text_of(reader.status());
    reader_ = std::move(reader).value();
    reading_ = object->data;
    read_to_ = 0;
    return "";
  }
  Bytes piece(1 + maker_.size(rng_));
  const Result<std::uint64_t> length = reader_->read(piece);
  const bool given_up = !length.ok() && length.error().code == ErrorCode::kConflict;
  if (!length.ok() && !given_up) return "a reader: " + text_of(length.status());
  if (given_up) {
    reader_.reset();
    return "";
  }
  if (as_text(ByteView(piece).first(*length)) != reading_->substr(read_to_, piece.size())) {
    return "a reader shows other bytes from " + std::to_string(read_to_) + " on";
  }
  read_to_ += *length;
  if (*length < piece.size()) {
    reader_.reset();
    ++tally_.read;
  }
  return "";
}

std::string Runner::happen() {
  if (one_in(options_.cut_one_in)) return cut();
  if (one_in(options_.wait_one_in)) target_.wait();
  if (one_in(options_.checkpoint_one_in)) {
    if (const Status status = target_.store().checkpoint(); !status.ok()) {
      return "checkpoint: " + text_of(status);
    }
  }
  if (one_in(options_.compare_one_in)) {
    if (std::string why = compare_all(); !why.empty()) return why;
  }
  if (one_in(options_.check_one_in)) {
    if (std::string why = check(); !why.empty()) return why;
  }
  return target_.can_reopen() && one_in(options_.reopen_one_in) ? reopen() : "";
}

std::string Runner::compare_all() {
  ++tally_.compared;
  return difference(target_.store(), model_, rng_);
}

std::string Runner::reopen() {
  using Ending = RunnerTarget::Ending;
  reader_.reset();
  const Ending ending = rng_.chance(1, 2) ? Ending::kClosed : Ending::kDropped;
  const bool look = rng_.chance(1, 3);  // first for reading alone
  if (ending == Ending::kDropped && buffered_) {
    if (const Status status = target_.store().sync(); !status.ok()) {
      return "sync: " + text_of(status);
    }
  }
  buffered_ = false;
  past_.clear();
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    if (access == Access::kReadOnly && !look) continue;
    // Reading alone leaves nothing to close.
    const bool second = look && access == Access::kReadWrite;
    const Status status = target_.reopen(second ? Ending::kDropped : ending, access);
    ++tally_.reopened;
    if (!status.ok()) return "opening again: " + text_of(status);
    if (std::string why = compare_all(); !why.empty()) return "opened again: " + why;
    if (std::string why = check(); !why.empty()) return "opened again: " + why;
  }
  return "";
}

// Which of past_ the store shows, of the newest as many as are there.
std::string Runner::find_state(std::size_t& which) {
  const Lsn last = target_.store().status().last_lsn;
  std::string first;
  for (which = past_.size(); which-- > 0;) {
    if (past_[which].lsn > last) continue;
    std::string why = difference(target_.store(), past_[which].model, rng_);
    if (why.empty()) return "";
    if (first.empty()) first = std::move(why);
  }
  if (!first.empty()) return first;
  return "LSN " + std::to_string(past_.front().lsn) + " was durable, and the store ends at " +
         std::to_string(last);
}

std::string Runner::cut() {
  using Ending = RunnerTarget::Ending;
  reader_.reset();
  const Lsn durable = target_.store().status().last_lsn;
  past_.push_back({newest_, std::move(model_)});
  while (past_.size() > 1 && past_[1].lsn <= durable) past_.erase(past_.begin());
  ++tally_.cuts;
  std::size_t which = 0;
  const bool look = rng_.chance(1, 3);  // first for reading alone
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    if (access == Access::kReadOnly && !look) continue;
    const bool second = look && access == Access::kReadWrite;
    const Status status = target_.reopen(second ? Ending::kDropped : Ending::kCut, access);
    if (!status.ok()) return "opening behind a power failure: " + text_of(status);
    if (std::string why = find_state(which); !why.empty()) return "a power failure: " + why;
    if (std::string why = check(); !why.empty()) return "a power failure: " + why;
  }
  tally_.lost += past_.size() - 1 - which;
  newest_ = past_[which].lsn;
  model_ = std::move(past_[which].model);
  past_.clear();
  buffered_ = false;
  return "";
}

std::string Runner::finish() {
  writer_.reset();
  reader_.reset();
  if (std::string why = compare_all(); !why.empty()) return why;
  if (std::string why = check(); !why.empty()) return why;
  Store& store = target_.store();
  for (const auto& [collection, objects] : model_.collections) {
    Transaction t;
    for (const auto& [name, object] : objects) t.remove(collection, name);
    const Result<Lsn> lsn = store.commit(std::move(t));
    if (!lsn.ok()) return "removing all: " + lsn.error().to_string();
  }
  // What is large, and omaps, the background takes back.
  SpaceUsage space;
  for (int i = 0; i < 10'000; ++i) {
    if (const Status status = store.checkpoint(); !status.ok()) {
      return "the last checkpoint: " + text_of(status);
    }
    Result<SpaceUsage> now = store.space();
    if (!now.ok()) return "space: " + now.error().to_string();
    space = *std::move(now);
    if (space.allocated == 0 && unused(space) == space.capacity) return check();
    target_.wait();
  }
  return "all is removed, and " + std::to_string(space.allocated) + " bytes are allocated, " +
         std::to_string(unused(space)) + " of " + std::to_string(space.capacity) +
         " are free or the store's own";
}

}  // namespace

void RunnerTally::add(const RunnerTally& other) {
  ops += other.ops;
  transactions += other.transactions;
  failures += other.failures;
  streams += other.streams;
  compared += other.compared;
  reopened += other.reopened;
  read += other.read;
  cuts += other.cuts;
  lost += other.lost;
  refused += other.refused;
  if (difference.empty()) difference = other.difference;
}

std::string RunnerTally::line(std::uint64_t seed) const {
  return "runner seed=" + std::to_string(seed) + " ops=" + std::to_string(ops) +
         " transactions=" + std::to_string(transactions) + " failures=" + std::to_string(failures) +
         " streams=" + std::to_string(streams) + " compared=" + std::to_string(compared) +
         " reopened=" + std::to_string(reopened) +
         " differences=" + (difference.empty() ? "0" : "1");
}

RunnerTally run_store(RunnerTarget& target, const RunnerOptions& options) {
  return Runner(target, options).run();
}

}  // namespace hexad::testing
