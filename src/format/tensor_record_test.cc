#include "format/tensor_record.h"

#include <bit>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "format/string_elements.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// Records that the original wrote: spec §14.
const std::string kFloats = from_hex(
    "4800000000000000fe92489d09000000000000f83f10072a3b0a390a0177421708011209"
    "120708021203775f3222080000803f000000404a1b0a0e0a096d6f64655f737465701201"
    "330a090a046d6f6465120131b3c02d06");
const std::string kStrings = from_hex(
    "4300000000000000b18525a009000000000000f83f10072a360a340a0173421212091207"
    "08021203735f32420261624201634a1b0a0e0a096d6f64655f737465701201330a090a04"
    "6d6f6465120131b3c02d06");
const std::string kScalar = from_hex(
    "40000000000000002817f49509000000000000f83f10072a330a310a0172420e08021200"
    "220800000000000004404a1c0a0f0a096d6f64655f7374657012022d310a090a046d6f64"
    "65120132b3c02d06");

const RecordStamp kTrainStamp = {1.5, {7, Mode::train, 3}, "3"};
const RecordStamp kEvalStamp = {1.5, {7, Mode::eval, -1}, "-1"};

// A record around `message`, its checksum word true.
std::string frame(std::string_view message) {
  std::string record(12, '\0');
  const std::uint64_t length = message.size();
  std::memcpy(record.data(), &length, 8);
  const auto length_word = mask_crc32c(crc32c(bytes_of(record).first(8)));
  std::memcpy(record.data() + 8, &length_word, 4);
  record.append(message);
  const auto word = mask_crc32c(crc32c(bytes_of(message)));
  record.append(reinterpret_cast<const char*>(&word), 4);
  return record;
}

// A length-delimited protobuf field of less than 128 bytes.
std::string field(int number, std::string_view content) {
  return std::string{static_cast<char>(number << 3 | 2),
                     static_cast<char>(content.size())}
      .append(content);
}

std::string tensor_event(std::string_view tensor) {
  return frame(field(5, field(1, field(1, "t") + field(8, tensor))));
}

std::string dim(char extent) { return field(2, {std::string{8, extent}}); }

TEST(TensorRecord, IsWhatTheOriginalWrote) {
  const std::vector<float> floats = {1, 2};
  const std::vector<double> scalar = {2.5};
  const std::vector<std::string> strings = {"ab", "c"};
  const std::vector<std::int64_t> two = {2};
  std::string out;
  append_tensor_record("w", DType::float32, two, bytes_of(floats), {},
                       kTrainStamp, out);
  EXPECT_EQ(out, kFloats);
  out.clear();
  append_tensor_record("s", DType::string, two, {}, strings, kTrainStamp, out);
  EXPECT_EQ(out, kStrings);
  out.clear();
  append_tensor_record("r", DType::float64, {}, bytes_of(scalar), {},
                       kEvalStamp, out);
  EXPECT_EQ(out, kScalar);
}

TEST(TensorRecord, EncoderLeavesRoomForThePayloadOnly) {
  const std::vector<std::int64_t> two = {2};
  const TensorRecordEncoder encoder("w", DType::float32, two);
  EXPECT_EQ(encoder.payload_bytes(), 8u);
  std::string head = "before ", tail = "before ";
  EXPECT_EQ(encoder.encode(kTrainStamp, head, tail), kFloats.size());
  const std::string payload = from_hex("0000803f00000040");
  EXPECT_EQ(head.substr(7) + payload + tail.substr(7), kFloats);
  head.clear();
  tail.clear();
  EXPECT_EQ(TensorRecordEncoder("r", DType::float64, {})
                .encode(kEvalStamp, head, tail),
            kScalar.size());
  EXPECT_EQ(head + from_hex("0000000000000440") + tail, kScalar);
}

TEST(TensorRecord, LeavesOutTheZerosOfProtobuf) {
  const std::vector<std::int64_t> none = {0};
  const RecordStamp stamp = {0, {0, Mode::global, 0}, "0"};
  std::string out;
  append_tensor_record("e", DType::float32, none, {}, {}, stamp, out);
  std::string head, tail;
  TensorRecordEncoder("e", DType::float32, none).encode(stamp, head, tail);
  EXPECT_EQ(head + tail, out);
  // No wall time, step, dimension size or content.
  EXPECT_EQ(out.substr(12, 20),
            from_hex("2a2f0a2d0a0165420b0801120712051203655f30"));
  const auto record = parse_tensor_record(bytes_of(out), PayloadCheck::word);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->shape, ElementsAre(0));
  EXPECT_TRUE(record->payload.empty());
  EXPECT_EQ(record->step, stamp.step);
}

TEST(TensorRecord, ParsesWhatTheOriginalWrote) {
  const auto floats =
      parse_tensor_record(bytes_of(kFloats), PayloadCheck::word);
  ASSERT_TRUE(floats) << floats.error().message;
  EXPECT_EQ(floats->tag, "w");
  EXPECT_EQ(floats->dtype, DType::float32);
  EXPECT_THAT(floats->shape, ElementsAre(2));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(floats->payload.data()),
                        floats->payload.size()),
            from_hex("0000803f00000040"));
  EXPECT_EQ(floats->wall_seconds, 1.5);
  EXPECT_EQ(floats->step, (StepId{7, Mode::train, 3}));

  const auto strings =
      parse_tensor_record(bytes_of(kStrings), PayloadCheck::word);
  ASSERT_TRUE(strings) << strings.error().message;
  EXPECT_EQ(strings->dtype, DType::string);
  EXPECT_THAT(strings->strings, ElementsAre("ab", "c"));

  const auto scalar =
      parse_tensor_record(bytes_of(kScalar), PayloadCheck::word);
  ASSERT_TRUE(scalar) << scalar.error().message;
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->step, (StepId{7, Mode::eval, -1}));
}

TEST(TensorRecord, TellsItsSizeFromItsFirstTwelveBytes) {
  const auto size = record_bytes(bytes_of(kFloats).first(12));
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, 88u);
  EXPECT_EQ(record_bytes(bytes_of(kFloats).first(11)).error().code,
            Error::Code::corrupt);
}

TEST(TensorRecord, WithAFlippedBitInItsLengthIsRefused) {
  for (std::size_t bit = 0; bit < 96; ++bit) {
    std::string bytes = kFloats;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(record_bytes(bytes_of(bytes))) << "bit " << bit;
  }
}

TEST(TensorRecord, AcceptsTheConstantWordAndTheTrueChecksumOnly) {
  const std::string message = kFloats.substr(12, kFloats.size() - 16);
  std::string bytes = frame(message);
  EXPECT_NE(bytes, kFloats);
  EXPECT_TRUE(parse_tensor_record(bytes_of(bytes), PayloadCheck::word));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const auto damaged = parse_tensor_record(bytes_of(bytes), PayloadCheck::word);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Error::Code::corrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("at byte 84"));
  EXPECT_TRUE(parse_tensor_record(bytes_of(bytes), PayloadCheck::none));
}

TEST(TensorRecord, OfEveryDTypeComesBack) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_string(dtype)) continue;
    std::vector<std::byte> payload(6 * dtype_bytes(dtype));
    for (std::size_t b = 0; b < payload.size(); ++b) payload[b] = std::byte(b);
    const std::vector<std::int64_t> shape = {2, 3};
    std::string out;
    append_tensor_record("t", dtype, shape, payload, {}, kTrainStamp, out);
    const auto record = parse_tensor_record(bytes_of(out), PayloadCheck::word);
    ASSERT_TRUE(record) << dtype_name(dtype) << record.error().message;
    EXPECT_EQ(record->dtype, dtype);
    EXPECT_EQ(record->shape, shape);
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(),
                           record->payload.begin(), record->payload.end()));
  }
}

TEST(TensorRecord, NumbersDTypesAsTensorFlowDoes) {
  const std::vector<std::pair<DType, int>> numbers = {
      {DType::float32, 1},       {DType::float64, 2},
      {DType::int32, 3},         {DType::uint8, 4},
      {DType::int16, 5},         {DType::int8, 6},
      {DType::complex64, 8},     {DType::int64, 9},
      {DType::boolean, 10},      {DType::bfloat16, 14},
      {DType::uint16, 17},       {DType::complex128, 18},
      {DType::float16, 19},      {DType::uint32, 22},
      {DType::uint64, 23},       {DType::float8_e5m2, 24},
      {DType::float8_e4m3fn, 25}};
  ASSERT_EQ(numbers.size(), kDTypeCount - 2);
  for (const auto& [dtype, number] : numbers) {
    std::string head, tail;
    TensorRecordEncoder("t", dtype, {}).encode(kTrainStamp, head, tail);
    // After the framing, the stamp, two heads, the tag and the tensor's head.
    EXPECT_EQ(head[32], 8) << dtype_name(dtype);
    EXPECT_EQ(head[33], number) << dtype_name(dtype);
  }
}

TEST(TensorRecord, OfBytesIsTensorFlowsTensorOfStrings) {
  const std::vector<std::int64_t> two = {2};
  const std::vector<std::string> strings = {"ab", std::string("\xff\0", 2)};
  std::string out;
  append_tensor_record("t", DType::bytes, two, {}, strings, kTrainStamp, out);
  const std::string tensor =
      from_hex("0807") +
      field(2, field(2, from_hex("0802") + field(2, "t_2"))) +
      field(8, strings[0]) + field(8, strings[1]);
  EXPECT_NE(out.find(field(1, "t") + field(8, tensor)), std::string::npos);
  const auto record = parse_tensor_record(bytes_of(out), PayloadCheck::word);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->dtype, DType::bytes);
  EXPECT_EQ(record->strings, strings);
}

TEST(TensorRecord, OfStringsIsAHeadThePackedElementsAndATail) {
  const std::vector<std::string> strings = {"ab", "c"};
  const std::vector<std::string_view> views = {strings.begin(), strings.end()};
  const std::vector<std::int64_t> two = {2};
  std::string payload(string_elements_bytes(views), '\0');
  StringElements(views).next(reinterpret_cast<std::byte*>(payload.data()),
                             payload.size());
  std::string head, tail;
  const auto encoder =
      TensorRecordEncoder::of_strings("s", DType::string, two, payload.size());
  EXPECT_EQ(encoder.encode(kTrainStamp, head, tail), kStrings.size());
  EXPECT_EQ(head + payload + tail, kStrings);
}

TEST(TensorRecord, OfNoStringsIsNotTakenForAnotherDType) {
  const std::vector<std::int64_t> none = {0, 3};
  for (DType dtype : {DType::string, DType::bytes}) {
    std::string out;
    append_tensor_record("s", dtype, none, {}, {}, kTrainStamp, out);
    const auto record = parse_tensor_record(bytes_of(out), PayloadCheck::word);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->dtype, dtype);
    EXPECT_EQ(record->shape, none);
    EXPECT_TRUE(record->strings.empty());
  }
}

TEST(TensorRecord, KeepsTheRankOfStrings) {
  const std::vector<std::int64_t> shape = {2, 2};
  const std::vector<std::string> strings = {"", "b", "\xc3\xa9", "d"};
  std::string out;
  append_tensor_record("s", DType::string, shape, {}, strings, kTrainStamp,
                       out);
  append_tensor_record("s", DType::string, {}, {}, {&strings[1], 1},
                       kTrainStamp, out);
  const auto matrix = parse_tensor_record(bytes_of(out), PayloadCheck::word);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->shape, shape);
  EXPECT_EQ(matrix->strings, strings);
  const auto scalar = parse_tensor_record(
      bytes_of(out).subspan(*record_bytes(bytes_of(out))), PayloadCheck::word);
  ASSERT_TRUE(scalar) << scalar.error().message;
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_THAT(scalar->strings, ElementsAre("b"));
}

TEST(TensorRecord, ReadsValuesThatWereWrittenOneByOne) {
  const auto payload_of = [](std::string_view tensor) {
    const std::string bytes = tensor_event(tensor);
    auto record = parse_tensor_record(bytes_of(bytes), PayloadCheck::word);
    EXPECT_TRUE(record) << record.error().message;
    return record ? std::string(
                        reinterpret_cast<const char*>(record->payload.data()),
                        record->payload.size())
                  : "";
  };
  const std::string two = field(2, dim(2));
  // float_val, packed and not.
  EXPECT_EQ(payload_of(from_hex("0801") + two +
                       field(5, from_hex("0000803f00000040"))),
            from_hex("0000803f00000040"));
  EXPECT_EQ(
      payload_of(from_hex("0801") + two + from_hex("2d0000803f2d00000040")),
      from_hex("0000803f00000040"));
  // double_val, 0-d.
  EXPECT_EQ(payload_of(from_hex("08021200310000000000000440")),
            from_hex("0000000000000440"));
  // int_val as int32 and as int8; -1 is ten bytes.
  EXPECT_EQ(payload_of(from_hex("0803") + two +
                       field(7, from_hex("03ffffffffffffffffff01"))),
            from_hex("03000000ffffffff"));
  EXPECT_EQ(payload_of(from_hex("0806") + two +
                       field(7, from_hex("03ffffffffffffffffff01"))),
            from_hex("03ff"));
  // int64_val, bool_val.
  EXPECT_EQ(payload_of(from_hex("080912005007")), from_hex("0700000000000000"));
  EXPECT_EQ(payload_of(from_hex("080a") + two + from_hex("58015800")),
            from_hex("0100"));
  // int_val as int16 and as both kinds of one byte: the dtype says the sign.
  EXPECT_EQ(payload_of(from_hex("0805") + two +
                       field(7, from_hex("03feffffffffffffffff01"))),
            from_hex("0300feff"));
  EXPECT_EQ(payload_of(from_hex("0804") + two + field(7, from_hex("03ff01"))),
            from_hex("03ff"));
  EXPECT_EQ(payload_of(from_hex("0811") + two + field(7, from_hex("03ffff03"))),
            from_hex("0300ffff"));
  // half_val holds the bits of float16 and bfloat16: 1.0 of each.
  EXPECT_EQ(payload_of(from_hex("081312006a028078")), from_hex("003c"));
  EXPECT_EQ(payload_of(from_hex("080e120068807f")), from_hex("803f"));
  // scomplex_val, dcomplex_val: two for each element.
  EXPECT_EQ(payload_of(from_hex("080812004a080000803f00000040")),
            from_hex("0000803f00000040"));
  EXPECT_EQ(payload_of(from_hex("081212006210") + std::string(16, 'x')),
            std::string(16, 'x'));
  // uint32_val, uint64_val.
  EXPECT_EQ(payload_of(from_hex("08161200800105")), from_hex("05000000"));
  EXPECT_EQ(payload_of(from_hex("081712008801ffffffffffffffffff01")),
            std::string(8, '\xff'));
  // float8_val: one string of bytes.
  EXPECT_EQ(payload_of(from_hex("0818") + two + from_hex("9201023c40")),
            from_hex("3c40"));
  // The dtype may come after the values.
  EXPECT_EQ(payload_of(two + from_hex("58015800") + from_hex("080a")),
            from_hex("0100"));
}

TEST(TensorRecord, WhoseShapeDoesNotFitItsBytesIsRefused) {
  const std::string value = from_hex("22040000803f");
  for (const std::string& tensor : {
           from_hex("0801") + field(2, dim(2)) + value,
           from_hex("0801") + field(2, dim(0)) + value,
           from_hex("0802") + field(2, dim(1)) + value,
           // A size of -1.
           from_hex("0801") +
               field(2, field(2, from_hex("08ffffffffffffffffff01"))) + value,
           // Two dimensions of 2^62.
           from_hex("0801") +
               field(2, field(2, from_hex("08808080808080808040")) +
                            field(2, from_hex("08808080808080808040"))) +
               value,
           // One float_val for two elements.
           from_hex("0801") + field(2, dim(2)) + field(5, "abcd"),
           // Strings with bytes, strings without a shape.
           field(2, dim(1)) + field(8, "a") + value,
           field(2, dim(2)) + field(8, "a"),
       }) {
    const std::string bytes = tensor_event(tensor);
    const auto record =
        parse_tensor_record(bytes_of(bytes), PayloadCheck::word);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Error::Code::corrupt)
        << record.error().message;
  }
}

TEST(TensorRecord, OfMoreThan255DimensionsIsRefused) {
  const auto parse_rank = [](std::size_t rank) {
    const std::vector<std::int64_t> shape(rank, 1);
    const std::vector<float> one = {1};
    std::string out;
    append_tensor_record("t", DType::float32, shape, bytes_of(one), {},
                         kTrainStamp, out);
    return parse_tensor_record(bytes_of(out), PayloadCheck::word).ok();
  };
  EXPECT_TRUE(parse_rank(255));
  EXPECT_FALSE(parse_rank(256));
}

TEST(TensorRecord, OfAnotherEventIsUnsupported) {
  for (const std::string& bytes :
       {frame(field(4, "graph")), frame(""), frame(field(5, "")),
        // simple_value 2.0, as TensorBoard files hold.
        frame(field(5, field(1, field(1, "a") + from_hex("1500000040")))),
        // dtype 21, a variant.
        tensor_event(from_hex("08151200"))}) {
    const auto record =
        parse_tensor_record(bytes_of(bytes), PayloadCheck::word);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Error::Code::unsupported);
  }
}

TEST(TensorRecord, WithoutAModeIsGlobal) {
  const std::string bytes = frame(
      from_hex("1005") +
      field(5, field(1, field(1, "t") + field(8, from_hex("08041200220107")))));
  const auto record = parse_tensor_record(bytes_of(bytes), PayloadCheck::word);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->step, (StepId{5, Mode::global, 5}));
}

TEST(TensorRecord, OfRandomShapeAndTagComesBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> shape(random() % 5);
    std::uint64_t size = 1;
    for (auto& extent : shape) {
      extent = static_cast<std::int64_t>(random() % 9);
      size *= static_cast<std::uint64_t>(extent);
    }
    const std::string tag(random() % 300, 'x');
    std::vector<std::int16_t> values(size);
    for (auto& value : values) value = static_cast<std::int16_t>(random());
    RecordStamp stamp;
    stamp.wall_seconds = static_cast<double>(random() % 1000) / 8;
    stamp.step = {static_cast<Step>(random() >> 1),
                  kModes[random() % kModes.size()],
                  static_cast<Step>(random())};
    std::array<char, 24> buffer;
    stamp.mode_step_text = format_mode_step(stamp.step.mode_step, buffer);
    std::string head, tail, whole;
    const TensorRecordEncoder encoder(tag, DType::int16, shape);
    const std::uint64_t size_told = encoder.encode(stamp, head, tail);
    append_tensor_record(tag, DType::int16, shape, bytes_of(values), {}, stamp,
                         whole);
    ASSERT_EQ(size_told, whole.size());
    ASSERT_EQ(head +
                  std::string(reinterpret_cast<char*>(values.data()),
                              values.size() * 2) +
                  tail,
              whole);
    const auto record =
        parse_tensor_record(bytes_of(whole), PayloadCheck::word);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->tag, tag);
    EXPECT_EQ(record->shape, shape);
    EXPECT_EQ(record->step, stamp.step);
    EXPECT_EQ(record->wall_seconds, stamp.wall_seconds);
    EXPECT_EQ(record->payload.size(), values.size() * 2);
  }
}

TEST(FormatModeStep, TakesEveryStep) {
  std::array<char, 24> buffer;
  EXPECT_EQ(format_mode_step(0, buffer), "0");
  EXPECT_EQ(format_mode_step(-1, buffer), "-1");
  EXPECT_EQ(format_mode_step(INT64_MIN, buffer), "-9223372036854775808");
}

}  // namespace
}  // namespace smdebug
