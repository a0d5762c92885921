#include "smdebug/read/file_reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/result_matchers_testing.h"
#include "format/tensor_record.h"
#include "store/backends.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string record(std::string_view name, float element) {
  const std::int64_t shape[] = {1};
  std::string out;
  append_tensor_record(name, DType::float32, shape,
                       std::as_bytes(std::span(&element, 1)), {},
                       {1.5, {7, Mode::train, 3}, "3"}, out);
  return out;
}

// The same record with the true checksum of its message.
std::string checked(std::string record) {
  const auto bytes = std::as_bytes(std::span(record));
  const std::uint32_t word =
      mask_crc32c(crc32c(bytes.subspan(12, record.size() - 16)));
  std::memcpy(record.data() + record.size() - 4, &word, 4);
  return record;
}

// An event that holds no tensor: a wall time alone.
std::string empty_event() {
  const std::string message("\x09\0\0\0\0\0\0\xf8\x3f", 9);
  const std::uint64_t length = message.size();
  const std::uint32_t word =
      mask_crc32c(crc32c(std::as_bytes(std::span(&length, 1))));
  std::string out(reinterpret_cast<const char*>(&length), 8);
  out.append(reinterpret_cast<const char*>(&word), 4).append(message);
  return out.append(reinterpret_cast<const char*>(&kConstantPayloadWord), 4);
}

class FileReaderTest : public ::testing::Test {
 protected:
  FileReader open(std::string_view content,
                  RecordCheck check = RecordCheck::minimal) {
    EXPECT_THAT(put_object(*storage_, "f.tfevents", content), IsOk());
    auto reader = FileReader::open(*storage_, "f.tfevents", check);
    EXPECT_THAT(reader, IsOk());
    return *std::move(reader);
  }

  // The names of all that is left, in order.
  static std::vector<std::string> names(FileReader& reader) {
    std::vector<std::string> names;
    while (true) {
      const auto tensor = reader.next();
      EXPECT_THAT(tensor, IsOk());
      if (!tensor || !*tensor) return names;
      names.push_back((*tensor)->name);
    }
  }

  std::shared_ptr<Storage> storage_ = make_memory_storage("memory://reader");
};

TEST_F(FileReaderTest, GivesEachRecordWithItsStepModeTimeAndValue) {
  FileReader reader = open(record("a", 2.5f) + record("b", -1));
  const auto first = reader.next();
  ASSERT_THAT(first, IsOk());
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->name, "a");
  EXPECT_EQ((*first)->step, (StepId{7, Mode::train, 3}));
  EXPECT_EQ((*first)->wall_seconds, 1.5);
  EXPECT_EQ((*first)->value.dtype(), DType::float32);
  EXPECT_THAT((*first)->value.shape(), ElementsAre(1));
  float element = 0;
  std::memcpy(&element, (*first)->value.bytes().data(), 4);
  EXPECT_EQ(element, 2.5f);
  EXPECT_THAT(names(reader), ElementsAre("b"));
  EXPECT_EQ(reader.skipped_count(), 0u);
}

// Larger than the piece of a file that is read at once.
TEST_F(FileReaderTest, ReadsAFileOfManyPiecesAndRecordsLargerThanAPiece) {
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    const std::vector<float> elements(i == 20 ? 700'000 : 20'011,
                                      static_cast<float>(i));
    const auto size = static_cast<std::int64_t>(elements.size());
    expected.push_back("t" + std::to_string(i));
    append_tensor_record(expected.back(), DType::float32, {&size, 1},
                         std::as_bytes(std::span(elements)), {},
                         {1.5, {7, Mode::train, 3}, "3"}, content);
    // Damage that the search for the next record must cross.
    if (i % 7 == 0) content += std::string(static_cast<std::size_t>(i), 'x');
  }
  FileReader reader = open(content);
  std::vector<TensorValue> values;
  for (const std::string& name : expected) {
    auto tensor = reader.next();
    ASSERT_THAT(tensor, IsOk());
    ASSERT_TRUE(tensor->has_value()) << name;
    EXPECT_EQ((*tensor)->name, name);
    values.push_back((*tensor)->value);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    float last = -1;
    const auto bytes = values[i].bytes().span();
    std::memcpy(&last, bytes.last(sizeof(last)).data(), sizeof(last));
    EXPECT_EQ(last, static_cast<float>(i));
  }
  EXPECT_EQ(reader.skipped_count(), 5u);
}

TEST_F(FileReaderTest, OpensAFileOfAnySizeWithoutLoadingIt) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.tfevents";
  std::ofstream(path, std::ios::binary) << record("a", 1);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  auto reader = FileReader::open(path);
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ((*reader->next())->name, "a");
}

TEST_F(FileReaderTest, KeepsAValueOfAFileThatIsTruncated) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.tfevents";
  std::ofstream(path, std::ios::binary) << record("a", 2.5f);
  auto reader = FileReader::open(path);
  ASSERT_THAT(reader, IsOk());
  const auto tensor = reader->next();
  std::filesystem::resize_file(path, 0);
  float element = 0;
  std::memcpy(&element, (*tensor)->value.bytes().data(), 4);
  EXPECT_EQ(element, 2.5f);
  EXPECT_FALSE(reader->next()->has_value());
}

TEST_F(FileReaderTest, AnEmptyFileHoldsNothing) {
  FileReader reader = open("");
  EXPECT_THAT(names(reader), IsEmpty());
}

TEST_F(FileReaderTest, OpensAFileByItsPath) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.tfevents";
  FILE* file = fopen(path.c_str(), "w");
  const std::string content = record("a", 1);
  ASSERT_EQ(fwrite(content.data(), 1, content.size(), file), content.size());
  fclose(file);
  auto reader = FileReader::open(path);
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(names(*reader), ElementsAre("a"));
  EXPECT_THAT(FileReader::open(folder.path() + "/y.tfevents"),
              FailsWith(Error::Code::not_found));
}

TEST_F(FileReaderTest, FindsTheRecordBehindALengthThatIsWrong) {
  const std::string good = record("good", 1);
  for (std::size_t byte = 0; byte < 12; ++byte) {
    std::string bad = record("bad", 2);
    bad[byte] = static_cast<char>(bad[byte] ^ 0x10);
    FileReader reader = open(good + bad + record("after", 3));
    EXPECT_THAT(names(reader), ElementsAre("good", "after")) << byte;
    ASSERT_THAT(reader.skipped(), SizeIs(1));
    EXPECT_EQ(reader.skipped()[0].start, good.size());
    EXPECT_EQ(reader.skipped()[0].bytes, bad.size());
  }
}

TEST_F(FileReaderTest, TellsATornTail) {
  const std::string good = record("good", 1);
  const std::string torn = record("torn", 2);
  for (std::size_t kept = 1; kept < torn.size(); ++kept) {
    FileReader reader = open(good + torn.substr(0, kept));
    EXPECT_THAT(names(reader), ElementsAre("good")) << kept;
    ASSERT_THAT(reader.skipped(), SizeIs(1)) << kept;
    EXPECT_EQ(reader.skipped()[0].bytes, kept);
  }
}

TEST_F(FileReaderTest, SkipsAMessageThatMakesNoSense) {
  std::string bad = record("bad", 2);
  bad[12 + 9 + 2] = '\x7f';  // the key of the summary
  FileReader reader = open(bad + record("after", 3));
  EXPECT_THAT(names(reader), ElementsAre("after"));
  EXPECT_EQ(reader.skipped_count(), 1u);
}

TEST_F(FileReaderTest, EachLevelAsksForItsOwnChecksums) {
  std::string flipped = record("flipped", 3);
  flipped.back() = 'x';
  const std::string content =
      record("constant", 1) + checked(record("checked", 2)) + flipped;
  FileReader minimal = open(content);
  EXPECT_THAT(names(minimal), ElementsAre("constant", "checked"));
  EXPECT_EQ(minimal.skipped_count(), 1u);
  FileReader full = open(content, RecordCheck::full);
  EXPECT_THAT(names(full), ElementsAre("checked"));
  EXPECT_EQ(full.skipped_count(), 2u);
  FileReader none = open(content, RecordCheck::none);
  EXPECT_THAT(names(none), ElementsAre("constant", "checked", "flipped"));
  EXPECT_EQ(none.skipped_count(), 0u);
}

TEST_F(FileReaderTest, WithoutChecksTheChecksumOfALengthIsNotLookedAt) {
  std::string odd = record("odd", 1);
  odd[8] = static_cast<char>(odd[8] ^ 1);
  FileReader reader = open(odd + record("b", 1), RecordCheck::none);
  EXPECT_THAT(names(reader), ElementsAre("odd", "b"));
  std::string endless(record("c", 1));
  endless[7] = '\x7f';
  FileReader resumed = open(endless + record("d", 1), RecordCheck::none);
  EXPECT_THAT(names(resumed), ElementsAre("d"));
  EXPECT_EQ(resumed.skipped_count(), 1u);
}

TEST_F(FileReaderTest, AFileWithoutASoundRecordIsAnErrorOnce) {
  FileReader reader = open("this is no event file, but a line of text");
  EXPECT_THAT(
      reader.next(),
      FailsWith(Error::Code::corrupt, HasSubstr("memory://reader/f.tfevents")));
  const auto after = reader.next();
  ASSERT_THAT(after, IsOk());
  EXPECT_FALSE(after->has_value());
}

TEST_F(FileReaderTest, AnEventWithoutATensorIsSaidAndPassed) {
  FileReader reader = open(record("a", 1) + empty_event() + record("b", 1));
  ASSERT_THAT(reader.next(), IsOk());
  EXPECT_THAT(reader.next(), FailsWith(Error::Code::unsupported));
  EXPECT_THAT(names(reader), ElementsAre("b"));
  EXPECT_EQ(reader.skipped_count(), 0u);
}

// Whatever was changed, every record that the change did not touch is given.
TEST_F(FileReaderTest, KeepsAllRecordsThatRandomDamageDidNotTouch) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::string whole;
  std::vector<std::size_t> ends;
  for (int i = 0; i < 40; ++i) {
    whole += checked(record(std::to_string(i), static_cast<float>(i)));
    ends.push_back(whole.size());
  }
  for (int round = 0; round < 300; ++round) {
    std::string hurt = whole;
    std::vector<bool> is_touched(ends.size());
    for (int n = 0; n < 3; ++n) {
      const std::size_t at = random() % hurt.size();
      hurt[at] = static_cast<char>(hurt[at] ^ (1 + random() % 255));
      is_touched[static_cast<std::size_t>(std::ranges::upper_bound(ends, at) -
                                          ends.begin())] = true;
    }
    FileReader reader = open(hurt, RecordCheck::full);
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (!is_touched[i]) expected.push_back(std::to_string(i));
    std::vector<std::string> kept = names(reader);
    // Two changes of one byte may undo each other.
    EXPECT_TRUE(std::ranges::includes(
        std::set<std::string>(kept.begin(), kept.end()),
        std::set<std::string>(expected.begin(), expected.end())));
    EXPECT_LE(kept.size(), ends.size());
  }
}

TEST(FileReader, ReadsOnlyTheNamesThatAPatternFinds) {
  const auto run = make_memory_storage("memory://run");
  ASSERT_TRUE(
      put_object(*run, "e", record("a", 1) + record("b", 2) + record("ab", 3))
          .ok());
  auto reader = FileReader::open(*run, "e");
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(reader->select({"^b", "b$"}).ok());
  EXPECT_EQ((*reader->next())->name, "b");
  EXPECT_EQ((*reader->next())->name, "ab");
  EXPECT_FALSE((*reader->next()).has_value());
  EXPECT_THAT(reader->select({"("}), FailsWith(Error::Code::invalid_argument));
}

}  // namespace
}  // namespace smdebug
