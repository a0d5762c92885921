// A session of a hand-written training loop.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"
#include "smdebug/core/view.h"

#include "capture/session_fixture_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::UnorderedElementsAre;

class PlainSessionTest : public SessionFixture {
 protected:
  // No framework is named.
  std::unique_ptr<Session> open_plain(std::vector<std::string> collections) {
    config_.save_all = false;
    config_.include_collections = std::move(collections);
    SessionOptions options;
    options.config = config_;
    options.storage = storage_;
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  // The tensors that are saved if the collections named are.
  std::map<std::string, std::vector<float>> saved(
      std::vector<std::string> collections) {
    auto session = open_plain(std::move(collections));
    const float number = 1;
    session->begin_step();
    session->parameter("Net", "fc.weight").put(smdebug::view(number));
    session->parameter("Net", "W1").put(smdebug::view(number));
    session->parameter("Net", "fc.bias").put(smdebug::view(number));
    session->gradient("Net", "fc.weight").put(smdebug::view(number));
    session->gradient("Net", "W1").put(smdebug::view(number));
    session->tensor("train_loss").put(smdebug::view(number));
    session->tensor("activations").put(smdebug::view(number));
    session->tensor("mine", {"metrics"}).put(smdebug::view(number));
    EXPECT_TRUE(session->close().ok());
    return records(0);
  }
};

TEST_F(PlainSessionTest, SavesLossesWithoutConfiguration) {
  EXPECT_THAT(saved({}), ElementsAre(Key("train_loss")));
}

TEST_F(PlainSessionTest, PutsParametersOfAnyNameIntoWeightsAndBiases) {
  EXPECT_THAT(saved({"weights"}),
              UnorderedElementsAre(Key("train_loss"), Key("Net_fc.weight"),
                                   Key("Net_W1")));
}

TEST_F(PlainSessionTest, PutsBiasesIntoBiases) {
  EXPECT_THAT(saved({"biases"}),
              UnorderedElementsAre(Key("train_loss"), Key("Net_fc.bias")));
}

TEST_F(PlainSessionTest, PutsGradientsIntoGradients) {
  EXPECT_THAT(
      saved({"gradients"}),
      UnorderedElementsAre(Key("train_loss"), Key("gradient/Net_fc.weight"),
                           Key("gradient/Net_W1")));
}

TEST_F(PlainSessionTest, TakesCollectionsInBraces) {
  EXPECT_THAT(saved({"metrics"}),
              UnorderedElementsAre(Key("train_loss"), Key("mine")));
}

TEST_F(PlainSessionTest, LeavesTheNamesOfOtherFrameworksToTheirPatterns) {
  config_.save_all = false;
  config_.include_collections = {"weights"};
  auto session = open();
  session->begin_step();
  session->parameter("Net", "W1").put(smdebug::view(1.0f));
  session->parameter("Net", "fc.weight").put(smdebug::view(1.0f));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), ElementsAre(Key("Net_fc.weight")));
}

TEST_F(PlainSessionTest, PutsParametersOfOtherFrameworksByRoleIfToldTo) {
  config_.save_all = false;
  config_.include_collections = {"weights"};
  config_.parameters_by_role = true;
  auto session = open();
  session->begin_step();
  session->parameter("Net", "pos_embed").put(smdebug::view(1.0f));
  session->parameter("Net", "in_proj_bias").put(smdebug::view(1.0f));
  session->tensor("pos_embed").put(smdebug::view(1.0f));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), ElementsAre(Key("Net_pos_embed")));
}

TEST_F(PlainSessionTest, SkipsAViewThatDoesNotFitItsShapeWithOneMessage) {
  auto session = open_plain({"all"});
  const std::vector<float> six(6);
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->tensor("wrong").put(smdebug::view(six, {2, 2}));
    session->tensor("right").put(smdebug::view(six, {2, 3}));
    EXPECT_TRUE(session->save_tensor("saved", smdebug::view(six, {-6})).ok());
  }
  EXPECT_THAT(session->status().skipped,
              ElementsAre(testing::Pair("saved", HasSubstr("fit its shape")),
                          testing::Pair("wrong", HasSubstr("fit its shape"))));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(2), ElementsAre(Key("right")));
}

}  // namespace
}  // namespace smdebug
