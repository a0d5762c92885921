#pragma once

// Macros that pass an error on to the caller. They are not part of
// `smdebug/smdebug.h`: include this header to use them.

#include <utility>

#include "smdebug/base/result.h"

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
