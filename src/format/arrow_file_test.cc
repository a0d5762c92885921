#include "format/arrow_file.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/repaired_arrow_file_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file));
}

// A column of each type, with ten rows; every third is null.
std::string sample() {
  std::vector<ArrowColumn> columns;
  columns.emplace_back("step", ArrowType::int64);
  columns.emplace_back("count", ArrowType::uint64);
  columns.emplace_back("crc", ArrowType::uint32);
  columns.emplace_back("mean", ArrowType::float64);
  columns.emplace_back("tensor", ArrowType::text);
  constexpr std::array<std::string_view, 3> kNames = {"a", "", "gradient/é"};
  for (int row = 0; row < 10; ++row) {
    if (row % 3 == 2) {
      for (ArrowColumn& column : columns) column.add_null();
      continue;
    }
    columns[0].add(std::int64_t{-row});
    columns[1].add(std::numeric_limits<std::uint64_t>::max() -
                   static_cast<std::uint64_t>(row));
    columns[2].add(static_cast<std::uint32_t>(row));
    columns[3].add(row / 4.0);
    columns[4].add_text(kNames[static_cast<std::size_t>(row) % 3]);
  }
  const std::pair<std::string, std::string> note = {"author", "smdebug"};
  return write_arrow_file(columns, {&note, 1});
}

TEST(ArrowFile, ComesBack) {
  const std::string bytes = sample();
  const auto file = parse_arrow_file(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->rows(), 10u);
  const auto* step = file->find("step", ArrowType::int64);
  const auto* count = file->find("count", ArrowType::uint64);
  const auto* crc = file->find("crc", ArrowType::uint32);
  const auto* mean = file->find("mean", ArrowType::float64);
  const auto* tensor = file->find("tensor", ArrowType::text);
  ASSERT_TRUE(step && count && crc && mean && tensor);
  for (std::size_t row = 0; row < 10; ++row) {
    const bool is_null = row % 3 == 2;
    EXPECT_EQ(step->is_null(row), is_null);
    EXPECT_EQ(tensor->is_null(row), is_null);
    if (is_null) {
      EXPECT_EQ(mean->find<double>(row), std::nullopt);
      EXPECT_EQ(tensor->text(row), "");
      continue;
    }
    EXPECT_EQ(step->value<std::int64_t>(row), -static_cast<int>(row));
    EXPECT_EQ(count->value<std::uint64_t>(row), UINT64_MAX - row);
    EXPECT_EQ(crc->find<std::uint32_t>(row), static_cast<std::uint32_t>(row));
    EXPECT_EQ(mean->value<double>(row), static_cast<double>(row) / 4);
    EXPECT_EQ(tensor->text(row), row % 3 == 0 ? "a" : "");
  }
  EXPECT_EQ(file->find("step", ArrowType::uint64), nullptr);
  EXPECT_EQ(file->find("other", ArrowType::int64), nullptr);
}

TEST(ArrowFile, MayHaveNoRow) {
  std::vector<ArrowColumn> columns;
  columns.emplace_back("tensor", ArrowType::text);
  columns.emplace_back("mean", ArrowType::float64);
  const std::string bytes = write_arrow_file(columns, {});
  const auto file = parse_arrow_file(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->rows(), 0u);
  EXPECT_NE(file->find("mean", ArrowType::float64), nullptr);
}

TEST(ArrowFile, FindsEachChangedByteOfItsContent) {
  const std::string bytes = sample();
  const std::size_t content = bytes.size() - footer_bytes_of(bytes);
  for (std::size_t i = 0; i < content; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(parse_arrow_file(bytes_of(damaged))) << i;
  }
}

TEST(ArrowFile, FindsEachCut) {
  const std::string bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto file = parse_arrow_file(bytes_of(bytes).first(size));
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, Error::Code::corrupt);
  }
}

TEST(ArrowFile, OfAnotherProgramIsRefused) {
  std::string bytes = sample();
  bytes.replace(bytes.rfind("smdebug.crc32c"), 7, "another");
  const auto file = parse_arrow_file(bytes_of(bytes));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("no checksum of smdebug"));
}

TEST(ArrowFile, DamageWithAMatchingChecksumIsHarmless) {
  const std::string whole = sample();
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    const std::size_t footer = footer_bytes_of(whole);
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      bytes[random() % (bytes.size() - footer)] = static_cast<char>(random());
    }
    bytes = with_its_checksum(std::move(bytes), footer);
    const auto file = parse_arrow_file(bytes_of(bytes));
    if (!file) continue;
    ++accepted;
    for (const ArrowType type : {ArrowType::int64, ArrowType::text}) {
      const auto* column =
          file->find(type == ArrowType::text ? "tensor" : "step", type);
      std::size_t sum = 0;
      for (std::size_t row = 0; column && row < file->rows(); ++row) {
        sum += type == ArrowType::text
                   ? column->text(row).size()
                   : static_cast<std::size_t>(column->is_null(row));
      }
      EXPECT_LE(sum, bytes.size() * file->rows());
    }
  }
  EXPECT_GT(accepted, 100);  // the checksum was repaired
}

}  // namespace
}  // namespace smdebug
