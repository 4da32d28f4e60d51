// What a verb reads from a pool that it has open read-only, and what of that does not match its
// checksums. Such a store writes nothing, so it is read once more, when the verb has its outcome,
// by one that may: it writes wrong cells again, and notes what is lost.
#pragma once

#include <compare>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/hexad.h"

namespace hexad::tools {

class WrongReads {
 public:
  // Bytes of an object.
  struct Place {
    std::string collection;
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    auto operator<=>(const Place&) const = default;
  };
  using Places = std::set<Place>;

  // They have been read just now, well or not. Any thread. Only from time to time is the store
  // asked whether it has met wrong bytes, which costs it more than reading: whatever has been read
  // about then is read again.
  void note(Store& store, Place place);
  // Of what has been noted since the last call, that which is to be read again. The store is still
  // open, and nothing is being read.
  Places take(Store& store);

 private:
  void look(Store& store);

  std::mutex mutex_;         // below
  std::uint64_t wrong_ = 0;  // blocks that the store had met by the last look
  // Who has met some of them may note that only behind the look that finds them.
  bool again_ = false;
  std::vector<Place> since_;  // the last look
  std::uint64_t since_bytes_ = 0;
  Places found_;
};

// Of the option of verbs that do without.
inline constexpr const char* kNoRepairHelp =
    "Never open the pool for writing, to repair what has been read wrong";

// What reading them again came to.
struct Mended {
  std::uint64_t cells = 0;     // written again
  std::uint64_t failures = 0;  // cells that a device did not take
  std::uint64_t lost = 0;      // pieces of which bytes are lost, noted by now
  Status unread;               // of what could not be read for another reason
  bool cut = false;            // by an interrupt: perhaps not all of it was read again
};

// Of a store that may be written; objects that are gone are passed over. Ends early when the verb
// is interrupted.
Mended mend(Store& store, const WrongReads::Places& places);

// What was found and has been done about it, as a sentence.
std::string describe(const WrongReads::Places& places, const Mended& mended);
// The same where nothing could be, with what would help: what `why` says of it, where the pool
// cannot be written at all.
std::string describe(const WrongReads::Places& places, const Error& why);

}  // namespace hexad::tools
