// Six small disks as a store leaves them, edits that make every checksum fit again, and the store
// that is opened on what comes out: for fuzz targets. All of it in a simulation, so that one input
// does the same every time; the index is in memory, and is made again from the runs by each
// opening.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/label.h"
#include "alloc/root.h"
#include "base/codec.h"
#include "core/engine/engine.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "io/sim/cow_image.h"
#include "io/sim/fiber.h"
#include "kv/log/log_format.h"

namespace hexad::testing {

inline constexpr std::size_t kImageDisks = 6;

// A block of the log, and the bytes of its records.
struct ImageLogBlock {
  kv::LogBlockHeader header;
  std::vector<std::string> records;
};

struct DiskImages {
  std::vector<std::shared_ptr<const io::CowImage>> disks;  // null: the disk is not there
  // What the store said of itself when the disks were taken from it.
  core::StoreShape shape;
  alloc::Label label;  // of the first disk; the layouts of all are alike
  alloc::Root root;    // the newest
  std::vector<ImageLogBlock> log;
  kv::LogPoint trim;
  std::vector<std::pair<std::string, std::string>> metadata;  // in order of the keys
};

// How the store was left.
enum class Left : std::uint8_t {
  kClosed,   // all is in runs, the log holds no record that counts
  kCrashed,  // some of it is in the log alone
};
// A store with some of everything in it: objects of every placement, omaps, clones, collections
// that were split and removed.
DiskImages make_images(Left left);

// Opens the store on the disks and calls `use`, on a simulation of their own. What is written to
// the disks is in `disks` afterwards. Asserts that it comes to an end: a deadlock, or a store that
// is still at work after some hundred thousand turns of its threads, is a bug whatever the disks
// hold.
class ImageOpener {
 public:
  using Use = std::function<void(core::Engine&)>;
  // The error of opening, or ok.
  Status open(DiskImages& images, Access access, const Use& use);

 private:
  std::shared_ptr<io::FiberStacks> stacks_ = std::make_shared<io::FiberStacks>();
};

// Writes one more record behind the log, below the watermark.
void append_record(DiskImages& images, const core::LogRecord& record);

// Changes the disks as `in` says, until that is empty.
void edit_images(DiskImages& images, Decoder in);

}  // namespace hexad::testing
