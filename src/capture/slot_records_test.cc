#include "capture/slot_records.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

template <typename T>
T bits_of(DType dtype, double value) {
  std::array<std::byte, 8> bytes;
  EXPECT_EQ(scalar_bytes(dtype, value, bytes), sizeof(T));
  T bits;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  return bits;
}

// The expected bits are torch's: torch.tensor(v).to(dtype).view(torch.int16).
TEST(ScalarBytes, RoundsToFloat16AsTorchDoes) {
  const struct {
    double value;
    std::uint16_t bits;
  } cases[] = {
      {0.0, 0x0000},           {-0.0, 0x8000},      {1.0, 0x3c00},
      {-2.5, 0xc100},          {0.1, 0x2e66},       {65504, 0x7bff},
      {65519.0, 0x7bff},       {65520.0, 0x7c00},   {1e9, 0x7c00},
      {-1e9, 0xfc00},          {6.1035e-5, 0x0400}, {6.0976e-5, 0x03ff},
      {5.96e-8, 0x0001},       {2.98e-8, 0x0000},   {2.0e-8, 0x0000},
      {1.00048828125, 0x3c00},  // halfway: to even
      {1.00146484375, 0x3c02}};
  for (const auto& [value, bits] : cases)
    EXPECT_EQ(bits_of<std::uint16_t>(DType::float16, value), bits) << value;
  EXPECT_EQ(bits_of<std::uint16_t>(DType::float16, std::nan("")) & 0x7c00,
            0x7c00);
}

TEST(ScalarBytes, RoundsToBfloat16AsTorchDoes) {
  const struct {
    double value;
    std::uint16_t bits;
  } cases[] = {{0.0, 0x0000},        {1.0, 0x3f80},    {-2.5, 0xc020},
               {0.1, 0x3dcd},        {3.4e38, 0x7f80}, {1e-40, 0x0001},
               {1.00390625, 0x3f80},  // halfway: to even
               {1.01171875, 0x3f82}};
  for (const auto& [value, bits] : cases)
    EXPECT_EQ(bits_of<std::uint16_t>(DType::bfloat16, value), bits) << value;
  const auto infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bits_of<std::uint16_t>(DType::bfloat16, infinity), 0x7f80);
  EXPECT_EQ(bits_of<std::uint16_t>(DType::bfloat16, std::nan("")), 0x7fc0);
}

TEST(ScalarBytes, KeepsFloat32AndFloat64) {
  EXPECT_EQ(bits_of<float>(DType::float32, 0.1), 0.1f);
  EXPECT_EQ(bits_of<double>(DType::float64, 0.1), 0.1);
}

TEST(ScalarBytes, StoresReductionsOfIntegersAndBoolAsFloat64) {
  for (DType dtype : {DType::int8, DType::int64, DType::uint64, DType::boolean})
    EXPECT_EQ(reduced_dtype(dtype), DType::float64);
  EXPECT_EQ(reduced_dtype(DType::bfloat16), DType::bfloat16);
  EXPECT_EQ(reduced_dtype(DType::float8_e5m2), DType::float32);
  EXPECT_EQ(reduced_dtype(DType::complex128), DType::float64);
}

}  // namespace
}  // namespace smdebug
