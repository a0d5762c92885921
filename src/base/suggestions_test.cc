#include "base/suggestions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearestNames, PutsTheSmallestEditFirst) {
  const std::vector<std::string> names = {"losses", "biases", "weights"};
  EXPECT_THAT(nearest_names("wieghts", names, 1), ElementsAre("weights"));
  EXPECT_THAT(nearest_names("bias", names, 2), ElementsAre("biases", "losses"));
}

TEST(NearestNames, PutsNamesThatContainTheWantedOneBeforeAll) {
  const std::vector<std::string> names = {"fc1", "Net_FC2.weight"};
  EXPECT_THAT(nearest_names("fc2", names, 2),
              ElementsAre("Net_FC2.weight", "fc1"));
}

TEST(NearestNames, PutsTheWholeComponentOfAPathBeforeItsParts) {
  const std::vector<std::string> names = {"adam/dense_kernel_momentum:0",
                                          "dense/weights/dense/kernel:0"};
  EXPECT_THAT(nearest_names("kernel", names, 1),
              ElementsAre("dense/weights/dense/kernel:0"));
}

TEST(NearestNames, PutsNamesWithTheWordsOfTheWantedOneBeforeShortOnes) {
  const std::vector<std::string> names = {
      "dense/inputs", "dense/outputs", "dense/weights/sequential/dense/bias:0",
      "dense/weights/sequential/dense/kernel:0",
      "gradients/sequential/dense/kernelGrad"};
  for (const char* wanted : {"dense.kernel", "Dense/Kernel", "dens/kernel"}) {
    EXPECT_THAT(nearest_names(wanted, names, 2),
                testing::UnorderedElementsAre(names[3], names[4]))
        << wanted;
  }
  EXPECT_THAT(nearest_names("dense/kernel_grad", names, 1),
              ElementsAre(names[4]));
  EXPECT_THAT(nearest_names("dense.weight", names, 2),
              ElementsAre(names[2], names[3]));
  EXPECT_THAT(similar_names("dense.weight", names, 3),
              testing::Contains(names[3]));
  // Words in another order, or too short to tell.
  EXPECT_THAT(nearest_names("kernel.weights", names, 1),
              testing::Not(ElementsAre(names[3])));
  EXPECT_THAT(nearest_names("d.k", names, 1), ElementsAre(names[0]));
}

TEST(NearestNames, KeepsTheOrderOfEquals) {
  const std::vector<std::string> names = {"ab", "aa", "ac"};
  EXPECT_THAT(nearest_names("ax", names, 3), ElementsAre("ab", "aa", "ac"));
}

TEST(NearestNames, ReturnsNothingFromNothing) {
  EXPECT_THAT(nearest_names("a", {}, 3), IsEmpty());
  EXPECT_THAT(nearest_names("", std::vector<std::string>{"a"}, 0), IsEmpty());
}

TEST(SimilarText, OffersOnlyNamesThatTheUserMayHaveMeant) {
  const std::vector<std::string> names = {"Overfit", "LossNotDecreasing",
                                          "Overtraining", "DeadRelu"};
  EXPECT_EQ(similar_text("OverFitting", names),
            "; similar: 'Overfit', 'Overtraining'");
  EXPECT_EQ(similar_text("LossDecreasing", names),
            "; similar: 'LossNotDecreasing'");
  EXPECT_EQ(similar_text("over", names),
            "; similar: 'Overfit', 'Overtraining'");
  EXPECT_EQ(similar_text("dead_relu", names), "; similar: 'DeadRelu'");
  EXPECT_EQ(similar_text("Everything", names), "");
  EXPECT_EQ(similar_text("x", names), "");
  EXPECT_EQ(similar_text("", std::vector<std::string>{}), "");
}

TEST(QuotedList, QuotesEachName) {
  EXPECT_EQ(quoted_list(std::vector<std::string>{"a", "b c"}), "'a', 'b c'");
  EXPECT_EQ(quoted_list({}), "");
}

TEST(QuotedChoice, PutsOrBeforeTheLastName) {
  EXPECT_EQ(quoted_choice(std::vector<std::string>{"a", "b", "c"}),
            "'a', 'b' or 'c'");
  EXPECT_EQ(quoted_choice(std::vector<std::string>{"a"}), "'a'");
  EXPECT_EQ(quoted_choice({}), "");
}

TEST(MisspelledName, IsTheNameWithFewOtherLetters) {
  const std::vector<std::string> names = {"weights", "biases", "all", "loss"};
  EXPECT_EQ(misspelled_name("weigths", names), "weights");
  EXPECT_EQ(misspelled_name("Bias", names), "biases");
  EXPECT_EQ(misspelled_name("biasses", names), "biases");
  EXPECT_EQ(misspelled_name("mine", names), std::nullopt);
  EXPECT_EQ(misspelled_name("al", names), std::nullopt) << "too short to tell";
}

}  // namespace
}  // namespace smdebug
