// Tensors and numbers that the program saves by name, due or not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/file_names.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

using SessionSavedTensorsTest = SessionFixture;

TEST_F(SessionSavedTensorsTest, KeepsAScalarUnderItsOwnStep) {
  every_step(10);
  auto session = open();
  session->save_scalar("early", 1);
  for (int step = 0; step < 5; ++step) {
    session->begin_step();
    if (step == 3) session->save_scalar("count", 3.5);
  }
  ASSERT_TRUE(session->close().ok());
  ASSERT_THAT(index(3).tensors, SizeIs(1));
  EXPECT_EQ(index(3).tensors[0].name, "scalar/count");
  EXPECT_EQ(index(0).tensors[0].name, "scalar/early");
  EXPECT_FALSE(is_there(index_file_key(4, "worker_0")));
}

TEST_F(SessionSavedTensorsTest, SaysOnceThatANameWasSavedTwiceInAStep) {
  auto session = open();
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    put(*session, "w", {1});
    if (step == 0) continue;
    put(*session, "w", {2});
    put(*session, "v", {3});
    put(*session, "v", {4});
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(session->status().replaced_tensors, 4u);
  const std::string said = log_.text();
  EXPECT_THAT(said, HasSubstr("step 1: 'w' was saved more than once"));
  EXPECT_EQ(said.find("more than once"), said.rfind("more than once")) << said;
}

TEST_F(SessionSavedTensorsTest,
       KeepsASavedTensorThatWaitedWhenItIsClosedWhilePaused) {
  auto session = open();
  session->begin_step();
  session->end_step();
  const std::vector<std::string> collections = {"mine"};
  const std::vector<float> values = {1, 2};
  const std::vector<std::int64_t> shape = {2};
  ASSERT_TRUE(session->save_tensor("kept", view(values, shape), collections));
  session->pause();
  ASSERT_TRUE(session->save_tensor("lost", view(values, shape), collections));
  ASSERT_TRUE(session->close());
  const auto all = records(1);
  EXPECT_EQ(all.count("kept"), 1u);
  EXPECT_EQ(all.count("lost"), 0u);
}

TEST_F(SessionSavedTensorsTest, RefusesToKeepASavedTensorThatHasNoMemory) {
  auto session = open();
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::string> collections = {"mine"};
  ASSERT_TRUE(session->save_tensor(
      "nowhere", {DType::float32, nullptr, shape, {}}, collections));
  session->begin_step();
  ASSERT_TRUE(session->close());
  EXPECT_EQ(session->status().skipped.count("nowhere"), 1u);
}

}  // namespace
}  // namespace smdebug
