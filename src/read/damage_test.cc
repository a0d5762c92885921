// Tests reading runs that a killed process or a faulty disk has damaged.

#include <random>

#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DamageTest : public TrialTest {
 protected:
  DamageTest() {
    run_.put_collections("worker_0", 1);
    put(0);
    put(1);
  }

  std::string bytes_of(const std::string& key) {
    auto bytes = get_object(*storage_, key);
    EXPECT_TRUE(bytes.ok());
    return std::string(bytes->text());
  }

  Result<TensorValue> value_at(Step step) {
    const auto trial = open();
    return trial->tensor("w")->value({step});
  }

  const std::string events_ = event_file_key(1, "worker_0");
  const std::string index_ = index_file_key(1, "worker_0");
};

TEST_F(DamageTest, NamesAMissingEventFile) {
  ASSERT_TRUE(storage_->remove(events_).ok());
  run_.put_end_marker();
  const auto value = value_at(1);
  EXPECT_EQ(value.error().code, Error::Code::io);
  EXPECT_THAT(value.error().message, HasSubstr("'w' at step 1"));
  EXPECT_THAT(value.error().message, HasSubstr(events_));
}

TEST_F(DamageTest, ListsEventFilesThatAreMissingOrTooShort) {
  const std::string whole = bytes_of(events_);
  run_.put_end_marker();
  run_.put(events_, whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  const auto damage = open()->damage();
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].key, event_file_key(0, "worker_0"));
  EXPECT_EQ(damage[0].what, "missing");
  EXPECT_EQ(damage[1].key, events_);
  EXPECT_EQ(damage[1].what, std::to_string(whole.size() - 1) +
                                " bytes, but its index expects " +
                                std::to_string(whole.size()));
}

TEST_F(DamageTest, OfEventFilesIsNotListedWhileTheRunGrows) {
  ASSERT_TRUE(storage_->remove(events_).ok());
  EXPECT_THAT(open()->damage(), IsEmpty());
}

TEST_F(DamageTest, NamesTheIndexFileThatHidesAStep) {
  run_.put(index_, "{");
  put(2);
  run_.put_end_marker();
  const auto value = value_at(1);
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(value.error().message,
              HasSubstr("'w' at step 1: the step cannot be read: index file '" +
                        index_ + "' is damaged"));
}

TEST_F(DamageTest, SaysThatTheFilesOfAnOpenStepWereRemoved) {
  const auto trial = open();
  ASSERT_THAT(trial->steps(), ElementsAre(0, 1));
  for (const Step step : {0, 1}) {
    ASSERT_TRUE(storage_->remove(index_file_key(step, "worker_0")).ok());
    ASSERT_TRUE(storage_->remove(event_file_key(step, "worker_0")).ok());
  }
  put(2);
  const auto value = trial->tensor("w")->value({1});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code, Error::Code::not_found);
  EXPECT_THAT(value.error().message, HasSubstr("'w' at step 1"));
  EXPECT_THAT(value.error().message, HasSubstr("its files were removed"));
  const auto statistics = trial->tensor("w")->statistics({1});
  ASSERT_FALSE(statistics.ok());
  EXPECT_EQ(statistics.error().code, Error::Code::not_found);
  EXPECT_TRUE(trial->tensor("w")->value({2}).ok());
  const std::vector<Step> newest = {2};
  EXPECT_TRUE(trial->wait_for_steps(newest).ok());
  EXPECT_THAT(trial->damage(), IsEmpty());
  run_.put_end_marker();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial->damage(), IsEmpty());
}

TEST_F(DamageTest, ForgetsABrokenIndexFileThatIsRemoved) {
  run_.put(index_, "");
  const auto trial = open();
  ASSERT_EQ(trial->damage().size(), 1u);
  ASSERT_TRUE(storage_->remove(index_).ok());
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_THAT(trial->damage(), IsEmpty());
}

TEST_F(DamageTest, RefusesAnEventFileCutAtAnyByte) {
  const std::string whole = bytes_of(events_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    run_.put(events_, whole.substr(0, size));
    const auto value = value_at(1);
    ASSERT_FALSE(value.ok()) << size;
    EXPECT_EQ(value.error().code, Error::Code::corrupt) << size;
  }
  run_.put(events_, whole);
  EXPECT_TRUE(value_at(1).ok());
}

TEST_F(DamageTest, NeverTakesAFlippedBitForAnElement) {
  const std::string whole = bytes_of(events_);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    run_.put(events_, flipped);
    const auto value = value_at(1);
    if (!value.ok()) continue;
    // The bit is in the time, the step or the mode of the event.
    EXPECT_THAT(floats(*value), ElementsAre(1, 0)) << bit;
  }
}

TEST_F(DamageTest, SaysThatTheChecksumOfTheIndexIsNotMet) {
  std::string flipped = bytes_of(events_);
  const float one = 1;
  const std::size_t place = flipped.find(
      std::string(reinterpret_cast<const char*>(&one), sizeof(one)));
  ASSERT_NE(place, flipped.npos);
  flipped[place] ^= 1;
  run_.put(events_, flipped);
  const auto value = value_at(1);
  EXPECT_EQ(value.error().code, Error::Code::corrupt);
  EXPECT_THAT(
      value.error().message,
      HasSubstr("'w' at step 1: its value cannot be read: event file '" +
                events_ + "' is damaged: the checksum in the index"));
}

TEST_F(DamageTest, RefusesTheRecordOfAnotherTensor) {
  run_.put_step({{1, Mode::train, 1}, "worker_1", {{"v", {1, 0}}}});
  run_.put(events_, bytes_of(event_file_key(1, "worker_1")));
  EXPECT_THAT(value_at(1).error().message, HasSubstr("is of 'v'"));
}

TEST_F(DamageTest, ReadsTheRestOfARunWithACutIndexFile) {
  const std::string whole = bytes_of(index_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    run_.put(index_, whole.substr(0, size));
    const auto trial = open();
    EXPECT_THAT(trial->steps(), ElementsAre(0)) << size;
    const auto damage = trial->damage();
    ASSERT_EQ(damage.size(), 1u) << size;
    EXPECT_EQ(damage[0].key, index_);
  }
}

TEST_F(DamageTest, SurvivesAnyRandomDamageOfAnIndexFile) {
  const auto seed = static_cast<unsigned>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = bytes_of(index_);
  for (int round = 0; round < 2000; ++round) {
    std::string broken = whole;
    for (int i = 0; i < 3; ++i) {
      broken[random() % broken.size()] = static_cast<char>(random());
    }
    run_.put(index_, broken);
    const auto trial = open();
    ASSERT_THAT(trial->steps(), ::testing::Contains(0));
    for (const std::string& name : trial->tensor_names()) {
      Tensor tensor = *trial->tensor(name);
      for (Step step : tensor.steps()) {
        (void)tensor.value({step});
        (void)tensor.statistics({step});
      }
    }
  }
}

TEST_F(DamageTest, TakesAnIndexFileThatIsWholeLater) {
  const std::string whole = bytes_of(index_);
  run_.put(index_, "");
  put(2);
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2));
  run_.put(index_, whole);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial->damage(), IsEmpty());
}

TEST_F(DamageTest, TellsABrokenCollectionsFile) {
  run_.put(collections_file_key("worker_0"), "{\"collections\": ");
  const auto trial = open();
  ASSERT_EQ(trial->damage().size(), 1u);
  EXPECT_EQ(trial->damage()[0].key, collections_file_key("worker_0"));
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
}

TEST_F(DamageTest, DoesNotFollowAnEventFileOutOfTheRun) {
  run_.put(index_, R"({"meta": {"mode": "TRAIN", "mode_step": 1, )"
                   R"("event_file_name": "../../../etc/passwd"}, )"
                   R"("tensor_payload": [{"tensorname": "w", "start_idx": 0, )"
                   R"("length": 10}], "shape_payload": []})");
  EXPECT_EQ(value_at(1).error().code, Error::Code::io);
}

}  // namespace
}  // namespace smdebug
