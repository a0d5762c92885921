#include "net/hmac.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

// FIPS 180-2, appendix B.1.
TEST(Hmac, HashesAsPublished) {
  EXPECT_EQ(hex_text(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_text(sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// FIPS 180-1, appendix A.
TEST(Hmac, NamesFilesAsPublished) {
  EXPECT_EQ(hex_text(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

// RFC 1321, appendix A.5.
TEST(Hmac, FindsDamageAsPublished) {
  EXPECT_EQ(hex_text(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, SignsAsPublished) {
  EXPECT_EQ(hex_text(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex_text(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_text(hmac_sha256(
                std::string(131, '\xaa'),
                "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace smdebug
