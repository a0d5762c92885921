#include "base/base64.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

std::string encoded(std::string_view text) {
  std::string out;
  append_base64(std::as_bytes(std::span(text)), out);
  return out;
}

std::string decoded(std::string_view text) {
  const auto bytes = decode_base64(text);
  EXPECT_THAT(bytes, IsOk());
  std::string out;
  for (std::byte byte : *bytes) out += static_cast<char>(byte);
  return out;
}

// RFC 4648 §10.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7>
    kVectors = {{{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}}};

TEST(Base64, EncodesThePublishedVectors) {
  for (const auto& [plain, text] : kVectors) EXPECT_EQ(encoded(plain), text);
}

TEST(Base64, DecodesThePublishedVectors) {
  for (const auto& [plain, text] : kVectors) EXPECT_EQ(decoded(text), plain);
}

TEST(Base64, UsesPlusAndSlash) {
  EXPECT_EQ(encoded("\xfb\xff\xbf"), "+/+/");
  EXPECT_EQ(decoded("+/+/"), "\xfb\xff\xbf");
}

TEST(Base64, DecodesWhatItEncoded) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, 0);
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(decoded(encoded(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatNoEncoderWrites) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zg=a",
                           "Zh==", "Zm9=", "Zm8-", "Zm8 ", "Zm\n9"}) {
    EXPECT_THAT(decode_base64(text), FailsWith(Error::Code::corrupt)) << text;
  }
}

}  // namespace
}  // namespace smdebug
