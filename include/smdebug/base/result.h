#pragma once

// `Result<T>` holds either a `T` or an `Error`. Every smdebug function that can
// fail returns one, and nothing in the library throws on purpose.
//
// This is the small part of C++23's `std::expected` that we need in C++20. Only
// `python/src/result_caster.h` turns an `Error` into a Python exception.

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace [[gnu::visibility("default")]] smdebug {

struct ErrorSubject;  // smdebug/core/error_subject.h

struct Error {
  // Written to logs and visible in Python: never renumber, never reuse.
  enum class Code {
    not_found = 1,         // does not exist and never will
    not_yet = 2,           // the run may still produce it
    corrupt = 3,           // bytes that no smdebug writer produces
    invalid_config = 4,    // a configuration that contradicts itself
    invalid_argument = 5,  // an argument outside its valid range
    unsupported = 6,       // a valid request that smdebug does not implement
    io = 7,                // the disk or the network failed
    unavailable = 8,       // temporarily unavailable: a retry may succeed
    closed = 9,            // used after close()
    internal = 10,         // a bug in smdebug
    interrupted = 11,      // the caller asked to stop waiting
  };

  // The exact failure, for callers that need more than the code. Each value has
  // its own exception in Python. Never renumber, never reuse.
  enum class Detail {
    none = 0,
    collections_missing = 1,   // the run ended before every worker wrote them
    tensor_unknown = 2,        // the run has no tensor of this name
    worker_unknown = 3,        // this worker did not save the tensor
    step_not_yet = 4,          // the step may still come
    step_passed = 5,           // later steps exist; this one was not saved
    no_more_data = 6,          // the run ended before this step
    tensor_not_at_step = 7,    // the step holds other tensors
    only_reductions = 8,       // the run holds reductions, not the elements
    elements_unavailable = 9,  // not saved, or their event file is missing
    shape_unavailable = 10,    // neither the shape nor the elements were saved
    type_unsupported = 11,  // not a tensor, or a dtype that cannot be written
    not_a_tensor = 12,      // an intact record that holds something else
    file_missing = 13,      // a file that the caller named does not exist
    nothing_written = 14,   // the file does not exist before a first write
  };

  Code code;
  std::string message;
  Detail detail = Detail::none;
  // The tensor, step or worker that `detail` refers to; null if it needs none.
  std::shared_ptr<const ErrorSubject> subject = nullptr;

  /// Returns this error with `where` prepended: "index file: no such object".
  [[nodiscard]] Error within(std::string_view where) && {
    message.insert(0, ": ").insert(0, where);
    return std::move(*this);
  }

  /// Returns this error with a detail and the subject it refers to.
  [[nodiscard]] Error with(
      Detail what, std::shared_ptr<const ErrorSubject> about = nullptr) && {
    detail = what;
    subject = std::move(about);
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

  // The value. The result must be successful.
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *std::as_const(*this).value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  // The error. The result must be a failure.
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

// Success without a value, or an `Error`.
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
