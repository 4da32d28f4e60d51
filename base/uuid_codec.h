// A uuid inside a record: its sixteen bytes in order, in every structure of the format.
#pragma once

#include "base/codec.h"
#include "base/ids.h"

namespace hexad {

void encode_uuid(Encoder& encoder, const Uuid& uuid);
// Nil when the input ends inside it; the decoder has failed then.
Uuid decode_uuid(Decoder& decoder);

}  // namespace hexad
