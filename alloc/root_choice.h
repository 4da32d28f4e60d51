// Which root is the state of the store, and which devices may be used under it. Pure functions.
//
// The writer's protocol (core follows it, the tests here enumerate its crashes)
//   P1  Quorums count rows with role kData of a device table, in any state, by the most cells that
//       a zone can have on them (FD2 of alloc/failure_domains.h): N for all rows, which without
//       failure domains is their number. A set of devices is a read quorum when what is not in it
//       counts for at most m. A root is committed when it is durable on every device that it lists
//       as live, and those are a read quorum of the table of the root before it and of its own.
//       Opening needs readable roots on one. Where N > 2m any two read quorums meet; for N <= 2m,
//       so for k <= m, there is P8.
//   P2  A root of epoch e is written only when some root with promised_epoch >= e is durable on
//       a quorum (P8). Opening for writing therefore writes promise_root() first, and only then
//       next_epoch_root(); each root of a new epoch promises the next one, so that a membership
//       change of the same writer needs no extra round.
//   P3  A change of membership takes a new epoch (next_epoch_root()), a checkpoint does not
//       (next_root()). A device that the root lists as left is not written.
//   P4  Everything a root refers to is durable before its first write. Nothing is acknowledged,
//       trimmed or healed on the strength of a root before it is committed. A device that cannot be
//       written is listed as left in the next root instead.
//   P5  What a row confirms (epoch, sequence, nonce) is raised only to those of a root that was
//   read
//       from, or durably written to, that device (record_written()).
//   P6  A root that is sent out has a sequence of its own (next_attempt()). One that was not
//       committed may be on some devices for good, with another device table; what the writer
//       sends instead is newer. It stays in the epoch: the one after it is promised only by a root
//       that was not committed.
//   P7  Making a store writes labels and a root of sequence kMaking to all devices, and then, when
//       all that is durable, one of sequence kMade. A root of sequence kMaking counts only where
//       all devices of its table are there: otherwise nobody has been told that there is a store.
//   P8  An opening for writing has a ground to stand on: (a) it can use data devices that count for
//       m + 1, or (b) all that the newest root lists as live, for then whoever is away has left
//       with that root: the devices that carry it bear witness. Promise and first root of the new
//       epoch have to be durable on a write quorum: a read quorum that counts for m + 1 at least,
//       or all data devices; or, (b), on a read quorum, when those live ones that are not among
//       them were seen to carry the newest root and failed only now. What comes after needs P1
//       alone: the writer has seen who failed.
//   P9  Without such a ground it takes a word of the user. The new epoch is then drawn by chance
//       from a large range, and the root says from which one it went on (fork()).
//   P10 A device has its roots at two ends, each with two slots, and each end is written as if it
//       were a device of its own: the slot that does not hold the newest root of that end. A root
//       is durable on a device when it is at both ends. The device's newest is the newest of all
//       four slots. No copy of a root is made at one end alone: an opening writes two roots, the
//       promise and that of its epoch, which fill all four slots anew.
//   P11 A writer draws a number by chance, its nonce, and notes in its roots which epochs are its
//       own (next_epoch_root()); a promise is a copy and keeps those of the root that it copies.
//       Two roots that name different writers for one epoch are of stores that were written apart:
//       choose_root() refuses to choose, as with forks. So it does where a device was written to by
//       somebody who had not seen the promise that its row confirms.
//   P12 A root has at most one row more, or one less, than the one before it, and is of a new epoch
//       then (P3). One more: the device is live and not behind, has a number that none has had, and
//       shows the root before; once such a root was sent, every later one of that writer has the
//       row, as left where its device has failed. One less: its device had left with the root
//       before, or earlier, and the others count for k + m at least. Where m = 0, P13.
//   P13 Where m = 0 a root that lists a data device as left could never be committed (P1), so none
//       is written. A row goes with the root that its device leaves by, and that of a device which
//       fails while it is added goes again with the attempt after it. Such a root counts when it is
//       durable on all devices of its own table, of which the one before has one at least. One that
//       has a new row is sent to that device alone, and to the others when it is durable there.
//
// Why a device with two ends is as good as one with one
//   * An end shows, whenever it is read, the last root that became durable there, or one that was
//     sent after that: its slot is never written over (a torn write takes the older one). A root
//     that counts as written is at both ends, so each of the two shows that one or a later one.
//   * So a device that loses one end, to a partition table or a cable, shows at the other at least
//     what its rows in other roots confirm (P5): it is neither stale nor rolled back by that.
//   * A crash between the two leaves a root at one end: it has then reached the device, in part of
//     its copies, and did not count as written there. Found, it may be adopted like any root that
//     reached some device ("Why the newest root", below); not found, because that end is lost, the
//     device is as it was before: nothing counted on it.
//   * Both ends get the same bytes in one attempt, so no two contents share one {epoch, sequence}
//     by it (P6), also where one end has missed roots: what it gets next is the next root.
//
// Why the newest root may be adopted, wherever it is found
//   * No two writers own one epoch: before its first root of epoch e a writer had promised e on a
//     write quorum (P2); every later one reads a read quorum, meets the promise and goes above e.
//   * So let r be committed, and let s be newer. Same epoch: same writer, later. Higher epoch: its
//     owner came later than r's, because an earlier owner's promise would have been met by r's; at
//     its opening it met r or something newer. Either way s descends from r: nothing acknowledged
//     is lost by taking s. Without the promise a root that a crash left on one device, which then
//     vanishes, could come back with a higher epoch than what was acknowledged without it.
//   * In the same way an attempt that was given up for r is older than r (P6).
//   * s itself may be on one device only, after a crash: then nothing was acknowledged under it,
//     and all it refers to is durable (P4).
//
// Why no two writers go on apart where N <= 2m, unless told to
//   * Let a writer go on with the live devices T, at least N - m, and let others be without T: they
//     are at most m, so ground (a) is not theirs. For (b) the newest root that they find would have
//     to list all of T as left.
//   * Those of them that were live when the writer's last root was committed carry that root, which
//     lists T as live; so does each attempt after it. Those that had left have older roots. An
//     attempt of an earlier writer that was given up, or cut, may list T as left, on one of those;
//     but a device that the writer knows of has a newer root, which then counts. That is why the
//     first root of an opening needs m + 1 devices, or all the live ones, informed.
//   * So nothing but a word (P9) makes two lineages. Roots of two that were written apart are told
//     by their forks: each has what the other did not go on from. choose_root() refuses to choose.
//     Where one of the two wrote nothing, the other one has gone on from its last root, and counts.
//
// Why the same holds when a device is added or removed (P12)
//   * Added: R' has D's row. It is committed only on every device that it lists as live, and those
//     are N - m of the old table and N + 1 - m of its own. The others are those that have left in
//     R', at most m: (a) is not theirs, and (b) is not, as above. Whoever has D has R', or
//     something later.
//   * Before that R' may be anywhere, given up or cut. Found, it is adopted as any newest root is;
//     then D is one of N + 1, whether it is there or not: as it has shown a root since before R'
//     was sent, it is not taken for stale. Not found, D is foreign to all. Were the row taken back
//     by the attempt after it, two sets of devices could each hold a quorum of its own table: with
//     1 + 1 = {A, B} and D, those of R' that B and D carry, and A alone by a root without D that
//     lists B as left. With the row D has left there, too, so A is one of three, too few, and gives
//     up.
//   * Removed: D has left with R, so it and the others that have left in R are at most m, and R''
//   is
//     without its row. Whoever leaves later had R'', which is newer than R; so to those who are
//     with him D is foreign, and no row of their table. They are those that have left with or
//     before R, without D, and those that left since: at most m. Who is without him has not got
//     R'', so has left with or before R: at most m with D.
//   * R'' is of an epoch above that of R, as it lists fewer devices as left, which comes before the
//     sequence in the order of roots.
//   * A number is never given twice, so what a removed device brings along is foreign for good.
//
// Why the same holds where m = 0 (P13)
//   * An opening goes on with the newest root that it finds, X, only where it finds roots on all
//     data devices of X's table (P1). So the table of a later committed root is to have one of
//     them: that shows this root, or something newer, and X is not the newest.
//   * X was committed: of the tables of X and of the next root that is, one has at most one row
//     more than the other, and neither is empty. Through several removals likewise: each device of
//     X's table that went shows a root that lists those that stayed, and X is older than that.
//   * X was not, and has one row more. While its device has not got it nobody else has (P13), so
//     that the others open without it, whatever becomes of the device. When it has, whoever finds X
//     on another finds all that X needs, as far as nothing is lost, and adopts it.
//   * X was not, and nobody adopted it. Where an opening followed, that has filled all four slots
//     of all devices that it went on with (P10); where the same writer went on, what it sent
//     instead is newer and lies on all of them. So X is left on a device alone that was to be
//     added, and lists all that the store had then, of which the above holds.
//
// Why all this holds with failure domains, too
//   * It rests on two things: that what is left out of two quorums counts for at most 2m together,
//     and that whoever is left out of a read quorum counts for at most m, so is not m + 1. Both are
//     so of any count that grows with the set, and for two sets together is at most the sum: that
//     of FD2 is one. Tables differ by rows alone, and how a row counts does not change (FD3), so
//     the counts of two tables agree on the devices of both.
//   * Above, "at most m", "m + 1" and "too few" are such counts.
//
// Why two roots of one store never name different writers for an epoch, and what does
//   * By P2 an epoch has one writer. A root notes epochs of the writers that it goes on from and of
//     its own, each only when it was the epoch of a root that was sent out; so each range is of one
//     writer without gaps, for a membership change takes the epoch after its own. An opening that
//     skips epochs, because others were promised, begins a range of its own behind them.
//   * So an attempt of an opening that crashed, found on a device that was away meanwhile, has a
//     range that the others do not have, and does not overlap with theirs: the opening after it met
//     its promise and went above.
//   * Copies of all devices (dd, a snapshot of the machine) that are opened on their own begin with
//     the same promise, so both take the same epoch, with different nonces. One such device among
//     those of the other copy has a label, uuid and epochs that fit; without nonces the newer one's
//     root counted for all.
//   * A copy is opened while the original stays open, or when that has taken an epoch more by a
//     change of membership: then their epochs are different ones, and the newest root, of either,
//     would count. Its rows tell. In the first epoch of an opening they confirm its promise on all
//     live devices, or its own roots. What a device shows above that promise is of the opening, or
//     of one that met it, and promises more; a root of the other copy is of a lower epoch, and
//     promises no more. With the next roots of the opening, what such a device shows is older than
//     confirmed. (A device that is taken in, by a root of a later epoch, has got no promise.)
//   * One that has left gets no promise. In the copy it may have a root of a later epoch than its
//   row
//     confirms; but that root's own row of it confirms less, since it goes on from before.
//   * What is not seen: a copy that nobody wrote to since is the device as it was, and goes by its
//     sequence (below); ranges older than kMaxWriters openings are forgotten, and then the row's
//     own nonce tells, for the epoch that it confirms.
//
// Ties, and what else is not in the order of sequences
//   * Attempts of one change of membership: each is given up because a device did not take it, and
//     the next one lists that device as left. So of two roots of one epoch, the one that lists more
//     devices as left is later, and only the last attempt can have been committed. This order comes
//     before that of sequences, for two reasons. Versions before P6 gave all attempts one sequence.
//     And a promise is a copy of the newest root that was found: of an attempt that was given up,
//     perhaps, with a sequence above that of the last one, which lay on devices that were away.
//     Then neither was committed, and either may be taken.
//   * Two promises, or a promise and a checkpoint: an opening that did not see a root s, because a
//     crash had left it on devices that were away, copies the one before s with the sequence of s.
//     A committed s it would have met (P1), so nothing was acknowledged under s; nothing ever is
//     under a promise; and had the opening come further, there would be a root of a higher epoch.
//     Both are whole (P4): either may be taken. The later checkpoint is, so that all who look take
//     the same one; what was promised is taken from all roots together.
//   * An end of a slot that ties keeps the one that wins: write_root() goes by the same order.
//   * Two roots of one epoch of which each has a device as left that the other has live: no writer
//     makes them. choose_root() refuses them by name.
//
// Which devices may be used under the newest root g
//   * Listed as left: never, until a later root lists it live again (mark_back()). That may be
//     written where the device shows a root as new as its row confirms: then it has what counted on
//     it when it left. What it lacks since is what the zones record as missing on its slots.
//   * Listed as live, but taken in by g or a root before it that did not reach the device: yes. It
//     lacks what those roots' zones record as missing, and what they refer to beside that was
//     written to it before they were sent (P4).
//   * Listed as live, and its own root as new as g's row confirms: yes, also when its root is one
//     epoch or several roots behind. If g did not reach the device, g was not committed (P1),
//     nothing was acknowledged under g, and all that was before counted on this device.
//   * Listed as live, and its own root older than confirmed, in epoch or sequence: it has lost
//     durable writes (an old image was put back), because the slot of an end's newest root is never
//     overwritten. Stale. A device gets ascending sequences: who writes to it has read its roots,
//     and sends one above all that it has seen (P6); so those of an end are in the order of time.
//   * With a root of the epoch that its row confirms, by another writer: another history. Stale.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"

namespace hexad::alloc {

// What was read from one device that was offered. `id` and `uuid` are its label's.
struct DeviceRoots {
  DeviceId id = 0;
  Uuid uuid;
  Uuid store;
  std::vector<Root> roots;  // from read_roots(), of both ends; may be empty
};

enum class Standing : std::uint8_t {
  kHealthy = 1,  // use it
  kStale,        // present, but rolled back: neither its cells nor its log are to be trusted
  kAway,         // present, and has left: an opening for writing may take it in again
  kLeft,         // absent, and the table says so
  kMissing,      // absent, but the table has it live
  kForeign,      // of another store, or no member of this one
  kDuplicate,    // another device claims the same id
};

std::string_view to_string(Standing standing);

struct DeviceStanding {
  DeviceId id = 0;
  Standing standing = Standing::kHealthy;
  int input = -1;       // index into the devices given; -1 when absent
  bool behind = false;  // healthy, but without the newest root: the next root write brings it up
  std::string reason;   // for messages; empty for a healthy device that is not behind
};

struct RootChoice {
  Root root;
  Epoch promised_epoch = 0;    // the highest seen on any device
  std::uint32_t readable = 0;  // how many data devices had a readable root
  // One per device given, in that order, then one per absent row of the table, by id.
  std::vector<DeviceStanding> devices;
  std::uint64_t sequence = 0;  // the highest seen on any device
};

// `store`: the store that is being opened; others' devices are foreign. `m`: parities of the
// profile. Errors: kUnavailable (the devices with readable roots are no read quorum, or P7; the
// message counts and names what is absent), kNotFound (no device carries a root of this store),
// kCorruption (two roots that no writer makes, "Ties"), kInvalidArgument (devices that were written
// apart, P9).
Result<RootChoice> choose_root(const Uuid& store, std::span<const DeviceRoots> devices,
                               std::uint32_t m);

// P7: sequences in epoch 1.
inline constexpr std::uint64_t kMaking = 1;
inline constexpr std::uint64_t kMade = 2;

// The most cells of a zone on the data devices of `table` that are in `set`, and on those that are
// not (FD2).
std::uint32_t cells_on(const Root& table, std::span<const DeviceId> set);
std::uint32_t cells_without(const Root& table, std::span<const DeviceId> set);
// P1: what is not in `set` counts for m at most, and something is in it.
bool is_read_quorum(const Root& table, std::span<const DeviceId> set, std::uint32_t m);
// P8: it counts for m + 1 at least, too, or it is all data devices.
bool is_write_quorum(const Root& table, std::span<const DeviceId> set, std::uint32_t m);

// P1, P13. `previous`: the root that `next` was made from. `written`: devices where it is durable.
bool is_committed(const Root& previous, const Root& next, std::span<const DeviceId> written,
                  std::uint32_t m);

// P8, P9: what an opening for writing stands on.
enum class Ground : std::uint8_t {
  kQuorum = 1,  // (a)
  kWitness,     // (b)
  kWord,        // neither; the user takes the risk
  kNone,
};
// Never kWord.
Ground ground_of(const RootChoice& choice, std::uint32_t m);
// Whether what an opening has written to `written`, its promise or the first root of its epoch,
// lets it go on. `chosen`: the root that it found. `informed`: devices that carry that root.
bool may_go_on(Ground ground, const Root& chosen, std::span<const DeviceId> written,
               std::span<const DeviceId> informed, std::uint32_t m);

// The successor of `current` in the same epoch: a checkpoint, a clean close. Not clean_close.
Root next_root(const Root& current);
// What opening for writing writes first: the chosen root again, with promise and sequence above all
// seen.
Root promise_root(const RootChoice& choice);
// The successor in the epoch that `current` promised, promising the next, by the writer `nonce`,
// not 0 (P11). The caller edits the table (mark_left()) and the fence. Precondition: the promise is
// durable (P2).
Root next_epoch_root(const Root& current, std::uint64_t nonce);
// P9: notes in `next`, of a new epoch, that it went on from `before` on nobody's evidence.
// Errors: kTooBig (kMaxForks).
Status fork(Root& next, const Root& before);
// P6: `next` with a sequence above `sent`, that of the last root which was sent out since opening.
Root next_attempt(Root next, std::uint64_t& sent);
// Notes that `id` left with this root. No effect on a row that has left already.
// Precondition: the table has it.
void mark_left(Root& root, DeviceId id, Lsn last_lsn);
// Notes that `id` is live again with this root, and behind, and which device it is: `uuid` is
// another one than before where a new device takes the place. No effect on a live row.
// Precondition of this and the next: the table has it.
void mark_back(Root& root, DeviceId id, const Uuid& uuid);
// Notes that it lacks nothing any more.
void mark_whole(Root& root, DeviceId id);
// Notes that it is given slabs of zones whose devices are lost, and lacks what is to be in them. No
// effect on one that lacks something already, or has left. Precondition: a data device of the
// table.
void mark_filling(Root& root, DeviceId id);
// Root::lost_in_zone is `slabs`, as it was with the devices of `counted` lost, and what a zone can
// have on the other ones that the rows say are.
void set_lost_in_zone(Root& root, std::uint32_t slabs, const std::set<DeviceId>& counted);
// How many cells a zone has lost at most (BK4), where only `attached` devices can be used: on data
// devices that cannot be used, or are behind (FD2); or, because devices are filling, of one zone.
std::uint32_t lost_cells(const Root& root, const std::set<DeviceId>& attached);
// P12: a row more, of a device that is live and lacks nothing, for nothing is on it. Preconditions:
// `id` is root.next_device, which grows, and not above kMaxDeviceId; there are fewer than
// kMaxDevices. `slabs`: that it has; not 0 on a data device. `domain`: its failure domain; empty:
// its own, and so where the root has no domain_cells.
void add_row(Root& root, DeviceId id, const Uuid& uuid, DeviceRole role, std::uint32_t slabs,
             const std::string& domain);
// P12: a row less. Preconditions: it is there, and its device had left with the root before, or,
// where m = 0, leaves with this one (P13); nothing that the root refers to lies on it.
void drop_row(Root& root, DeviceId id);
// Precondition of both: the table has it, as a data device.
void begin_draining(Root& root, DeviceId id);
void end_draining(Root& root, DeviceId id);
// P5, in memory, for the root that comes next.
void record_written(Root& root, std::span<const DeviceId> written);

}  // namespace hexad::alloc
