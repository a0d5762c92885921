#include "smdebug/core/dtype.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(DType, IsFoundByItsOwnName) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(find_dtype(dtype_name(dtype)), dtype) << dtype_name(dtype);
  }
}

TEST(DType, HasNumpysNames) {
  EXPECT_EQ(dtype_name(DType::float32), "float32");
  EXPECT_EQ(dtype_name(DType::boolean), "bool");
  EXPECT_EQ(dtype_name(DType::bfloat16), "bfloat16");
  EXPECT_EQ(dtype_name(DType::float8_e4m3fn), "float8_e4m3fn");
  EXPECT_EQ(dtype_name(DType::complex128), "complex128");
  EXPECT_EQ(dtype_name(DType::string), "str");
  EXPECT_EQ(dtype_name(DType::bytes), "bytes");
}

TEST(DType, KnowsItsSize) {
  EXPECT_EQ(dtype_bytes(DType::float16), 2u);
  EXPECT_EQ(dtype_bytes(DType::bfloat16), 2u);
  EXPECT_EQ(dtype_bytes(DType::float8_e5m2), 1u);
  EXPECT_EQ(dtype_bytes(DType::int64), 8u);
  EXPECT_EQ(dtype_bytes(DType::boolean), 1u);
  EXPECT_EQ(dtype_bytes(DType::complex128), 16u);
  EXPECT_EQ(dtype_bytes(DType::string), 0u);
  EXPECT_EQ(dtype_bytes(DType::bytes), 0u);
}

TEST(DType, IsFloatingWhereNanExists) {
  EXPECT_TRUE(is_floating(DType::float8_e5m2));
  EXPECT_TRUE(is_floating(DType::complex64));
  EXPECT_FALSE(is_floating(DType::uint8));
  EXPECT_FALSE(is_floating(DType::boolean));
  EXPECT_FALSE(is_floating(DType::string));
}

TEST(DType, IsAStringWhereElementsHaveAnyLength) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(is_string(dtype), dtype_bytes(dtype) == 0) << dtype_name(dtype);
  }
}

TEST(DType, IsNoneForAnUnknownName) {
  EXPECT_EQ(find_dtype("float"), std::nullopt);
  EXPECT_EQ(find_dtype(""), std::nullopt);
}

}  // namespace
}  // namespace smdebug
