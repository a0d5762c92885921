#include "base/crc32c.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

std::uint32_t crc_of(std::string_view text, std::uint32_t previous = 0) {
  return crc32c(std::as_bytes(std::span(text)), previous);
}

// The definition, one bit at a time: polynomial 0x1edc6f41, reflected.
std::uint32_t bitwise_crc(std::string_view text) {
  std::uint32_t crc = ~0u;
  for (unsigned char byte : text) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
  }
  return ~crc;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
  // RFC 3720 §B.4.
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc_of(""), 0u);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::string bytes(1024, 0);
  for (char& c : bytes) c = static_cast<char>(random());
  const std::string_view all = bytes;
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; size < 300; size += 7) {
      EXPECT_EQ(crc_of(all.substr(start, size)),
                bitwise_crc(all.substr(start, size)));
    }
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  EXPECT_EQ(crc_of("6789", crc_of("12345")), 0xe3069283u);
}

TEST(MaskCrc32c, RotatesAndAddsAsTfRecordDoes) {
  EXPECT_EQ(mask_crc32c(0), 0xa282ead8u);
  // 0xe3069283 turned right by 15 bits is 0x2507c60d.
  EXPECT_EQ(mask_crc32c(0xe3069283u), 0x2507c60du + 0xa282ead8u);
}

}  // namespace
}  // namespace smdebug
