#pragma once

// The kinds of torch's tensors that have no plain array of elements: why they
// cannot be read, and whether a sparse one can become dense. `TensorImport`
// asks after torch has refused to export a tensor.

#include <exception>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "smdebug/base/result.h"

namespace smdebug {

/// Returns the message of an exception, up to its first line break. Of an
/// exception of Python, without the traceback.
std::string first_line(const std::exception& error);

/// The error of a tensor that cannot be saved.
Error unreadable(std::string why);

/// Returns the name of an object's type, without its module.
std::string name_of_type(nanobind::handle object);

/// Returns why tensors of this type have no elements; null if they may have
/// some.
const char* reason_without_elements(PyTypeObject* type);

/// Returns why a tensor has no plain array of elements, for the kinds whose
/// error in torch does not name them.
std::optional<std::string> reason_of_kind(nanobind::handle tensor);

/// Returns why a tensor whose dtype smdebug does not have cannot be saved.
std::string reason_against_dtype(nanobind::handle tensor);

/// Returns whether a tensor has a shape and strides. Sparse tensors and those
/// of a library's own layout do not.
bool is_strided(nanobind::handle tensor);

/// Fails with `unsupported` if a tensor that is not strided cannot become
/// dense: its indices are wrong, or the dense tensor is too large.
Status check_dense(nanobind::handle tensor);

}  // namespace smdebug
