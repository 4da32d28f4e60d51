#include "alloc/zone_image.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "alloc/bitmap.h"
#include "alloc/device_layout.h"
#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/codec.h"

namespace hexad::alloc {

namespace {

constexpr std::string_view kMagic = "HEXADZON";
constexpr std::uint8_t kRawBitmap = 0;
constexpr std::uint8_t kRunBitmap = 1;

bool bit(const std::vector<std::uint64_t>& words, std::uint64_t unit) {
  return (words[unit / 64] >> (unit % 64) & 1) != 0;
}

// First unit at or after `unit` whose bit is not `value`; `units` at most.
std::uint32_t run_end(const std::vector<std::uint64_t>& words, std::uint32_t unit,
                      std::uint32_t units, bool value) {
  while (unit < units) {
    const std::uint64_t word = (value ? ~words[unit / 64] : words[unit / 64]) >> (unit % 64);
    if (word != 0)
      return std::min(units, unit + static_cast<std::uint32_t>(std::countr_zero(word)));
    unit += 64 - unit % 64;
  }
  return units;
}

// Lengths of taken and free runs in turn, beginning with a taken one (unit 0 is).
std::string encode_runs(const ZoneImage& image) {
  std::string out;
  Encoder encoder(out);
  bool value = true;
  for (std::uint32_t unit = 0; unit < image.units; value = !value) {
    const std::uint32_t end = run_end(image.bitmap, unit, image.units, value);
    encoder.varint(end - unit);
    unit = end;
  }
  return out;
}

void encode_bitmap(Encoder& encoder, const ZoneImage& image) {
  const std::string runs = encode_runs(image);
  if (runs.size() < image.bitmap.size() * 8) {
    encoder.u8(kRunBitmap);
    encoder.raw(runs);
    return;
  }
  encoder.u8(kRawBitmap);
  for (const std::uint64_t word : image.bitmap) encoder.le64(word);
}

// Bits beyond the last unit are set, as UnitBitmap has them.
void set_past_end(std::vector<std::uint64_t>& words, std::uint32_t units) {
  if (units % 64 != 0) words.back() |= ~std::uint64_t{0} << (units % 64);
}

void set_bits(std::vector<std::uint64_t>& words, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t unit = first; unit < end;) {
    const std::uint64_t in_word = std::min<std::uint64_t>(64 - unit % 64, end - unit);
    const std::uint64_t ones =
        in_word == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << in_word) - 1;
    words[unit / 64] |= ones << (unit % 64);
    unit += in_word;
  }
}

std::vector<std::uint64_t> decode_bitmap(Decoder& decoder, std::uint32_t units) {
  const std::uint8_t kind = decoder.u8();
  std::vector<std::uint64_t> words;
  if (!decoder.ok() || kind > kRunBitmap) {
    decoder.fail();
    return words;
  }
  const std::size_t count = UnitBitmap::word_count(units);
  if (kind == kRawBitmap) {
    if (count * 8 > decoder.remaining()) decoder.fail();
    for (std::size_t i = 0; i < count && decoder.ok(); ++i) words.push_back(decoder.le64());
  } else {
    words.assign(count, 0);
    bool value = true;
    for (std::uint64_t unit = 0; unit < units && decoder.ok(); value = !value) {
      const std::uint64_t length = decoder.varint_up_to(units - unit);
      if (length == 0) decoder.fail();
      if (value) set_bits(words, unit, unit + length);
      unit += length;
    }
  }
  if (!decoder.ok()) return words;
  const std::uint64_t last = words.back();
  set_past_end(words, units);
  if (!bit(words, 0) || (kind == kRawBitmap && words.back() != last)) decoder.fail();
  return words;
}

// Runs in ascending order: the gap since the end of the last one, and the length less one.
class RunWriter {
 public:
  explicit RunWriter(Encoder& encoder) : encoder_(encoder) {}
  void add(UnitRun run) {
    encoder_.varint(run.unit - last_);
    encoder_.varint(run.units - 1);
    last_ = run.end();
  }

 private:
  Encoder& encoder_;
  std::uint64_t last_ = 0;
};

// The reverse; fails the decoder when a run leaves the zone or holds a unit that is not taken.
class RunReader {
 public:
  RunReader(Decoder& decoder, const ZoneImage& image) : decoder_(decoder), image_(image) {}
  UnitRun next() {
    const std::uint64_t unit = last_ + decoder_.varint_up_to(image_.units - last_);
    const std::uint64_t units = decoder_.varint_up_to(image_.units - unit) + 1;
    const std::uint64_t end = unit + units;
    if (!decoder_.ok() || unit == 0 || end > image_.units ||
        run_end(image_.bitmap, static_cast<std::uint32_t>(unit), image_.units, true) < end) {
      decoder_.fail();
      return {};
    }
    last_ = end;
    return {static_cast<std::uint32_t>(unit), static_cast<std::uint32_t>(units)};
  }

 private:
  Decoder& decoder_;
  const ZoneImage& image_;
  std::uint64_t last_ = 0;
};

void encode_missing(Encoder& encoder, const ZoneImage& image) {
  std::vector<std::vector<UnitRun>> by_slot(image.slots.size());
  for (const MissingRun& missing : image.missing) by_slot[missing.slot].push_back(missing.run);
  for (const std::vector<UnitRun>& runs : by_slot) {
    encoder.varint(runs.size());
    RunWriter writer(encoder);
    for (const UnitRun& run : runs) writer.add(run);
  }
}

void decode_missing(Decoder& decoder, ZoneImage& image) {
  for (std::uint32_t slot = 0; slot < image.slots.size() && decoder.ok(); ++slot) {
    const std::uint64_t count = decoder.count(2);
    RunReader reader(decoder, image);
    for (std::uint64_t i = 0; i < count && decoder.ok(); ++i) {
      image.missing.push_back({slot, reader.next()});
    }
  }
}

void decode_deferred(Decoder& decoder, ZoneImage& image) {
  const std::uint64_t count = decoder.count(4);
  RunReader reader(decoder, image);
  for (std::uint64_t i = 0; i < count && decoder.ok(); ++i) {
    const UnitRun run = reader.next();
    const Lsn freed = image.lsn - decoder.varint_up_to(image.lsn);
    const std::uint64_t age = decoder.varint_up_to(freed);
    image.deferred.push_back({run, freed, age == 0 ? 0 : freed - age + 1});
  }
}

// How far an LSN (at most 2^62) lies from another one, in either direction, as one number: small
// for neighbours.
std::uint64_t fold(std::uint64_t from, std::uint64_t to) {
  return to >= from ? 2 * (to - from) : 2 * (from - to) - 1;
}

// Nothing: not from 1 to `limit`. Precondition: from <= limit.
std::optional<std::uint64_t> unfold(std::uint64_t from, std::uint64_t folded, std::uint64_t limit) {
  const std::uint64_t half = folded / 2;
  if (folded % 2 == 0) return half > limit - from ? std::nullopt : std::optional(from + half);
  return half + 1 >= from ? std::nullopt : std::optional(from - half - 1);
}

void decode_packs(Decoder& decoder, ZoneImage& image) {
  const std::uint64_t count = decoder.count(8);
  RunReader reader(decoder, image);
  Lsn before = image.lsn;
  for (std::uint64_t i = 0; i < count && decoder.ok(); ++i) {
    const UnitRun run = reader.next();
    const std::uint64_t live = decoder.varint();
    const std::optional<Lsn> born = unfold(before, decoder.varint(), image.lsn);
    const std::uint32_t footer = decoder.le32();
    if (live == 0 || born.value_or(0) == 0) {
      decoder.fail();
      return;
    }
    before = *born;
    image.packs.push_back({run, live, *born, footer});
  }
}

}  // namespace

std::string encode_zone_image(const ZoneImage& image) {
  HEXAD_ASSERT(image.bitmap.size() == UnitBitmap::word_count(image.units));
  std::string body;
  Encoder encoder(body);
  encoder.le64(image.lsn);
  encoder.le32(image.zone);
  encoder.le32(image.units);
  encoder.u8(static_cast<std::uint8_t>(image.slots.size()));
  for (const ZoneSlot& slot : image.slots) {
    encoder.le32(slot.device);
    encoder.le32(slot.slab);
  }
  encode_bitmap(encoder, image);
  encoder.varint(image.deferred.size());
  RunWriter writer(encoder);
  for (const DeferredFree& deferred : image.deferred) {
    writer.add(deferred.run);
    encoder.varint(image.lsn - deferred.freed);
    encoder.varint(deferred.born == 0 ? 0 : deferred.freed - deferred.born + 1);
  }
  encode_missing(encoder, image);
  encoder.varint(image.packs.size());
  RunWriter packs(encoder);
  Lsn before = image.lsn;
  for (const PackStripe& pack : image.packs) {
    packs.add(pack.run);
    encoder.varint(pack.live);
    encoder.varint(fold(before, pack.born));
    encoder.le32(pack.footer);
    before = pack.born;
  }
  return seal(kMagic, body);
}

Result<ZoneImage> decode_zone_image(ByteView bytes) {
  HEXAD_TRY_ASSIGN(const std::string_view body, unseal(kMagic, bytes, "zone image"));
  Decoder decoder(body);
  ZoneImage image;
  image.lsn = decoder.le64();
  image.zone = decoder.le32();
  image.units = decoder.le32();
  const std::uint8_t slots = decoder.u8();
  for (std::uint8_t i = 0; i < slots && decoder.ok(); ++i) {
    const DeviceId device = decoder.le32();
    image.slots.push_back({device, decoder.le32()});
  }
  if (slots == 0 || image.units < kMinSlabUnits || image.units > kMaxSlabUnits) decoder.fail();
  HEXAD_TRY(decoder.check("zone image"));
  image.bitmap = decode_bitmap(decoder, image.units);
  HEXAD_TRY(decoder.check("zone image"));
  decode_deferred(decoder, image);
  decode_missing(decoder, image);
  decode_packs(decoder, image);
  if (bytes.size() != body.size() + kSealSize) decoder.fail();
  HEXAD_TRY(decoder.finish("zone image"));
  return image;
}

}  // namespace hexad::alloc
