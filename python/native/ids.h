// Ids on their way to and from Python, where they are numbers. Whoever casts one includes this:
// without, nanobind would take it for an object of a class that it does not know, at run time.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>

template <typename Tag, typename Rep>
struct nanobind::detail::type_caster<hexad::Id<Tag, Rep>> {
  using Number = make_caster<Rep>;
  using Type = hexad::Id<Tag, Rep>;
  NB_TYPE_CASTER(Type, Number::Name)

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    Number number;
    if (!number.from_python(source, flags, cleanup)) return false;
    value = number.value;
    return true;
  }
  static handle from_cpp(Type id, rv_policy policy, cleanup_list* cleanup) noexcept {
    return Number::from_cpp(id.value(), policy, cleanup);
  }
};
