// Memory that the process may not have: how std::bad_alloc becomes an error of the call that it
// meets. The one place that catches. doc/decisions/033-memory-that-is-refused.md
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad {

// kExhausted, of a call that was refused memory of whatever size. Throws nothing: where there is
// none for the words, they are fewer.
Error refused_memory() noexcept;
// The same, for what `subject` needs so many bytes for.
Error no_memory_for(std::uint64_t bytes, std::string_view subject) noexcept;

// What `call` returns, a Status or a Result; refused_memory() where it lets std::bad_alloc out.
template <typename Call>
auto without_bad_alloc(Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return refused_memory();
  }
}

// So many zeros, for bytes whose number a caller or an object says. Errors: kExhausted.
Result<Bytes> make_bytes(std::uint64_t size, std::string_view subject);

}  // namespace hexad
