#include "net/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::Eq;
using testing::Optional;

TEST(Xml, FindsTheTextOfAnElementAtAnyDepth) {
  const char* const kAnswer =
      "<CreateTopicResponse xmlns=\"http://sns.example.com/\">"
      "<CreateTopicResult><TopicArn>arn:aws:sns:a&amp;b</TopicArn>"
      "</CreateTopicResult></CreateTopicResponse>";
  EXPECT_THAT(find_xml_text(kAnswer, "TopicArn"),
              Optional(Eq("arn:aws:sns:a&b")));
  EXPECT_EQ(find_xml_text(kAnswer, "MessageId"), std::nullopt);
}

TEST(Xml, FindsNothingInWhatIsNoXml) {
  EXPECT_EQ(find_xml_text("{\"TopicArn\": 1}", "TopicArn"), std::nullopt);
  EXPECT_EQ(find_xml_text("<a><TopicArn>x</b>", "TopicArn"), std::nullopt);
  EXPECT_EQ(find_xml_text("", "TopicArn"), std::nullopt);
}

}  // namespace
}  // namespace smdebug
