// The losses are made by the formulas in the tests; noise comes from a seed
// that a failure prints.

#include "rules/measures/loss_trend.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using Kind = LossTrend::Kind;

// The answers of all checks, as if they came from a training.
std::vector<Kind> course(const std::function<double(Step)>& loss, Step steps,
                         LossTrend::Setting setting = {}, Step stride = 1) {
  LossTrend trend;
  std::vector<Kind> kinds;
  for (Step step = 0; step < steps; step += stride) {
    if (trend.add(step, loss(step))) kinds.push_back(trend.judge(setting).kind);
  }
  return kinds;
}

// Normal noise with this deviation.
class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {}
  double operator()(double deviation) {
    return std::normal_distribution<double>(0, deviation)(random_);
  }

 private:
  std::mt19937 random_;
};

TEST(LossTrend, AnswersAfter40Steps60And90AndLaterEvery200Losses) {
  LossTrend trend;
  std::vector<Step> checks;
  for (Step step = 0; step < 1200; ++step) {
    if (trend.add(step, 1)) checks.push_back(step + 1);
  }
  EXPECT_EQ(checks, (std::vector<Step>{40, 60, 90, 135, 202, 303, 454, 654, 854,
                                       1054}));
}

TEST(LossTrend, WaitsFor20LossesThatAreFarApart) {
  LossTrend trend;
  std::vector<Step> checks;
  for (Step step = 0; step < 400; step += 10) {
    if (trend.add(step, 1)) checks.push_back(step);
  }
  EXPECT_EQ(checks, (std::vector<Step>{190, 290}));
}

TEST(LossTrend, FallsWhereALossDecaysThroughItsNoise) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    const auto kinds = course(
        [&](Step step) {
          return 0.3 + 2 * std::exp(-double(step) / 60) + noise(0.1);
        },
        200);
    EXPECT_EQ(kinds.back(), Kind::falls) << seed;
    for (const Kind kind : kinds) {
      EXPECT_TRUE(kind == Kind::falls || kind == Kind::unknown) << seed;
    }
  }
}

TEST(LossTrend, GuessesOnAPlateauAtTheLossOfAGuess) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    const auto kinds =
        course([&](Step step) { return step < 10 ? 5.0 : 2.3 + noise(0.05); },
               1000, {.guess = 2.303});
    EXPECT_THAT(kinds, testing::Contains(Kind::guesses)) << seed;
  }
}

TEST(LossTrend, FallsThroughTheLossOfAGuess) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    // After 100 steps at the guess it learns, slowly.
    const auto slow = [&](Step step) {
      const double late = std::max(0.0, double(step) - 100);
      return (step < 10 ? 5.0 : 2.303 - 0.0004 * late) + noise(0.02);
    };
    EXPECT_THAT(course(slow, 1500, {.guess = 2.303}),
                testing::Not(testing::Contains(Kind::guesses)))
        << seed;
    EXPECT_THAT(course([&](Step) { return 2.0 + noise(0.3); }, 1000,
                       {.has_rivals = true, .guess = 2.0}),
                testing::Not(testing::Contains(Kind::guesses)))
        << seed;
  }
}

TEST(LossTrend, StaysFallenOnItsPlateau) {
  Noise noise(1);
  const auto kinds = course(
      [&](Step step) { return step < 10 ? 5.0 : 1 + noise(0.05); }, 3000);
  EXPECT_THAT(kinds, testing::Each(Kind::falls));
}

TEST(LossTrend, StandsStillWhereOnlyNoiseMovesIt) {
  int found = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Noise noise(seed);
    const auto kinds = course([&](Step) { return 2.303 + noise(0.03); }, 300);
    found += std::ranges::count(kinds, Kind::still) > 0;
    EXPECT_EQ(std::ranges::count(kinds, Kind::falls), 0) << seed;
  }
  EXPECT_GE(found, 38);
}

TEST(LossTrend, OscillatesIfItIsHighAndLowByTurns) {
  int found = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    LossTrend trend;
    for (Step step = 0; step < 90; ++step) {
      trend.add(step, 2 + (step % 2 == 0 ? 0.8 : -0.8) + noise(0.2));
    }
    const auto answer = trend.judge({});
    if (answer.kind != Kind::oscillates) continue;  // its noise seems to fall
    ++found;
    EXPECT_NEAR(answer.least, 1.2, 0.25) << "seed " << seed;
    EXPECT_NEAR(answer.most, 2.8, 0.25) << "seed " << seed;
  }
  EXPECT_GE(found, 12);
}

TEST(LossTrend, DoesNotOscillateIfItFallsOrOnlyNoiseMovesIt) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Noise noise(seed);
    const auto falling = course(
        [&](Step step) {
          return (2 + (step % 2 == 0 ? 0.8 : -0.8)) *
                     std::exp(-2e-4 * double(step)) +
                 noise(0.001);
        },
        400);
    EXPECT_THAT(falling, testing::Not(testing::Contains(Kind::oscillates)));
    const auto noisy =
        course([&](Step) { return std::abs(2 + noise(1)); }, 1000);
    EXPECT_THAT(noisy, testing::Not(testing::Contains(Kind::oscillates)))
        << "seed " << seed;
  }
}

TEST(LossTrend, StandsStillWhereItsFallIsCertainButNegligible) {
  const auto kinds =
      course([](Step step) { return 2.3 - 1e-6 * double(step); }, 120);
  EXPECT_EQ(kinds.back(), Kind::still);
}

TEST(LossTrend, StandsStillAfterItSettledOnTheLossOfAGuess) {
  Noise noise(2);
  const auto kinds = course(
      [&](Step step) {
        return 1.61 + 0.04 * std::exp(-double(step) / 25) + noise(0.03);
      },
      320);
  EXPECT_THAT(kinds, testing::Contains(Kind::still));
}

TEST(LossTrend, IsConstantOnlyIfEqualToTheLastBit) {
  EXPECT_THAT(course([](Step) { return 0.7; }, 60),
              testing::Each(Kind::constant));
  EXPECT_THAT(course([](Step) { return -0.7; }, 60),
              testing::Each(Kind::constant));
  EXPECT_EQ(course([](Step step) { return std::nextafter(0.7, step % 2); }, 100)
                .back(),
            Kind::still);
}

TEST(LossTrend, MayBeZeroUntilAnAgentIsRewarded) {
  EXPECT_THAT(course([](Step) { return 0; }, 60, {.has_repeated_calls = true}),
              testing::Each(Kind::not_judged));
  EXPECT_THAT(course([](Step) { return 0; }, 60),
              testing::Each(Kind::constant));
}

TEST(LossTrend, IsUnknownInNoiseThatCouldHideAFall) {
  Noise noise(3);
  LossTrend trend;
  for (Step step = 0; step < 60; ++step) trend.add(step, 1 + noise(0.3));
  const LossTrend::Answer answer = trend.judge({});
  EXPECT_EQ(answer.kind, Kind::unknown);
  // (2.58 * 1.2533 * 0.3)^2 * 2 / 0.05^2 losses in a third: about 2260 in all.
  EXPECT_GT(answer.needed, 900);
  EXPECT_LT(answer.needed, 6000);
}

TEST(LossTrend, RisesWhereItGrows) {
  EXPECT_EQ(course([](Step step) { return 1 + double(step) / 50; }, 60).back(),
            Kind::rises);
  EXPECT_EQ(
      course([](Step step) { return std::pow(1.5, double(step)); }, 60).front(),
      Kind::rises);
}

TEST(LossTrend, LeavesARiseToTrainingsThatCallAModelAgain) {
  const auto growing = [](Step step) { return 1 + double(step) / 50; };
  EXPECT_THAT(course(growing, 200, {.has_repeated_calls = true}),
              testing::Not(testing::Contains(Kind::rises)));
  EXPECT_THAT(course(growing, 200, {.has_rivals = true}),
              testing::Each(Kind::not_judged));
  const auto exploding = [](Step step) { return std::pow(1.5, double(step)); };
  EXPECT_EQ(course(exploding, 60, {.has_repeated_calls = true}).front(),
            Kind::rises);
}

TEST(LossTrend, ReturnsWhereItFellBefore) {
  Noise noise(5);
  const auto kinds = course(
      [&](Step step) {
        const bool is_sick = step >= 220;
        return (is_sick ? 2.4 : 2.3 * std::exp(-double(step) / 50) + 0.1) +
               noise(0.02);
      },
      320);
  EXPECT_EQ(kinds.front(), Kind::falls);
  EXPECT_EQ(kinds.back(), Kind::returned);
}

TEST(LossTrend, DoesNotTakeANewTaskForAReturn) {
  Noise noise(6);
  const auto kinds = course(
      [&](Step step) {
        return 0.2 + 2.1 * std::exp(-double(step % 120) / 20) + noise(0.05);
      },
      480);
  EXPECT_THAT(kinds, testing::Each(Kind::falls));
}

TEST(LossTrend, LeapsWhereTheFirstUpdatesDestroyTheWeights) {
  Noise noise(7);
  const auto kinds = course(
      [&](Step step) {
        return 2.3 + (step > 0 && step < 12 ? 40.0 : 0.05) + noise(0.02);
      },
      60);
  EXPECT_THAT(kinds, testing::Contains(Kind::leapt));
}

TEST(LossTrend, HasLeaptWhereItSwingsFarAboveTheFirstLoss) {
  const auto kinds = course(
      [](Step step) {
        return step == 0 ? 1.6 : 20 + 300 * std::abs(std::sin(double(step)));
      },
      60);
  EXPECT_THAT(kinds, testing::Each(Kind::leapt));
}

TEST(LossTrend, DoesNotJudgeLossesBelowZero) {
  Noise noise(8);
  EXPECT_THAT(course([&](Step) { return noise(0.1); }, 400),
              testing::Each(Kind::not_judged));
}

TEST(LossTrend, PlungesWhereALossHasNoLowerBound) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    // Outputs that grow with the steps, squared, with the wrong sign.
    const auto square = [&](Step step) {
      const double output = 1 + std::pow(double(step) / 10, 2);
      return -0.9 * output * output * (1 + noise(0.1));
    };
    EXPECT_EQ(course(square, 400).back(), Kind::plunges) << seed;
    const auto doubling = [&](Step step) {
      return 177 - std::pow(2.0, double(step) / 5) * (1 + noise(0.1));
    };
    EXPECT_EQ(course(doubling, 400).back(), Kind::plunges) << seed;
    EXPECT_EQ(course(doubling, 400, {.has_rivals = true}).back(), Kind::plunges)
        << seed;
  }
}

// Log likelihoods, and returns of agents.
TEST(LossTrend, DoesNotPlungeWhereItComesToRestBelowZero) {
  const auto never = testing::Not(testing::Contains(Kind::plunges));
  for (unsigned seed = 0; seed < 20; ++seed) {
    Noise noise(seed);
    const auto rest = [](Step step, double time) {
      return 1 - std::exp(-double(step) / time);
    };
    const auto likelihood = [&](Step step) {
      return 500 - 6000 * rest(step, 80) + noise(20);
    };
    EXPECT_THAT(course(likelihood, 1000), never) << seed;
    // That begins near zero.
    const auto value = [&](Step step) {
      return -1500 * rest(step, 200) + noise(0.1);
    };
    EXPECT_THAT(course(value, 2000), never) << seed;
    // That turns up before it comes to rest.
    const auto slow = [&](Step step) {
      return -900 / (1 + std::exp(5 - double(step) / 100)) + noise(0.1);
    };
    EXPECT_THAT(course(slow, 2000), never) << seed;
    EXPECT_THAT(course([&](Step) { return noise(1) - 0.01; }, 1000), never)
        << seed;
    // A critic.
    const auto critic = [&](Step step) {
      return -20 * std::sqrt(double(step)) + noise(5);
    };
    EXPECT_THAT(course(critic, 2000, {.has_rivals = true}), never) << seed;
  }
}

TEST(LossTrend, LeapsWithFewLossesThatStayHigh) {
  const auto boosted = [](Step step) { return step == 0 ? 6.656 : 20.93; };
  const auto last = [](const std::function<double(Step)>& loss,
                       LossTrend::Setting setting) {
    LossTrend trend;
    for (Step step = 0; step <= 110; step += 10) trend.add(step, loss(step));
    return trend.judge(setting).kind;
  };
  EXPECT_EQ(last(boosted, {}), Kind::leapt);
  EXPECT_EQ(last(boosted, {.has_rivals = true}), Kind::unknown);
  // It falls again.
  EXPECT_EQ(
      last([](Step step) { return step == 0 ? 1 : 20 - double(step) / 8; }, {}),
      Kind::unknown);
  EXPECT_EQ(last([](Step step) { return step == 0 ? 1 : 2.5; }, {}),
            Kind::unknown);
  Noise noise(1);
  EXPECT_EQ(last([&](Step step) { return step == 0 ? 1 : 9 + noise(4); }, {}),
            Kind::unknown);
}

TEST(LossTrend, JudgesALongTrainingLikeAShortOne) {
  Noise noise(9);
  LossTrend trend;
  std::vector<Kind> kinds;
  for (Step step = 0; step < 100'000; ++step) {
    const double loss = 0.5 + 2 * std::exp(-double(step) / 20'000);
    if (trend.add(step, loss + noise(0.05))) {
      kinds.push_back(trend.judge({}).kind);
    }
  }
  EXPECT_EQ(kinds.back(), Kind::falls);
  EXPECT_EQ(trend.steps(), 100'000);
}

// Of a training whose rounds each remove a share of what is left of the errors.
std::optional<LossTrend::Answer> crawl_of(
    const std::function<double(Step)>& loss, Step steps, Step stride = 1) {
  LossTrend trend;
  for (Step step = 0; step < steps; step += stride) trend.add(step, loss(step));
  return trend.crawl();
}

TEST(LossTrend, CrawlsWhereEachRoundRemovesATinyShare) {
  const auto loss = [](Step step) { return 9e4 * std::pow(0.999, step + 1); };
  const auto answer = crawl_of(loss, 100);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::crawls);
  // Of windows of 10 losses, the middle is between two.
  EXPECT_NEAR(answer->before, 9e4 * std::pow(0.999, 5.5), 1);
  EXPECT_NEAR(answer->least, 9e4 * std::pow(0.999, 50.5), 1);
  EXPECT_NEAR(answer->now, 9e4 * std::pow(0.999, 95.5), 1);
  EXPECT_TRUE(crawl_of(loss, 100, 5)) << "every fifth round";
  EXPECT_FALSE(crawl_of(loss, 49)) << "too few rounds to tell";
  EXPECT_FALSE(crawl_of(loss, 300)) << "fell by a quarter";
}

TEST(LossTrend, DoesNotCrawlWhereItSlowsDownSpeedsUpOrStands) {
  EXPECT_FALSE(crawl_of(
      [](Step step) { return 0.9 + 0.1 * std::pow(0.98, step); }, 100));
  EXPECT_FALSE(crawl_of(
      [](Step step) { return 1 - 0.1 * std::pow(step / 100.0, 2); }, 100));
  EXPECT_FALSE(crawl_of([](Step) { return 1.0; }, 100));
  EXPECT_FALSE(crawl_of([](Step step) { return 1 + 1e-3 * step; }, 100));
  for (unsigned seed = 0; seed < 200; ++seed) {
    Noise noise(seed);
    EXPECT_FALSE(crawl_of([&](Step) { return 1 + noise(0.05); }, 100)) << seed;
  }
}

TEST(LossTrend, TellsALossAtRestFromOneThatIsOnlyStill) {
  const auto last = [](const std::function<double(Step)>& loss) {
    LossTrend trend;
    for (Step step = 0; step < 90; ++step) trend.add(step, loss(step));
    return trend.judge({});
  };
  const auto at_rest = last([](Step step) { return step < 10 ? 1.01 : 1.0; });
  EXPECT_EQ(at_rest.kind, Kind::still);
  EXPECT_TRUE(at_rest.is_at_rest);
  const auto still = last([](Step step) { return 1 - 1e-6 * step; });
  EXPECT_EQ(still.kind, Kind::still);
  EXPECT_FALSE(still.is_at_rest);
}

}  // namespace
}  // namespace smdebug
