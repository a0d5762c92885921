#include "format/tensorboard_record.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace smdebug {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(TensorBoardRecord, OfANumberIsWhatTheOriginalWrote) {
  std::string record;
  append_scalar_record(clean_tag("a:0"), 2, 1.5, 0, record);
  EXPECT_EQ(record, from_hex("1700000000000000e7cef81e09000000000000f83f2a0c0a"
                             "0a0a03615f3015000000403a23b893"));
}

// From the golden run pytorch_tensorboard, the gradient of a bias.
TEST(TensorBoardRecord, OfAHistogramIsWhatTheOriginalWrote) {
  const std::vector<double> limits = {
      -0.08465817105073375,  -0.07696197368248522,  -0.06996543062044111,
      -0.06360493692767373,  -0.057822669934248845, -0.052566063576589855,
      -0.04778733052417259,  -0.043443027749247805, -0.03949366159022527,
      -0.035903328718386605, -0.03263938974398782};
  Histogram histogram;
  histogram.min = -0.07811889052391052;
  histogram.max = -0.033153288066387177;
  histogram.count = 2;
  histogram.sum = -0.1112721785902977;
  histogram.sum_squares = 0.007201701566299568;
  histogram.limits = limits;
  histogram.buckets = {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::string record;
  append_histogram_record("gradients/gradient/Net_conv.bias", histogram,
                          1795219027.1137352, 0, record);
  EXPECT_EQ(
      record,
      from_hex(
          "1501000000000000d0fbfa73097047c79437c0da412a89020a86020a206772616469"
          "656e74732f6772616469656e742f4e65745f636f6e762e626961732ae10109000000"
          "8099ffb3bf11000000c077f9a0bf1900000000000000402100000060557cbcbf2940"
          "b43e0b887f7d3f32580488006c28acb5bfa67b00a8c7b3b3bfae875d2441e9b1bfb5"
          "eff7c36948b0bf4985abd8ee9aadbffcbee167f0e9aabfcd6787bb9477a8bfd12fd8"
          "1e2a3ea6bf60cedb618338a4bfcb7553cdeb61a2bffe0d062f1cb6a0bf3a58000000"
          "0000000000000000000000f03f000000000000000000000000000000000000000000"
          "00000000000000000000000000000000000000000000000000000000000000000000"
          "000000000000000000000000000000f03fd252364d"));
}

TEST(TensorBoardRecord, FollowsTheOneBeforeIt) {
  std::string one, two, both;
  append_scalar_record("a", 1, 1.5, 3, one);
  append_scalar_record("b", 2, 1.5, 300, two);
  append_scalar_record("a", 1, 1.5, 3, both);
  append_scalar_record("b", 2, 1.5, 300, both);
  EXPECT_EQ(both, one + two);
}

// The messages below are made by hand: protobuf leaves out what is 0, but not
// what is -0, and not a number that stands for itself among alternatives.
TEST(TensorBoardRecord, LeavesOutWhatIsZero) {
  const auto message_of = [](std::string_view record) {
    return std::string(record.substr(12, record.size() - 16));
  };
  std::string scalar;
  append_scalar_record("a", 0, 0, 0, scalar);
  EXPECT_EQ(message_of(scalar), from_hex("2a0a0a080a01611500000000"));

  const std::vector<double> limits = {0, 1};
  Histogram histogram;
  histogram.min = -0.0;
  histogram.limits = limits;
  histogram.buckets = {0, 0};
  std::string record;
  append_histogram_record("a", histogram, 0, 300, record);
  EXPECT_EQ(message_of(record),
            from_hex("10ac02"
                     "2a340a320a0161"
                     "2a2d"
                     "090000000000000080"
                     "32100000000000000000000000000000f03f"
                     "3a1000000000000000000000000000000000"));
}

TEST(TensorBoardRecord, CarriesTheTrueChecksum) {
  std::string record;
  append_scalar_record("loss", std::nan(""), 1.5, 7, record);
  const auto message =
      std::as_bytes(std::span(record)).subspan(12, record.size() - 16);
  std::uint32_t word = 0;
  std::memcpy(&word, record.data() + record.size() - 4, 4);
  EXPECT_EQ(word, mask_crc32c(crc32c(message)));
}

// The expected names are those of Python's re.sub(r"[^-/\w\.]", "_", tag) and
// str.lstrip("/").
TEST(TensorBoardRecord, CleansATagAsTheOriginalDoes) {
  EXPECT_EQ(clean_tag("weights/Net_fc1.weight"), "weights/Net_fc1.weight");
  EXPECT_EQ(clean_tag("a:0 (b)^c"), "a_0__b__c");
  EXPECT_EQ(clean_tag("//a//b-c/"), "a//b-c/");
  EXPECT_EQ(clean_tag(":/a"), "_/a");
  EXPECT_EQ(clean_tag("größe/中文 ٣"), "größe/中文_٣");
  EXPECT_EQ(clean_tag("a→b\n"), "a_b_");
  EXPECT_EQ(clean_tag("///"), "");
  EXPECT_EQ(clean_tag(""), "");
}

TEST(TensorBoardRecord, CleansATagThatIsNoText) {
  EXPECT_EQ(clean_tag("a\xff"), "a_");
  EXPECT_EQ(clean_tag("\xc3"), "_");
  EXPECT_EQ(clean_tag("\xe4\xb8z"), "__z");
  EXPECT_EQ(clean_tag(std::string_view("a\0b", 3)), "a_b");
}

TEST(TensorBoardRecord, HasAFilePerStepAndMode) {
  EXPECT_EQ((TensorBoardFileName{Mode::train, "", 17.9, "node", 4711, 2}.key()),
            "TRAIN/events.out.tfevents.0000000017.node.4711.00002");
  EXPECT_EQ(
      (TensorBoardFileName{Mode::eval, "worker_1", 1.7e9, "n", 4, 0}.key()),
      "EVAL/worker_1/events.out.tfevents.1700000000.n.4.00000");
  EXPECT_EQ(tensorboard_file_key(Mode::train, 7, "4711_node"),
            "TRAIN/000000000007_4711_node.tfevents");
  EXPECT_EQ(tensorboard_file_key(Mode::global, 1234567890123, "1_a-b"),
            "GLOBAL/1234567890123_1_a-b.tfevents");
}

}  // namespace
}  // namespace smdebug
