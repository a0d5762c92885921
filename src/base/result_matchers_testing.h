#pragma once

// gmock matchers for `Result` and `Status`.

#include <gmock/gmock.h>

#include "smdebug/base/result.h"

namespace smdebug {

MATCHER(IsOk, "") {
  if (arg.ok()) return true;
  *result_listener << "failed: " << arg.error().message;
  return false;
}

// The value of a successful result matches `value`.
MATCHER_P(IsOkAndHolds, value, "") {
  if (!arg.ok()) {
    *result_listener << "failed: " << arg.error().message;
    return false;
  }
  return testing::ExplainMatchResult(value, *arg, result_listener);
}

MATCHER_P(FailsWith, code, "") {
  if (arg.ok()) {
    *result_listener << "succeeded";
    return false;
  }
  *result_listener << "failed: " << arg.error().message;
  return arg.error().code == code;
}

// Same, with a message that matches `message`.
MATCHER_P2(FailsWith, code, message, "") {
  if (arg.ok()) {
    *result_listener << "succeeded";
    return false;
  }
  return arg.error().code == code &&
         testing::ExplainMatchResult(message, arg.error().message,
                                     result_listener);
}

}  // namespace smdebug
