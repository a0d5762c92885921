#pragma once

// `Result<T>` is either a `T` or an `Error`. Every function in smdebug that can
// fail returns one; nothing in the library throws on purpose.
//
// This is the small part of C++23's `std::expected` that we need in C++20. The
// one place where an `Error` becomes a Python exception is
// `python/src/result_caster.h`.

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace smdebug {

struct Error {
  // Written to logs and matched in Python: never renumber, never reuse.
  enum class Code {
    not_found = 1,         // it does not exist, and never will
    not_yet = 2,           // the run may still produce it
    corrupt = 3,           // bytes that no writer of ours could have written
    invalid_config = 4,    // what the user asked for makes no sense
    invalid_argument = 5,  // a call that makes no sense
    unsupported = 6,       // a request we understand and cannot meet
    io = 7,                // the disk or the network said no
    unavailable = 8,       // the other side is busy; trying again may work
    closed = 9,            // used after close()
    internal = 10,         // our bug
  };

  Code code;
  std::string message;

  /// Returns this error with `where` in front: "index file: no such object".
  [[nodiscard]] Error within(std::string_view where) && {
    message.insert(0, ": ").insert(0, where);
    return std::move(*this);
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value. Asking a failed result for it is a bug in the caller.
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *std::as_const(*this).value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  // The error. Asking a successful result for it is a bug in the caller.
  const Error& error() const& { return *failure(); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  T* value() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const Error* failure() const {
    assert(!ok());
    return std::get_if<1>(&state_);
  }

  std::variant<T, Error> state_;
};

// Success with nothing to say, or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

}  // namespace smdebug

// Binds `decl` to the value of `expr`, or returns its error from here.
#define SMD_TRY(decl, expr) SMD_TRY_(SMD_CONCAT(result_, __LINE__), decl, expr)
#define SMD_TRY_(tmp, decl, expr)          \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  decl = *std::move(tmp)

// Returns the error of `expr` from here, if it has one.
#define SMD_CHECK_OK(expr)                 \
  do {                                     \
    if (auto status_ = (expr); !status_) { \
      return std::move(status_).error();   \
    }                                      \
  } while (false)

#define SMD_CONCAT(a, b) SMD_CONCAT_(a, b)
#define SMD_CONCAT_(a, b) a##b
