#include "format/string_elements.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace smdebug {
namespace {

std::vector<std::string_view> views_of(
    const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

std::string packed(std::span<const std::string_view> strings,
                   std::size_t piece) {
  StringElements elements(strings);
  std::string all;
  std::vector<std::byte> buffer(piece);
  while (const std::size_t n = elements.next(buffer.data(), piece)) {
    all.append(reinterpret_cast<const char*>(buffer.data()), n);
  }
  return all;
}

// A key, a length, the string: a protobuf field of less than 128 bytes.
std::string field(std::string_view text) {
  return std::string{0x42, static_cast<char>(text.size())}.append(text);
}

TEST(StringElements, AreFieldsOneAfterAnother) {
  const std::vector<std::string> strings = {"ab", "", std::string("\0c", 2)};
  const auto views = views_of(strings);
  const std::string expected =
      field("ab") + field("") + field(std::string("\0c", 2));
  EXPECT_EQ(packed(views, 100), expected);
  EXPECT_EQ(string_elements_bytes(views), expected.size());
}

TEST(StringElements, HaveLengthsOfSeveralBytes) {
  const std::vector<std::string> strings = {std::string(300, 'x')};
  // 300 is 0xac 0x02 as a varint.
  EXPECT_EQ(packed(views_of(strings), 1000),
            std::string("\x42\xac\x02") + std::string(300, 'x'));
}

TEST(StringElements, AreTheSameInPiecesOfAnySize) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> strings(random() % 8);
    for (std::string& text : strings) {
      text.resize(random() % 3 == 0 ? 0 : random() % 400);
      for (char& c : text) c = static_cast<char>(random());
    }
    const auto views = views_of(strings);
    const std::string whole = packed(views, 100'000);
    ASSERT_EQ(string_elements_bytes(views), whole.size());
    ASSERT_EQ(packed(views, 1 + random() % 9), whole);
    ASSERT_EQ(string_elements_crc32c(strings),
              crc32c(std::as_bytes(std::span(whole))));
  }
}

TEST(StringElements, OfNothingAreNothing) {
  EXPECT_EQ(packed({}, 10), "");
  EXPECT_EQ(string_elements_bytes({}), 0u);
  EXPECT_EQ(string_elements_crc32c({}), 0u);
}

}  // namespace
}  // namespace smdebug
