#include "smdebug/base/result.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "smdebug/base/try.h"

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return Error{Error::Code::invalid_argument,
                 std::to_string(number) + " is odd"};
  }
  return number / 2;
}

Result<int> quarter(int number) {
  SMD_TRY(const int once, half(number));
  SMD_TRY(const int twice, half(once));
  return twice;
}

Status check_even(int number) {
  SMD_CHECK_OK(half(number));
  return {};
}

TEST(Result, HoldsAValue) {
  EXPECT_THAT(quarter(12), IsOkAndHolds(3));
  EXPECT_THAT(check_even(12), IsOk());
}

TEST(Result, CarriesTheFirstErrorUp) {
  EXPECT_THAT(quarter(6), FailsWith(Error::Code::invalid_argument, "3 is odd"));
  EXPECT_THAT(check_even(7),
              FailsWith(Error::Code::invalid_argument, "7 is odd"));
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  ASSERT_THAT(result, IsOk());
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(Error, GetsItsPlaceInFront) {
  const Error error =
      Error{Error::Code::io, "disk full"}.within("step 3").within("run 'r'");
  EXPECT_EQ(error.message, "run 'r': step 3: disk full");
  EXPECT_EQ(error.code, Error::Code::io);
}

TEST(Error, KeepsItsDetailOnTheWayUp) {
  const Error error = Error{Error::Code::not_found, "no 'w'"}
                          .with(Error::Detail::tensor_unknown)
                          .within("run 'r'");
  EXPECT_EQ(error.detail, Error::Detail::tensor_unknown);
  EXPECT_EQ(error.message, "run 'r': no 'w'");
  EXPECT_EQ(error.subject, nullptr);
}

}  // namespace
}  // namespace smdebug
