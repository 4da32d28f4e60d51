// The part of fsck that looks at one key of the metadata after the other: that each decodes, and
// that it belongs to something. What it finds, and all lists of extents, go to FsckCheck.
//
// Keys come in their order, which brings collections before objects, marks of cut pages before
// objects (F12), forward keys before all lists of extents (F14), and objects before pages. Single
// thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/check/fsck_check.h"
#include "core/record/keys.h"
#include "core/record/page_cuts.h"
#include "core/record/shape.h"

namespace hexad::core {

class MetadataCheck {
 public:
  // Both outlive it.
  MetadataCheck(FsckCheck& check, const RecordShape& shape) : check_(check), shape_(shape) {}

  // Errors: our own bugs.
  Status look_at(std::string_view key, std::string_view value);
  // After the last key: entries of omaps that no object has.
  void find_strays();

 private:
  // F12.
  class CutCheck {
   public:
    void note_marks(BodyId body, const PageCuts& marks) { marks_[body] = marks; }
    // Whether its marks lie within its cuts.
    bool note_object(const ObjectRecord& object);
    // Whether a job takes the page back, if it was cut off.
    bool is_found(BodyId body, std::uint32_t page) const;

   private:
    std::map<BodyId, PageCuts> cuts_;
    std::map<BodyId, PageCuts> marks_;
  };

  // One kind of key each; `at_` is the key that is looked at.
  void look_at_collection();
  void look_at_removed_names();
  void look_at_pool_value();
  void look_at_cut_marks();
  void look_at_forward();
  void look_at_owners();
  Status look_at_object();
  Status look_at_omap_entry();
  void look_at_totals();
  void look_at_writer();
  Status look_at_page();
  // The key that is looked at does not say what it should.
  void find(const Error& error) { check_.find(at_.subject, error.message); }

  FsckCheck& check_;
  const RecordShape& shape_;
  struct Entry {
    std::string_view key;
    std::string_view value;
    std::string subject;
  };
  Entry at_;
  std::map<BodyId, std::string> bodies_;  // whose each is; of omaps, too
  std::map<OmapId, std::string> strays_;  // entries of omaps whose owner has not been met
  CutCheck cuts_;
};

}  // namespace hexad::core
