#include "report/element_text.h"

#include <cstring>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

template <typename T>
TensorValue tensor(DType dtype, std::vector<T> elements) {
  const auto owner =
      std::make_shared<const std::vector<T>>(std::move(elements));
  const auto size = static_cast<std::int64_t>(
      owner->size() * sizeof(T) / std::max<std::size_t>(dtype_bytes(dtype), 1));
  return {dtype, {size}, Bytes(owner, std::as_bytes(std::span(*owner)))};
}

TEST(ElementText, ShowsElementsInOrder) {
  EXPECT_EQ(elements_text(tensor<float>(DType::float32, {1, -0.5, 1e-9f})),
            "[1, -0.5, 1e-09]");
  EXPECT_EQ(elements_text(tensor<float>(DType::float32, {})), "[]");
  EXPECT_EQ(elements_text(tensor<std::int8_t>(DType::int8, {-3, 65})),
            "[-3, 65]");
  EXPECT_EQ(elements_text(tensor<std::uint64_t>(DType::uint64, {UINT64_MAX})),
            "[18446744073709551615]");
  EXPECT_EQ(elements_text(tensor<std::uint8_t>(DType::boolean, {0, 1})),
            "[False, True]");
  EXPECT_EQ(elements_text(tensor<float>(DType::complex64, {1, -2})), "[1-2j]");
}

TEST(ElementText, ShowsTheEndsOfALongTensor) {
  std::vector<std::int32_t> elements;
  for (int i = 0; i < 100; ++i) elements.push_back(i);
  EXPECT_EQ(elements_text(tensor(DType::int32, elements)),
            "[0, 1, 2, 3, ..., 96, 97, 98, 99]");
  elements.resize(8);
  EXPECT_EQ(elements_text(tensor(DType::int32, elements)),
            "[0, 1, 2, 3, 4, 5, 6, 7]");
}

// Bit patterns and values as numpy and ml_dtypes give them.
TEST(ElementText, DecodesHalfPrecision) {
  EXPECT_EQ(elements_text(tensor<std::uint16_t>(
                DType::float16,
                {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00, 0xfc00})),
            "[1, -2, 5.96046e-08, 65504, inf, nan, -inf]");
  EXPECT_EQ(elements_text(tensor<std::uint16_t>(
                DType::bfloat16, {0x3f80, 0xc049, 0x0001, 0x7f80, 0x7fc0})),
            "[1, -3.14062, 9.18355e-41, inf, nan]");
}

TEST(ElementText, DecodesQuarterPrecision) {
  EXPECT_EQ(elements_text(tensor<std::uint8_t>(DType::float8_e4m3fn,
                                               {0x38, 0x7e, 0x01, 0xff, 0xb8})),
            "[1, 448, 0.00195312, nan, -1]");
  EXPECT_EQ(elements_text(tensor<std::uint8_t>(DType::float8_e5m2,
                                               {0x3c, 0x7b, 0x01, 0x7c, 0x7f})),
            "[1, 57344, 1.52588e-05, inf, nan]");
}

TEST(ElementText, QuotesStrings) {
  const TensorValue value(DType::string, {2}, Bytes(), {"a", "b c"});
  EXPECT_EQ(elements_text(value), "['a', 'b c']");
  // As Python writes bytes; the quote it would rather avoid.
  const TensorValue bytes(DType::bytes, {3}, Bytes(),
                          {"a~", std::string("\0\xff", 2), "'\\"});
  EXPECT_EQ(elements_text(bytes), R"([b'a~', b'\x00\xff', b'\x27\x5c'])");
}

}  // namespace
}  // namespace smdebug
