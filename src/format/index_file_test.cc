#include "format/index_file.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the original wrote: spec §3.2.
constexpr std::string_view kTwoRecords =
    R"({"meta": {"mode": "TRAIN", "mode_step": 20, "event_file_name": "events/000000000040/000000000040_worker_0.tfevents"}, "tensor_payload": [{"tensorname": "Net_fc.bias", "start_idx": 0, "length": 131}, {"tensorname": "smdebug/reductions/mean/Net_fc.weight", "start_idx": 131, "length": 112}], "shape_payload": []})";
constexpr std::string_view kShapesOnly =
    R"({"meta": {"mode": "EVAL", "mode_step": 3}, "tensor_payload": [], "shape_payload": [{"tensorname": "dense/weights/dense/kernel:0", "originalname": "dense/kernel:0", "shape": [784, 128]}]})";
constexpr std::string_view kEventFile =
    "events/000000000040/000000000040_worker_0.tfevents";

TEST(IndexFileBuilder, WritesWhatTheOriginalDid) {
  IndexFileBuilder builder;
  builder.add_tensor(json_string("Net_fc.bias"), 0, 131, 0);
  builder.add_tensor(json_string("smdebug/reductions/mean/Net_fc.weight"), 131,
                     112, 0);
  const std::string_view text = builder.finish(Mode::train, 20, kEventFile);
  const std::string_view theirs = kTwoRecords.substr(0, kTwoRecords.size() - 1);
  EXPECT_EQ(text.substr(0, theirs.size()), theirs);
  EXPECT_THAT(text.substr(theirs.size()),
              testing::StartsWith(R"(, "smdebug": {"version": 1, )"));

  builder.clear();
  EXPECT_TRUE(builder.empty());
  const std::vector<std::int64_t> shape = {784, 128};
  builder.add_shape(json_string("dense/weights/dense/kernel:0"),
                    json_string("dense/kernel:0"), shape);
  EXPECT_FALSE(builder.empty());
  EXPECT_EQ(builder.finish(Mode::eval, 3, ""), kShapesOnly);
}

// Columns as Python makes them: base64.b64encode(struct.pack("<2Q", 4, 0)).
TEST(IndexFileBuilder, WritesOurKeyColumnByColumn) {
  IndexFileBuilder builder;
  builder.add_tensor(json_string("a"), 0, 100, 0x01020304);
  const std::vector<std::int64_t> shape = {2, 2};
  builder.add_statistics(json_string("a"), DType::float32, shape,
                         {.count = 4,
                          .nan = 1,
                          .positive_inf = 1,
                          .negative_inf = 0,
                          .zeros = 1,
                          .min = 0,
                          .max = 2.5,
                          .mean = 1.25,
                          .m2 = 3.125,
                          .sum_abs = 2.5,
                          .sum_squares = 6.25});
  builder.add_statistics(json_string("b"), DType::int64, {},
                         {.count = 0,
                          .nan = 0,
                          .positive_inf = 0,
                          .negative_inf = 0,
                          .zeros = 0,
                          .min = 0,
                          .max = 0,
                          .mean = 0,
                          .m2 = 0,
                          .sum_abs = 0,
                          .sum_squares = 0});
  builder.set_drops(3, 4096);
  const std::string_view text = builder.finish(Mode::global, 0, kEventFile);
  EXPECT_EQ(
      text.substr(text.find("\"smdebug\"")),
      R"("smdebug": {"version": 1, "name": ["a", "b"], )"
      R"("dtype": ["float32", "int64"], "shape": [[2, 2], []], "statistics": {)"
      R"("count": "BAAAAAAAAAAAAAAAAAAAAA==", )"
      R"("nan": "AQAAAAAAAAAAAAAAAAAAAA==", )"
      R"("positive_inf": "AQAAAAAAAAAAAAAAAAAAAA==", )"
      R"("negative_inf": "AAAAAAAAAAAAAAAAAAAAAA==", )"
      R"("zeros": "AQAAAAAAAAAAAAAAAAAAAA==", )"
      R"("min": "AAAAAAAAAAAAAAAAAAAAAA==", )"
      R"("max": "AAAAAAAABEAAAAAAAAAAAA==", )"
      R"("mean": "AAAAAAAA9D8AAAAAAAAAAA==", )"
      R"("m2": "AAAAAAAACUAAAAAAAAAAAA==", )"
      R"("sum_abs": "AAAAAAAABEAAAAAAAAAAAA==", )"
      R"("sum_squares": "AAAAAAAAGUAAAAAAAAAAAA=="}, )"
      R"("crc32c": "BAMCAQ==", "dropped": {"tensors": 3, "bytes": 4096}}})");
}

TEST(IndexFileBuilder, NamesTheStepOfAFileThatHoldsOnlyStatistics) {
  IndexFileBuilder builder;
  builder.add_statistics(json_string("a"), DType::float32, {}, {.count = 1});
  const std::string text(builder.finish(Mode::train, 20, kEventFile));
  EXPECT_THAT(text, testing::StartsWith(
                        R"({"meta": {"mode": "TRAIN", "mode_step": 20}, )"));
  EXPECT_THAT(
      text,
      testing::HasSubstr(
          R"("smdebug": {"version": 1, "event_file_name": )"
          R"("events/000000000040/000000000040_worker_0.tfevents", "name")"));
  const auto file = parse_index_file(text, IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->event_file_key, "");
  EXPECT_EQ(file->absent_event_file_key, kEventFile);
}

TEST(IndexFileBuilder, TellsDropsEvenWhereNothingWasStored) {
  IndexFileBuilder builder;
  builder.set_drops(2, 10);
  EXPECT_FALSE(builder.empty());
  const auto file = parse_index_file(builder.finish(Mode::train, 1, ""),
                                     IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->dropped_tensors, 2u);
  EXPECT_EQ(file->dropped_bytes, 10u);
  EXPECT_THAT(file->damage, IsEmpty());
}

// The right-hand sides are json.dumps of the left ones.
TEST(JsonString, EscapesAsPythonDoes) {
  EXPECT_EQ(json_string("plain/name:0"), "\"plain/name:0\"");
  EXPECT_EQ(json_string("a\"b\\c\n\r\t\b\f\x01\x7f"),
            R"("a\"b\\c\n\r\t\b\f\u0001\u007f")");
  EXPECT_EQ(json_string("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"),
            R"("\u00e9\u4e2d\ud83d\ude00")");
  EXPECT_EQ(json_string("a\xff"), R"("a\ufffd")");
}

TEST(IndexFile, OfTheOriginalIsRead) {
  const auto file = parse_index_file(kTwoRecords, IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->mode, Mode::train);
  EXPECT_EQ(file->mode_step, 20);
  EXPECT_EQ(file->event_file_key, kEventFile);
  ASSERT_THAT(file->tensors, SizeIs(2));
  EXPECT_EQ(file->tensors[1].name, "smdebug/reductions/mean/Net_fc.weight");
  EXPECT_EQ(file->tensors[1].start, 131u);
  EXPECT_EQ(file->tensors[1].length, 112u);
  EXPECT_FALSE(file->tensors[1].payload_crc32c);
  EXPECT_THAT(file->shapes, IsEmpty());
  EXPECT_THAT(file->statistics, IsEmpty());
  EXPECT_THAT(file->damage, IsEmpty());

  const auto shapes = parse_index_file(kShapesOnly, IndexParts::everything);
  ASSERT_TRUE(shapes) << shapes.error().message;
  ASSERT_THAT(shapes->shapes, SizeIs(1));
  EXPECT_EQ(shapes->shapes[0].name, "dense/weights/dense/kernel:0");
  EXPECT_EQ(shapes->shapes[0].original_name, "dense/kernel:0");
  EXPECT_THAT(shapes->shapes[0].shape, ElementsAre(784, 128));
}

TEST(IndexFile, WithoutShapesOrWithBlanksAroundTheModeIsRead) {
  const auto file = parse_index_file(
      R"({"tensor_payload": [], "meta": {"mode": " PREDICT\n", "mode_step": -1}})",
      IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->mode, Mode::predict);
  EXPECT_EQ(file->mode_step, -1);
}

TEST(IndexFile, ThatSaysNothingIsCorrupt) {
  for (
      const char* text :
      {"", "{", "[]", "7", "null", "{}", R"({"tensor_payload": []})",
       R"({"meta": {}, "tensor_payload": []})",
       R"({"meta": {"mode": "TRAIN", "mode_step": 1}})",
       R"({"meta": {"mode": "TRAINING", "mode_step": 1}, "tensor_payload": []})",
       R"({"meta": {"mode": "TRAIN", "mode_step": "1"}, "tensor_payload": []})",
       R"({"meta": {"mode": "TRAIN", "mode_step": 1}, "tensor_payload": {}})",
       R"({"meta": {"mode": "TRAIN", "mode_step": 1}, "tensor_payload": []}{)",
       "{\"meta\": \xff}"}) {
    const auto file = parse_index_file(text, IndexParts::everything);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, Error::Code::corrupt) << text;
  }
  std::string nested(100'000, '[');
  EXPECT_FALSE(parse_index_file(nested, IndexParts::everything));
}

TEST(IndexFile, KeepsSoundEntriesBesideBadOnes) {
  const auto file = parse_index_file(
      R"({"meta": {"mode": "TRAIN", "mode_step": 1, "event_file_name": "e"},
          "tensor_payload": [
            {"tensorname": "a", "start_idx": 0, "length": 5},
            {"tensorname": "b", "start_idx": -1, "length": 5},
            {"tensorname": "c", "start_idx": 18446744073709551615, "length": 5},
            {"tensorname": 7, "start_idx": 0, "length": 5},
            {"tensorname": "d", "start_idx": 0.5, "length": 5},
            "e", null,
            {"tensorname": "f", "start_idx": 5, "length": 7}],
          "shape_payload": [
            {"tensorname": "s", "shape": [2, -1]},
            {"tensorname": "s", "shape": [4611686018427387904, 4]},
            {"tensorname": "s", "shape": [3]}],
          "smdebug": {
            "name": [], "dtype": [], "shape": [], "statistics": {},
            "crc32c": "AQAAAAIAAAADAAAABAAAAAUAAAAGAAAABwAAAAgAAAA="}})",
      IndexParts::locations);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->tensors, SizeIs(2));
  EXPECT_EQ(file->tensors[0].name, "a");
  EXPECT_EQ(file->tensors[0].payload_crc32c, 1u);
  EXPECT_EQ(file->tensors[1].name, "f");
  EXPECT_EQ(file->tensors[1].payload_crc32c, 8u);
  ASSERT_THAT(file->shapes, SizeIs(1));
  EXPECT_EQ(file->shapes[0].original_name, "s");
  EXPECT_THAT(file->damage, SizeIs(8));
  EXPECT_THAT(file->damage[0], HasSubstr("tensor_payload[1]"));
}

TEST(IndexFile, WhoseOwnKeyIsDamagedKeepsItsLocations) {
  const std::string start =
      R"({"meta": {"mode": "TRAIN", "mode_step": 1, "event_file_name": "e"},
          "tensor_payload": [{"tensorname": "a", "start_idx": 0, "length": 5}],
          "smdebug": )";
  for (const char* own :
       {"{}", R"({"crc32c": "AQAAAA"})", R"({"crc32c": "AQAA"})",
        R"({"crc32c": ""})", R"({"crc32c": "AQAAAAEAAAA="})",
        R"({"crc32c": "AQAAAA==", "name": ["a"], "dtype": ["int8"],
            "shape": [[1]], "statistics": {"count": "AAAA"}})",
        R"({"crc32c": "AQAAAA==", "name": ["a"], "dtype": [],
            "shape": [[1]], "statistics": {}})"}) {
    const auto file =
        parse_index_file(start + own + "}", IndexParts::everything);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->tensors, SizeIs(1)) << own;
    EXPECT_THAT(file->statistics, IsEmpty()) << own;
    EXPECT_THAT(file->damage, testing::Not(IsEmpty())) << own;
  }
}

TEST(IndexFile, ForLocationsAloneNamesItsStatisticsWithoutDecodingThem) {
  IndexFileBuilder builder;
  TensorStatistics statistics;
  statistics.count = 7;
  const std::vector<std::int64_t> shape = {7};
  builder.add_statistics("\"a\"", DType::int8, shape, statistics);
  const auto file = parse_index_file(builder.finish(Mode::train, 0, ""),
                                     IndexParts::locations);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->statistics, SizeIs(1));
  EXPECT_EQ(file->statistics[0].name, "a");
  EXPECT_EQ(file->statistics[0].dtype, DType::int8);
  EXPECT_EQ(file->statistics[0].shape, shape);
  EXPECT_EQ(file->statistics[0].statistics, TensorStatistics());
}

TEST(IndexFile, DoubtsStatisticsWhoseCountsDoNotAddUp) {
  IndexFileBuilder builder;
  TensorStatistics sound, unsound;
  sound.count = sound.nan = 3;
  unsound.count = 3;
  unsound.nan = UINT64_MAX;
  unsound.positive_inf = 4;
  builder.add_statistics("\"sound\"", DType::float32, {}, sound);
  builder.add_statistics("\"unsound\"", DType::float32, {}, unsound);
  const auto file = parse_index_file(builder.finish(Mode::train, 0, ""),
                                     IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->statistics, SizeIs(1));
  EXPECT_EQ(file->statistics[0].name, "sound");
  EXPECT_THAT(file->damage, SizeIs(1));
}

TEST(IndexFileBuilder, WritesThePlaceOfAShardBesideItsStatistics) {
  IndexFileBuilder builder;
  const std::vector<std::int64_t> shape = {2, 3};
  const ShardPlacement placement{{4, 3}, {2, 0}};
  builder.add_statistics("\"whole\"", DType::int8, shape, {});
  builder.add_statistics("\"part\"", DType::int8, shape, {}, &placement);
  const std::string text(builder.finish(Mode::train, 0, ""));
  EXPECT_NE(text.find(R"("shards": [null, {"global_shape": [4, 3], )"
                      R"("offsets": [2, 0]}])"),
            text.npos)
      << text;
  for (const IndexParts parts :
       {IndexParts::locations, IndexParts::everything}) {
    const auto file = parse_index_file(text, parts);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->damage, IsEmpty());
    EXPECT_EQ(file->statistics[0].placement, std::nullopt);
    EXPECT_EQ(file->statistics[1].placement, placement);
  }
  builder.clear();
  builder.add_statistics("\"whole\"", DType::int8, shape, {});
  EXPECT_EQ(builder.finish(Mode::train, 0, "").find("shards"),
            std::string_view::npos);
}

TEST(IndexFile, LeavesOutAPlaceThatMakesNoSense) {
  IndexFileBuilder builder;
  const std::vector<std::int64_t> shape = {2};
  const ShardPlacement sound{{4}, {2}};
  for (int i = 0; i < 5; ++i)
    builder.add_statistics("\"w" + std::to_string(i) + "\"", DType::int8, shape,
                           {}, &sound);
  std::string text(builder.finish(Mode::train, 0, ""));
  const std::string good = R"({"global_shape": [4], "offsets": [2]})";
  const auto replace = [&](std::string_view bad) {
    text.replace(text.find(good), good.size(), bad);
  };
  replace(R"({"global_shape": [4], "offsets": [3]})");  // reaches beyond
  replace(R"({"global_shape": [4, 4], "offsets": [0, 0]})");
  replace(R"({"global_shape": [4]})");
  replace("7");
  const auto file = parse_index_file(text, IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->statistics, SizeIs(5));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(file->statistics[static_cast<std::size_t>(i)].placement,
              std::nullopt);
  EXPECT_EQ(file->statistics[4].placement, sound);
  EXPECT_THAT(file->damage, SizeIs(4));
}

TEST(IndexFile, WithLocationsButNoEventFileHasNoTensors) {
  const auto file = parse_index_file(
      R"({"meta": {"mode": "TRAIN", "mode_step": 1}, "tensor_payload":
          [{"tensorname": "a", "start_idx": 0, "length": 5}]})",
      IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->tensors, IsEmpty());
  EXPECT_THAT(file->damage, SizeIs(1));
}

TEST(IndexFile, BoundsWhatItTellsOfDamage) {
  std::string text =
      R"({"meta": {"mode": "TRAIN", "mode_step": 1}, "tensor_payload": [0)";
  for (int i = 0; i < 1000; ++i) text += ", 0";
  const auto file = parse_index_file(text + "]}", IndexParts::everything);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->damage, SizeIs(21));
}

TEST(IndexFile, OfRandomContentComesBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto random_name = [&] {
    std::string name;
    for (auto n = random() % 20; n > 0; --n) {
      name.push_back(static_cast<char>(random() % 128));
    }
    return name;
  };
  IndexFileBuilder builder;
  for (int round = 0; round < 200; ++round) {
    builder.clear();
    IndexFile expected;
    expected.mode = kModes[random() % kModes.size()];
    expected.mode_step = static_cast<Step>(random());
    for (auto n = random() % 5; n > 0; --n) {
      const IndexedTensor tensor = {random_name(), random() >> 1, random() >> 1,
                                    static_cast<std::uint32_t>(random())};
      builder.add_tensor(json_string(tensor.name), tensor.start, tensor.length,
                         *tensor.payload_crc32c);
      expected.tensors.push_back(tensor);
    }
    for (auto n = random() % 5; n > 0; --n) {
      IndexedStatistics row;
      row.name = random_name();
      row.dtype = static_cast<DType>(random() % kDTypeCount);
      row.shape.assign(random() % 4, 3);
      row.statistics.count = random() | 1ull << 63;
      row.statistics.nan = random() % 10;
      row.statistics.min = -std::ldexp(static_cast<double>(random()), -90);
      row.statistics.m2 = std::ldexp(static_cast<double>(random()), 900);
      row.statistics.sum_squares = INFINITY;
      builder.add_statistics(json_string(row.name), row.dtype, row.shape,
                             row.statistics);
      expected.statistics.push_back(row);
    }
    const auto file = parse_index_file(
        builder.finish(expected.mode, expected.mode_step, "e\xc3\xa9"),
        IndexParts::everything);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->damage, IsEmpty());
    EXPECT_EQ(file->mode, expected.mode);
    EXPECT_EQ(file->mode_step, expected.mode_step);
    EXPECT_EQ(file->event_file_key,
              expected.tensors.empty() ? "" : "e\xc3\xa9");
    ASSERT_EQ(file->tensors.size(), expected.tensors.size());
    for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
      EXPECT_EQ(file->tensors[i].name, expected.tensors[i].name);
      EXPECT_EQ(file->tensors[i].start, expected.tensors[i].start);
      EXPECT_EQ(file->tensors[i].length, expected.tensors[i].length);
      EXPECT_EQ(file->tensors[i].payload_crc32c,
                expected.tensors[i].payload_crc32c);
    }
    ASSERT_EQ(file->statistics.size(), expected.statistics.size());
    for (std::size_t i = 0; i < expected.statistics.size(); ++i) {
      EXPECT_EQ(file->statistics[i].name, expected.statistics[i].name);
      EXPECT_EQ(file->statistics[i].dtype, expected.statistics[i].dtype);
      EXPECT_EQ(file->statistics[i].shape, expected.statistics[i].shape);
      EXPECT_EQ(file->statistics[i].statistics,
                expected.statistics[i].statistics);
    }
  }
}

}  // namespace
}  // namespace smdebug
