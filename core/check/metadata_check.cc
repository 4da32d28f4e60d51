#include "core/check/metadata_check.h"

#include <utility>

#include "core/record/damage_record.h"

namespace hexad::core {

bool MetadataCheck::CutCheck::note_object(const ObjectRecord& object) {
  if (object.body == 0) return true;
  if (!object.cuts.empty()) cuts_[object.body] = object.cuts;
  const auto marks = marks_.find(object.body);
  if (marks == marks_.end()) return true;
  PageCuts all = object.cuts;
  for (const PageRange& mark : marks->second) add_cut(all, mark);
  return all == object.cuts;
}

bool MetadataCheck::CutCheck::is_found(BodyId body, std::uint32_t page) const {
  const auto cuts = cuts_.find(body);
  if (cuts == cuts_.end() || !is_cut(cuts->second, page)) return true;
  const auto marks = marks_.find(body);
  return marks != marks_.end() && is_cut(marks->second, page);
}

Status MetadataCheck::look_at(std::string_view key, std::string_view value) {
  at_ = {key, value, "metadata key " + printable(key, 64)};
  switch (key.empty() ? '\0' : key[0]) {
    case 'c':
      look_at_collection();
      break;
    case 'd':
      look_at_removed_names();
      break;
    case 'f':
      look_at_forward();
      break;
    case 'k':
      look_at_cut_marks();
      break;
    case 'l':
    case 's':
      look_at_owners();
      break;
    case 'o':
      return look_at_object();
    case 'p':
      return look_at_omap_entry();
    case 't':
      look_at_totals();
      break;
    case 'w':
      look_at_writer();
      break;
    case 'x':
      return look_at_page();
    case 'm':
      look_at_pool_value();
      break;
    case 'y':  // goes with the next checkpoint
    case 'z':
      break;
    default:
      check_.find(at_.subject, "unknown kind of key");
  }
  return {};
}

void MetadataCheck::find_strays() {
  for (const auto& [omap, entry] : strays_) {
    if (bodies_.count(omap) == 0) check_.find(entry, "an omap of no object");
  }
}

void MetadataCheck::look_at_collection() {
  const Result<CollectionRecord> record = decode_collection(at_.value);
  if (!record.ok()) return find(record.error());
  for (const NameRange& names : ranges_of(record->all_parts())) {
    check_.claim_names(names, {record->id, std::string(at_.key.substr(1)), false});
  }
}

void MetadataCheck::look_at_removed_names() {
  const Result<NameRange> names = decode_deletion(at_.key, at_.value);
  if (!names.ok()) return find(names.error());
  check_.claim_names(*names, {0, "that was removed", true});
}

// Of those, what is noted of damage has a shape of its own for each key.
void MetadataCheck::look_at_pool_value() {
  if (!at_.key.starts_with(damage_prefix())) return;
  const Result<DamagedBlob> blob = parse_damage_key(at_.key);
  const Result<DamageRecord> record = decode_damage(at_.value);
  if (!blob.ok() || !record.ok()) find(blob.ok() ? record.error() : blob.error());
}

void MetadataCheck::look_at_cut_marks() {
  const Result<BodyId> body = parse_cut_key(at_.key);
  const Result<PageCuts> marks = decode_cuts(at_.value);
  if (!body.ok() || !marks.ok()) return find(body.ok() ? marks.error() : body.error());
  cuts_.note_marks(*body, *marks);
}

void MetadataCheck::look_at_forward() {
  const Result<ForwardKey> forward = parse_forward_key(at_.key);
  if (!forward.ok()) return find(forward.error());
  if (!at_.value.empty()) check_.find(at_.subject, "a forward key with a value");
  check_.note_forward(at_.key);
}

// Of a layer of omaps, or of a shared blob.
void MetadataCheck::look_at_owners() {
  const Result<std::uint64_t> owners = decode_owners(at_.value);
  if (at_.key[0] == 'l') {
    const Result<OmapId> layer = parse_layer_key(at_.key);
    if (!layer.ok() || !owners.ok()) return find(layer.ok() ? owners.error() : layer.error());
    check_.note_layer_owners(*layer, *owners);
  } else {
    const Result<ShareId> share = parse_share_key(at_.key);
    if (!share.ok() || !owners.ok()) return find(share.ok() ? owners.error() : share.error());
    check_.note_blob_owners(*share, *owners);
  }
}

Status MetadataCheck::look_at_object() {
  const Result<ObjectKey> parsed = parse_object_key(at_.key);
  const Result<ObjectRecord> record = decode_object(at_.value, shape_);
  if (!parsed.ok() || !record.ok()) {
    find(parsed.ok() ? record.error() : parsed.error());
    return {};
  }
  ++check_.report.objects_checked;
  const FsckCheck::NameOwner* collection = check_.owner_of(parsed->space, parsed->name);
  const bool seen = collection != nullptr && !collection->removed;
  if (collection == nullptr || seen) {
    check_.count_object(seen ? collection->collection : parsed->space, record->size);
  }
  const std::string owner =
      "object " +
      (seen ? printable(collection->name) : "collection " + std::to_string(parsed->space)) + "/" +
      printable(parsed->name);
  if (collection == nullptr) check_.find(owner, "its collection does not exist");
  if (record->body != 0) bodies_[record->body] = owner;
  if (!cuts_.note_object(*record)) check_.find(owner, "more pages are marked than cut off");
  if (record->omap != 0) bodies_[record->omap] = "omap of " + owner;
  for (const OmapId layer : record->layers) bodies_[layer] = "omap layer of " + owner;
  check_.count_layers(record->layers);
  return check_.check_extents(owner, record->extents, at_.key);
}

Status MetadataCheck::look_at_omap_entry() {
  const Result<OmapKey> parsed = parse_omap_key(at_.key);
  if (parsed.ok() && is_hidden_entry(at_.value)) {
    if (bodies_.count(parsed->omap) == 0) strays_.emplace(parsed->omap, at_.subject);
    return {};
  }
  const Result<ObjectRecord> record = decode_object(at_.value, shape_);
  if (!parsed.ok() || !record.ok()) {
    find(parsed.ok() ? record.error() : parsed.error());
    return {};
  }
  const auto owner = bodies_.find(parsed->omap);
  if (owner == bodies_.end()) strays_.emplace(parsed->omap, at_.subject);
  const std::string entry = owner == bodies_.end()
                                ? at_.subject
                                : owner->second + ", key \"" + printable(parsed->key, 64) + "\"";
  if (record->body != 0) bodies_[record->body] = entry;
  return check_.check_extents(entry, record->extents, at_.key);
}

void MetadataCheck::look_at_totals() {
  const Result<CollectionId> collection = parse_totals_key(at_.key);
  const Result<CollectionTotals> totals = decode_totals(at_.value);
  if (!collection.ok() || !totals.ok()) {
    return find(collection.ok() ? totals.error() : collection.error());
  }
  check_.note_totals(*collection, *totals);
}

void MetadataCheck::look_at_writer() {
  const Result<BodyId> body = parse_writer_key(at_.key);
  if (!body.ok()) return find(body.error());
  bodies_[*body] = "unpublished writer " + std::to_string(*body);
}

Status MetadataCheck::look_at_page() {
  const Result<PageKey> parsed = parse_page_key(at_.key);
  if (!parsed.ok()) {
    find(parsed.error());
    return {};
  }
  const Result<ExtentList> extents = decode_page(at_.value, parsed->page, shape_);
  const auto owner = bodies_.find(parsed->body);
  if (owner == bodies_.end()) check_.find(at_.subject, "a page of no object");
  if (!cuts_.is_found(parsed->body, parsed->page)) {
    check_.find(at_.subject, "a page that was cut off, and is taken back by nobody");
  }
  if (!extents.ok()) {
    find(extents.error());
    return {};
  }
  return check_.check_extents(owner == bodies_.end() ? at_.subject : owner->second, *extents,
                              at_.key);
}

}  // namespace hexad::core
