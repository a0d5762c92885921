#pragma once

// Turns a `Result<T>` into a value or a Python exception. Nothing else turns an
// `Error` into an exception: bindings return results and hold no error code of
// their own. Every file of bindings includes it.

#include <nanobind/nanobind.h>

#include "smdebug/base/result.h"

namespace smdebug {

/// Looks up the classes of smdebug.exceptions. Call it once, when the module is
/// imported.
void look_up_exceptions();

/// Sets the Python exception of `error`: of the class of its detail, with its
/// subject, or else of the class of its code, with its message. The exception
/// has the code's name as attribute `code`. An interrupted wait raises the
/// exception of the signal handler.
void set_python_error(const Error& error) noexcept;

}  // namespace smdebug

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <typename T>
struct type_caster<smdebug::Result<T>> {
  using Caster = make_caster<T>;
  static constexpr auto Name = Caster::Name;

  template <typename R>
  static handle from_cpp(R&& result, rv_policy policy,
                         cleanup_list* cleanup) noexcept {
    if (!result) {
      smdebug::set_python_error(result.error());
      return handle();
    }
    return Caster::from_cpp(*std::forward<R>(result), policy, cleanup);
  }
};

template <>
struct type_caster<smdebug::Result<void>> {
  static constexpr auto Name = const_name("None");

  static handle from_cpp(const smdebug::Status& status, rv_policy,
                         cleanup_list*) noexcept {
    if (!status) {
      smdebug::set_python_error(status.error());
      return handle();
    }
    return none().release();
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
