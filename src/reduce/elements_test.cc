#include "reduce/elements.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "reduce/special_values_testing.h"

namespace smdebug {
namespace {

template <typename T>
double value_of(DType dtype, T element) {
  double value = 0;
  elements_to_doubles(dtype, &element, 1, &value);
  return value;
}

// The examples of Wikipedia's "Half-precision floating-point format".
TEST(Elements, ReadsHalfPrecision) {
  const auto value = [](std::uint16_t bits) {
    return value_of(DType::float16, bits);
  };
  EXPECT_EQ(value(0x0000), 0);
  EXPECT_TRUE(std::signbit(value(0x8000)));
  EXPECT_EQ(value(0x0001), 0x1p-24);
  EXPECT_EQ(value(0x03ff), 1023 * 0x1p-24);
  EXPECT_EQ(value(0x0400), 0x1p-14);
  EXPECT_EQ(value(0x3c01), 1 + 0x1p-10);
  EXPECT_EQ(value(0x7bff), 65504);
  EXPECT_EQ(value(0xc000), -2);
  EXPECT_EQ(value(0x7c00), kInf);
  EXPECT_EQ(value(0xfc00), -kInf);
  EXPECT_TRUE(std::isnan(value(0x7c01)));
}

TEST(Elements, ReadsBrainFloats) {
  const auto value = [](std::uint16_t bits) {
    return value_of(DType::bfloat16, bits);
  };
  EXPECT_EQ(value(0x3f80), 1);
  EXPECT_EQ(value(0xc040), -3);
  EXPECT_EQ(value(0x0001), 0x1p-133);
  EXPECT_EQ(value(0xff80), -kInf);
  EXPECT_TRUE(std::isnan(value(0x7fc0)));
}

// Table 1 of "FP8 Formats for Deep Learning".
TEST(Elements, ReadsFloat8OfFourExponentBits) {
  const auto value = [](std::uint8_t bits) {
    return value_of(DType::float8_e4m3fn, bits);
  };
  EXPECT_EQ(value(0x01), 0x1p-9);
  EXPECT_EQ(value(0x07), 0.875 * 0x1p-6);
  EXPECT_EQ(value(0x08), 0x1p-6);
  EXPECT_EQ(value(0x38), 1);
  EXPECT_EQ(value(0x7e), 448);
  EXPECT_EQ(value(0xfe), -448);
  EXPECT_TRUE(std::isnan(value(0x7f)));
  EXPECT_TRUE(std::isnan(value(0xff)));
}

TEST(Elements, ReadsFloat8OfFiveExponentBits) {
  const auto value = [](std::uint8_t bits) {
    return value_of(DType::float8_e5m2, bits);
  };
  EXPECT_EQ(value(0x01), 0x1p-16);
  EXPECT_EQ(value(0x03), 0.75 * 0x1p-14);
  EXPECT_EQ(value(0x04), 0x1p-14);
  EXPECT_EQ(value(0x7b), 57344);
  EXPECT_EQ(value(0x7c), kInf);
  EXPECT_EQ(value(0xfc), -kInf);
  EXPECT_TRUE(std::isnan(value(0x7d)));
}

TEST(Elements, ReadsIntegersOfEverySizeAndSign) {
  EXPECT_EQ(value_of(DType::int8, std::int8_t{-128}), -128);
  EXPECT_EQ(value_of(DType::uint8, std::uint8_t{255}), 255);
  EXPECT_EQ(value_of(DType::int16, std::int16_t{-32768}), -32768);
  EXPECT_EQ(value_of(DType::uint16, std::uint16_t{65535}), 65535);
  EXPECT_EQ(value_of(DType::int32, std::int32_t{-2147483647}), -2147483647);
  EXPECT_EQ(value_of(DType::uint32, std::uint32_t{4294967295}), 4294967295);
  EXPECT_EQ(value_of(DType::int64, std::int64_t{-1} << 62), -0x1p62);
  EXPECT_EQ(value_of(DType::uint64, ~std::uint64_t{0}), 0x1p64);
  EXPECT_EQ(value_of(DType::boolean, std::uint8_t{7}), 1);
}

TEST(Elements, TakesTheAbsoluteValueOfComplexNumbers) {
  const std::vector<double> parts = {3, 4, -5, 12};
  std::vector<double> values(2);
  elements_to_doubles(DType::complex128, parts.data(), 2, values.data());
  EXPECT_EQ(values, (std::vector<double>{5, 13}));
}

TEST(Elements, GivesStringsNoValue) {
  double value = 0;
  elements_to_doubles(DType::string, nullptr, 1, &value);
  EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace smdebug
