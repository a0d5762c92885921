#include "net/uri.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Uri, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(uri_encoded("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(uri_encoded("a b/c+é"), "a%20b%2Fc%2B%C3%A9");
  EXPECT_EQ(uri_encoded("/a b/c", true), "/a%20b/c");
}

TEST(Uri, JoinsTheFieldsOfAForm) {
  EXPECT_EQ(form_encoded({{"Action", "Publish"}, {"Message", "a&b=c"}}),
            "Action=Publish&Message=a%26b%3Dc");
  EXPECT_EQ(form_encoded({}), "");
}

}  // namespace
}  // namespace smdebug
