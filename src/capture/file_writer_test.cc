#include "smdebug/capture/file_writer.h"

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/store/open_storage.h"

#include "base/result_matchers_testing.h"
#include "format/index_file.h"
#include "format/tensor_record.h"
#include "store/backends.h"
#include "tests/fault/faulty_storage.h"
#include "tests/support/fork_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kEventKey =
    "events/000000000007/000000000007_worker_0.tfevents";
constexpr const char* kIndexKey = "index/000000000/000000000007_worker_0.json";

template <typename T>
TensorView view_of(DType dtype, const std::vector<T>& elements,
                   std::span<const std::int64_t> shape) {
  return {
      dtype, reinterpret_cast<const std::byte*>(elements.data()), shape, {}};
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned>(byte) & 15]);
  }
  return text;
}

// CRC-32C one bit at a time, masked as TFRecord does.
std::uint32_t plain_masked_crc(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

class FileWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<FileWriter> make(FileWriterOptions options = {.step = 7}) {
    auto writer = FileWriter::create(storage_, std::move(options));
    EXPECT_THAT(writer, IsOk());
    return *std::move(writer);
  }

  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    const auto listed = storage_->list("");
    EXPECT_THAT(listed, IsOk());
    for (const ObjectEntry& object : *listed) keys.push_back(object.key);
    return keys;
  }

  std::string text(std::string_view key) {
    return std::string(get_object(*storage_, key)->text());
  }

  // The index file without the key of ours, which comes last.
  std::string original_part_of_index() {
    const std::string whole = text(kIndexKey);
    const std::size_t own = whole.find(", \"smdebug\": {");
    return own == whole.npos ? whole : whole.substr(0, own) + "}";
  }

  // The records of the event file, one after another.
  std::vector<TensorRecord> records() {
    bytes_ = *get_object(*storage_, kEventKey);
    std::vector<TensorRecord> records;
    for (auto rest = bytes_.span(); !rest.empty();) {
      const auto size = record_bytes(rest);
      EXPECT_THAT(size, IsOk());
      auto record = parse_tensor_record(rest, PayloadCheck::word);
      EXPECT_THAT(record, IsOk());
      records.push_back(*std::move(record));
      rest = rest.subspan(*size);
    }
    return records;
  }

  std::shared_ptr<Storage> storage_ = make_memory_storage("memory://writer");
  const std::vector<float> w_ = {1, 2};
  const std::vector<std::int64_t> two_ = {2};
  Bytes bytes_;
};

// The records of the original: shared/spec, "Golden byte vectors".
TEST_F(FileWriterTest, WritesTheOriginalsRecordsBitForBit) {
  const auto writer = make();
  const std::vector<double> r = {2.5};
  const std::vector<std::string_view> texts = {"ab", "c"};
  ASSERT_THAT(writer->write_tensor("w", view_of(DType::float32, w_, two_),
                                   {Mode::train, 3, 1.5}),
              IsOk());
  ASSERT_THAT(writer->write_tensor("s", view_of(DType::string, texts, two_),
                                   {Mode::train, 3, 1.5}),
              IsOk());
  ASSERT_THAT(writer->write_tensor("r", view_of(DType::float64, r, {}),
                                   {Mode::eval, -1, 1.5}),
              IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_EQ(
      hex(get_object(*storage_, kEventKey)->span()),
      "4800000000000000fe92489d09000000000000f83f10072a3b0a390a0177421708011209"
      "120708021203775f3222080000803f000000404a1b0a0e0a096d6f64655f737465701201"
      "330a090a046d6f6465120131b3c02d06"
      "4300000000000000b18525a009000000000000f83f10072a360a340a0173421212091207"
      "08021203735f32420261624201634a1b0a0e0a096d6f64655f737465701201330a090a04"
      "6d6f6465120131b3c02d06"
      "40000000000000002817f49509000000000000f83f10072a330a310a0172420e08021200"
      "220800000000000004404a1c0a0f0a096d6f64655f7374657012022d310a090a046d6f64"
      "65120132b3c02d06");
  EXPECT_EQ(original_part_of_index(),
            "{\"meta\": {\"mode\": \"TRAIN\", \"mode_step\": 3, "
            "\"event_file_name\": "
            "\"events/000000000007/000000000007_worker_0.tfevents\"}, "
            "\"tensor_payload\": ["
            "{\"tensorname\": \"w\", \"start_idx\": 0, \"length\": 88}, "
            "{\"tensorname\": \"s\", \"start_idx\": 88, \"length\": 83}, "
            "{\"tensorname\": \"r\", \"start_idx\": 171, \"length\": 80}], "
            "\"shape_payload\": []}");
}

TEST_F(FileWriterTest, LeavesNoFileWhereNothingWasWritten) {
  const auto writer = make();
  EXPECT_THAT(writer->name(), FailsWith(Error::Code::not_found));
  EXPECT_THAT(writer->flush(), IsOk());
  EXPECT_THAT(writer->close(), IsOk());
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(FileWriterTest, NamesItsFileOnceThereIsOne) {
  const auto writer = make();
  ASSERT_THAT(writer->write_tensor("w", view_of(DType::float32, w_, two_)),
              IsOk());
  EXPECT_THAT(writer->name(),
              IsOkAndHolds("memory://writer/" + std::string(kEventKey)));
}

TEST_F(FileWriterTest, WritesShapesAloneWithoutAnEventFile) {
  const auto writer = make();
  const std::vector<std::int64_t> shape = {784, 128};
  ASSERT_THAT(writer->write_shape("dense/weights/dense/kernel:0", shape,
                                  "dense/kernel:0", {Mode::eval, 3}),
              IsOk());
  ASSERT_THAT(writer->write_shape("loss", {}), IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_THAT(keys(), ElementsAre(kIndexKey));
  EXPECT_EQ(text(kIndexKey),
            "{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 3}, "
            "\"tensor_payload\": [], \"shape_payload\": ["
            "{\"tensorname\": \"dense/weights/dense/kernel:0\", "
            "\"originalname\": \"dense/kernel:0\", \"shape\": [784, 128]}, "
            "{\"tensorname\": \"loss\", \"originalname\": \"loss\", "
            "\"shape\": []}]}");
}

TEST_F(FileWriterTest, TheFirstIndexedTensorSaysTheModeOfTheIndexFile) {
  const auto writer = make();
  const TensorView view = view_of(DType::float32, w_, two_);
  ASSERT_THAT(writer->write_shape("a", two_, {}, {Mode::predict, 1}), IsOk());
  RecordLabel unindexed{Mode::predict, 2};
  unindexed.is_indexed = false;
  ASSERT_THAT(writer->write_tensor("b", view, unindexed), IsOk());
  ASSERT_THAT(writer->write_tensor("c", view, {Mode::eval, 3}), IsOk());
  ASSERT_THAT(writer->write_tensor("d", view, {Mode::train, 4}), IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  const auto index = parse_index_file(text(kIndexKey), IndexParts::everything);
  ASSERT_THAT(index, IsOk());
  EXPECT_EQ(index->mode, Mode::eval);
  EXPECT_EQ(index->mode_step, 3);
  ASSERT_THAT(index->tensors, SizeIs(2));
  EXPECT_EQ(index->tensors[0].name, "c");
  const auto written = records();
  ASSERT_THAT(written, SizeIs(3));
  EXPECT_EQ(written[0].tag, "b");
  EXPECT_EQ(written[2].step, (StepId{7, Mode::train, 4}));
}

TEST_F(FileWriterTest, AModeStepThatIsNotGivenIsTheStep) {
  const auto writer = make();
  ASSERT_THAT(writer->write_tensor("w", view_of(DType::float32, w_, two_)),
              IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_EQ(records()[0].step, (StepId{7, Mode::global, 7}));
  EXPECT_GT(records()[0].wall_seconds, 1.6e9);
}

// Random shapes and strides against a loop over the indexes; some tensors are
// larger than what is read or handed over at once.
TEST_F(FileWriterTest, WritesStridedTensorsInCOrder) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto up_to = [&](int n) {
    return std::uniform_int_distribution<int>(0, n)(random);
  };
  const auto writer = make();
  std::vector<std::vector<std::int32_t>> expected;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> shape, strides;
    std::int64_t next = 1, first = 0;
    for (int rank = up_to(4), i = 0; i < rank; ++i) {
      shape.push_back(round % 20 == 0 ? up_to(40) : up_to(6));
      const int kind = up_to(3);
      strides.push_back(kind == 0 ? 0 : kind == 1 ? -next : next);
      if (kind == 1) first += next * std::max<std::int64_t>(shape[i] - 1, 0);
      if (kind != 0) next *= std::max<std::int64_t>(shape[i], 1) + up_to(1);
    }
    std::vector<std::int32_t> memory(static_cast<std::size_t>(next));
    for (auto& element : memory) element = static_cast<std::int32_t>(random());
    const TensorView view{
        DType::int32, reinterpret_cast<const std::byte*>(memory.data() + first),
        shape, strides};
    std::vector<std::int32_t> in_order;
    for (std::int64_t i = 0; i < view.size(); ++i) {
      std::int64_t rest = i, at = first;
      for (std::size_t d = shape.size(); d-- > 0;) {
        at += rest % shape[d] * strides[d];
        rest /= shape[d];
      }
      in_order.push_back(memory[static_cast<std::size_t>(at)]);
    }
    expected.push_back(std::move(in_order));
    ASSERT_THAT(writer->write_tensor(std::to_string(round), view), IsOk());
  }
  ASSERT_THAT(writer->close(), IsOk());
  const auto written = records();
  ASSERT_THAT(written, SizeIs(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto bytes = std::as_bytes(std::span(expected[i]));
    EXPECT_TRUE(std::ranges::equal(written[i].payload, bytes)) << i;
  }
  const auto index = parse_index_file(text(kIndexKey), IndexParts::everything);
  ASSERT_THAT(index, IsOk());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorStatistics& statistics = index->statistics[i].statistics;
    ASSERT_EQ(statistics.count, expected[i].size());
    if (expected[i].empty()) continue;
    EXPECT_EQ(statistics.min, *std::ranges::min_element(expected[i]));
    EXPECT_EQ(statistics.max, *std::ranges::max_element(expected[i]));
  }
}

TEST_F(FileWriterTest, WritesATensorOfManyPiecesWithItsChecksums) {
  std::vector<double> large(700'001);  // over 5 MiB, no whole number of pieces
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<double>(i);
  const std::vector<std::int64_t> shape = {
      static_cast<std::int64_t>(large.size())};
  FileWriterOptions options{.step = 7};
  options.write_checksum = true;
  const auto writer = make(options);
  const TensorView view = view_of(DType::float64, large, shape);
  const std::vector<std::string_view> texts = {"ä"};
  const std::vector<std::int64_t> one = {1};
  ASSERT_THAT(writer->write_tensor("small", view_of(DType::float32, w_, two_)),
              IsOk());
  ASSERT_THAT(writer->write_tensor("large", view), IsOk());
  ASSERT_THAT(writer->write_tensor("text", view_of(DType::string, texts, one)),
              IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_TRUE(std::ranges::equal(records()[1].payload,
                                 std::as_bytes(std::span(large))));
  const Bytes file = *get_object(*storage_, kEventKey);
  for (auto rest = file.span(); !rest.empty();) {
    const std::uint64_t size = *record_bytes(rest);
    std::uint32_t word;
    std::memcpy(&word, rest.data() + size - 4, 4);
    EXPECT_EQ(word, plain_masked_crc(rest.subspan(12, size - 16)));
    rest = rest.subspan(size);
  }
  const auto index = parse_index_file(text(kIndexKey), IndexParts::everything);
  EXPECT_EQ(index->statistics[1].statistics.mean, 350'000.0);
  EXPECT_EQ(index->statistics[2].statistics.count, 1u);
}

TEST_F(FileWriterTest, WritesStringsOfAnyBytesAndAnyRank) {
  const std::string long_one(3 << 20, 'x');
  const std::vector<std::string_view> strings = {std::string_view("a\0b", 3),
                                                 "", long_one, "\xff"};
  const std::vector<std::int64_t> square = {2, 2};
  const auto writer = make();
  ASSERT_THAT(writer->write_tensor("b", view_of(DType::bytes, strings, square)),
              IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  const TensorRecord record = records().front();
  EXPECT_EQ(record.dtype, DType::bytes);
  EXPECT_EQ(record.shape, square);
  EXPECT_TRUE(std::ranges::equal(record.strings, strings));
}

// The record of the original: shared/spec, "Golden byte vectors".
TEST_F(FileWriterTest, WritesTheOriginalsSummaryBitForBit) {
  FileWriterOptions options{.kind = FileWriterOptions::Kind::tensorboard,
                            .mode = Mode::train};
  options.worker = "4711_node";
  const auto writer = make(options);
  ASSERT_THAT(writer->write_scalar_summary("a:0", 2.0, {{}, 1.5}), IsOk());
  EXPECT_THAT(writer->write_tensor("w", view_of(DType::float32, w_, two_)),
              FailsWith(Error::Code::invalid_argument,
                        HasSubstr("a file for TensorBoard")));
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_THAT(keys(), ElementsAre("TRAIN/000000000000_4711_node.tfevents"));
  EXPECT_EQ(hex(get_object(*storage_, keys().front())->span()),
            "1700000000000000e7cef81e09000000000000f83f2a0c0a0a0a03615f30150000"
            "00403a23b893");
}

TEST_F(FileWriterTest, WritesQuantizedElementsUnderTheirOwnNumbers) {
  const auto writer = make();
  const std::vector<std::int8_t> bytes = {-3, 4};
  RecordLabel label{Mode::global, {}, 1.5};
  label.is_quantized = true;
  ASSERT_THAT(
      writer->write_tensor("q", view_of(DType::int8, bytes, two_), label),
      IsOk());
  EXPECT_THAT(
      writer->write_tensor("f", view_of(DType::float32, w_, two_), label),
      FailsWith(Error::Code::invalid_argument, HasSubstr("float32")));
  ASSERT_THAT(writer->close(), IsOk());
  const std::string file = hex(get_object(*storage_, kEventKey)->span());
  EXPECT_THAT(file, HasSubstr("0a01714211080b"));  // tag q, tensor, dtype 11
  EXPECT_EQ(records()[0].dtype, DType::int8);
}

TEST_F(FileWriterTest, RefusesWhatCannotBeWrittenAndGoesOn) {
  const auto invalid = Error::Code::invalid_argument;
  EXPECT_THAT(FileWriter::create(storage_, {.step = -1}), FailsWith(invalid));
  EXPECT_THAT(FileWriter::create(storage_, {.worker = ""}), FailsWith(invalid));
  EXPECT_THAT(FileWriter::create(storage_, {.worker = std::string("a\0b", 3)}),
              FailsWith(invalid));
  const auto writer = make();
  const TensorView view = view_of(DType::float32, w_, two_);
  EXPECT_THAT(writer->write_tensor("", view), FailsWith(invalid));
  const std::vector<std::vector<std::int64_t>> bad_shapes = {
      {-1},
      {1 << 30},
      {1ll << 40, 1ll << 40, 0},
      std::vector<std::int64_t>(256, 1)};
  for (const auto& shape : bad_shapes) {
    TensorView bad = view;
    bad.shape = shape;
    EXPECT_THAT(writer->write_tensor("bad", bad), FailsWith(invalid));
  }
  EXPECT_THAT(writer->write_scalar_summary("t", 1),
              FailsWith(invalid, HasSubstr("a file of tensors")));
  ASSERT_THAT(writer->write_tensor("w", view), IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_THAT(records(), SizeIs(1));
}

TEST_F(FileWriterTest, AWriterThatWasClosedTakesNothingMore) {
  const auto writer = make();
  const TensorView view = view_of(DType::float32, w_, two_);
  ASSERT_THAT(writer->write_tensor("w", view), IsOk());
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_THAT(writer->close(), IsOk());
  EXPECT_THAT(writer->write_tensor("w", view), FailsWith(Error::Code::closed));
  EXPECT_THAT(writer->write_shape("w", {}), FailsWith(Error::Code::closed));
  EXPECT_THAT(writer->name(), IsOk());
}

TEST_F(FileWriterTest, TheFirstFailureStaysAndNothingIsPublished) {
  const auto faulty = std::make_shared<FaultyStorage>(storage_);
  auto writer = *FileWriter::create(faulty, {.step = 7});
  const TensorView view = view_of(DType::float32, w_, two_);
  ASSERT_THAT(writer->write_tensor("w", view), IsOk());
  faulty->fail_with("no space left on device");
  const auto no_space = HasSubstr("no space left on device");
  EXPECT_THAT(writer->flush(), FailsWith(Error::Code::io, no_space));
  faulty->fail_with("");
  EXPECT_THAT(writer->write_tensor("w", view),
              FailsWith(Error::Code::io, no_space));
  EXPECT_THAT(writer->close(), FailsWith(Error::Code::io, no_space));
  EXPECT_THAT(keys(), IsEmpty());
}

// What `name` ends with under `folder`, sorted.
std::vector<std::string> files_under(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().filename());
  }
  return files;
}

TEST_F(FileWriterTest, AFileIsUnfinishedUntilItIsClosed) {
  TemporaryFolder folder;
  auto writer = *FileWriter::create(folder.path(), {.step = 7});
  ASSERT_THAT(writer->write_tensor("w", view_of(DType::float32, w_, two_)),
              IsOk());
  ASSERT_THAT(writer->flush(), IsOk());
  const std::string unfinished = "000000000007_worker_0.tfevents.tmp";
  EXPECT_THAT(files_under(folder.path()), ElementsAre(unfinished));
  EXPECT_EQ(std::filesystem::file_size(folder.path() + "/events/000000000007/" +
                                       unfinished),
            88u);  // docs/format.md, "A worked example"
  writer.reset();
  EXPECT_THAT(files_under(folder.path()), IsEmpty());
}

TEST_F(FileWriterTest, AForkedProcessLeavesTheParentsFileAlone) {
  TemporaryFolder folder;
  auto writer = *FileWriter::create(folder.path(), {.step = 7});
  const TensorView view = view_of(DType::float32, w_, two_);
  ASSERT_THAT(writer->write_tensor("w", view), IsOk());
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    bool is_refused = !writer->write_tensor("child", view).ok() &&
                      !writer->close().ok() && !writer->name().ok();
    writer.reset();
    _exit(is_refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_THAT(writer->close(), IsOk());
  EXPECT_THAT(files_under(folder.path()), SizeIs(2));
}

TEST_F(FileWriterTest, RecordsOfSeveralThreadsFollowEachOther) {
  const auto writer = make();
  constexpr int kThreads = 4, kRecords = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRecords; ++i) {
        const auto name = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_THAT(
            writer->write_tensor(name, view_of(DType::float32, w_, two_)),
            IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_THAT(writer->close(), IsOk());
  const auto written = records();
  const auto index = parse_index_file(text(kIndexKey), IndexParts::everything);
  ASSERT_THAT(written, SizeIs(kThreads * kRecords));
  ASSERT_THAT(index->tensors, SizeIs(kThreads * kRecords));
  for (std::size_t i = 0; i < written.size(); ++i)
    EXPECT_EQ(written[i].tag, index->tensors[i].name);
}

}  // namespace
}  // namespace smdebug
