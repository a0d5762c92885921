#include "net/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

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

TEST(Xml, ListsTheChildrenOfEachElementOfAName) {
  constexpr std::string_view kAnswer =
      "<List xmlns=\"http://s3.example.com/\"><Name>b</Name>"
      "<Contents><Key>a&amp;b</Key><Size>3</Size></Contents>"
      "<Contents><Key>c</Key></Contents></List>";
  EXPECT_THAT(
      find_xml_records(kAnswer, "List", "Contents"),
      Optional(ElementsAre(ElementsAre(Pair("Key", "a&b"), Pair("Size", "3")),
                           ElementsAre(Pair("Key", "c")))));
  EXPECT_THAT(find_xml_records(kAnswer, "List", "Prefix"), Optional(IsEmpty()));
  EXPECT_EQ(find_xml_records(kAnswer, "Error", "Contents"), std::nullopt);
  EXPECT_EQ(find_xml_records("<List><Contents>", "List", "Contents"),
            std::nullopt);
}

}  // namespace

}  // namespace smdebug
