#include "command_line.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/monitor/monitor_result.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/capture_request.h"

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

Result<Command> parse(const std::vector<std::string>& args) {
  return parse_command_line(args);
}

TEST(CommandLine, GivesEachSetToTheRuleBeforeIt) {
  const auto command =
      parse({"check", "r", "--rule", "A", "--set", "x=1", "--set", "y=a=b",
             "--rule", "B", "--rule", "A", "--set", "x = 2"});
  ASSERT_TRUE(command.ok()) << command.error().message;
  const auto& rules = std::get<CheckCommand>(*command).rules;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].rule, "A");
  EXPECT_THAT(rules[0].given, ElementsAre(Pair("x", "1"), Pair("y", "a=b")));
  EXPECT_EQ(rules[1].rule, "B");
  EXPECT_THAT(rules[1].given, IsEmpty());
  EXPECT_THAT(rules[2].given, ElementsAre(Pair("x", "2")));
}

TEST(CommandLine, LeavesWhatFollowsTheDashesToTheTrainer) {
  const auto command = parse({"run", "--stop", "--", "python", "train.py",
                              "--rule", "x", "--", "--json", "-h"});
  ASSERT_TRUE(command.ok()) << command.error().message;
  const auto& run = std::get<RunCommand>(*command);
  EXPECT_THAT(run.trainer, ElementsAre("python", "train.py", "--rule", "x",
                                       "--", "--json", "-h"));
  EXPECT_TRUE(run.stop);
  EXPECT_FALSE(run.json);
  EXPECT_THAT(run.rules, IsEmpty());
}

TEST(CommandLine, TakesSeveralActions) {
  const std::vector<ActionRequest> expected = {
      {ActionKind::stop, ""}, {ActionKind::webhook, "http://h/?a=b"}};
  const auto actions_of = [](const std::vector<std::string>& args) {
    const auto command = parse(args);
    EXPECT_TRUE(command.ok());
    if (const auto* run = std::get_if<RunCommand>(&*command)) {
      return run->actions;
    }
    if (const auto* watch = std::get_if<WatchCommand>(&*command)) {
      return watch->actions;
    }
    return std::get<CheckCommand>(*command).actions;
  };
  const std::vector<std::string> options = {"--action", "stop", "--action",
                                            "webhook=http://h/?a=b"};
  for (const std::string name : {"run", "watch", "check"}) {
    std::vector<std::string> args = {name};
    if (name != "run") args.push_back("r");
    args.insert(args.end(), options.begin(), options.end());
    if (name == "run") args.insert(args.end(), {"--", "x"});
    EXPECT_EQ(actions_of(args), expected) << name;
  }
}

TEST(CommandLine, TakesSeveralRuns) {
  const auto command = parse({"check", "a", "b", "--json", "c"});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_THAT(std::get<CheckCommand>(*command).runs,
              ElementsAre("a", "b", "c"));
}

TEST(CommandLine, RefusesWhatMakesNoSense) {
  const std::pair<std::vector<std::string>, const char*> kBad[] = {
      {{}, "the command is missing; use one of: "},
      {{"fly"}, "fly"},
      {{"run", "python", "train.py"}, "after '--'"},
      {{"watch", "r", "--timeout", "abc"}, "'abc' should be a number of sec"},
      {{"watch", "r", "--timeout", "-1"}, "'-1' should be a number of sec"},
      {{"run", "--"}, "after '--'"},
      {{"run", "--set", "a=b", "--", "x"}, "must follow the --rule"},
      {{"check", "r", "--rule", "A", "--set", "ab"}, "key=value"},
      {{"check", "r", "--rule", "A", "--set", "a=1", "--set", "a=2"},
       "--set: 'a' of rule 'A' is given twice, as '1' and '2'; give only one"},
      {{"run", "--rule", "VanishingGradient", "DeadRelu", "--", "x"},
       "unexpected argument 'DeadRelu'; repeat --rule for each rule"},
      {{"watch", "r", "--rule", "VanishingGradient", "DeadRelu"},
       "unexpected argument 'DeadRelu'; repeat --rule for each rule"},
      {{"run", "--rule", "DeadRelu", "threshold=3", "--", "x"},
       "unexpected argument 'threshold=3'; use --set threshold=3 behind its"},
      {{"check"}, "check: RUN is missing; use: smdebug check RUN..."},
      {{"show"}, "'smdebug ls' lists the runs"},
      {{"tensor", "r"}, "NAME is missing; use: smdebug tensor RUN NAME"},
      {{"tensor", "r"}, "'smdebug show RUN' lists the names"},
      {{"rm", "--all"}, "rm: unknown option '--all'; the options are "},
      {{"explain", "r", "--al"}, "explain: unknown option '--al'"},
      {{"tensor", "r", "t", "5", "6"},
       "'6'; use: smdebug tensor RUN NAME [STEP] [OPTION]"},
      {{"show", "--", "r"}, "'--' is only allowed with 'run'; omit it"},
      {{"check", "r", "--quiet", "--verbose"}, "give only one of them"},
      {{"check", "r", "--action", "call=5"}, "webhook=URL"},
      {{"watch", "r", "--action", "email=ann"}, "such as ann@example.com"},
      {{"show", "r", "--", "x"}, "'--'"},
      {{"tensor", "r", "t", "--step", "many"}, "many"},
      {{"tensor", "r", "t", "--mode", "sleep"}, "TRAIN, EVAL"},
  };
  for (const auto& [args, words] : kBad) {
    const auto command = parse(args);
    ASSERT_FALSE(command.ok()) << words;
    EXPECT_EQ(command.error().code, Error::Code::invalid_argument);
    EXPECT_THAT(command.error().message, HasSubstr(words));
    EXPECT_EQ(smdebug(args).code, 2);
  }
}

TEST(CommandLine, RefusesAnOptionBeforeTheCommand) {
  const std::pair<std::vector<std::string>, const char*> kBad[] = {
      {{"-v"}, "unknown option '-v'; before a command, the options are --help"},
      {{"--foo", "ls"}, "unknown option '--foo'; before a command"},
      {{"--json", "ls", "r"}, "'--json' must follow the command: smdebug ls "},
      {{"--rule=A", "check", "r"},
       "'--rule' must follow the command: smdebug "},
      {{"--json", "rm", "r"}, "unknown option '--json'; before a command"},
      {{"--version=2"}, "unknown option '--version'"},
      {{"--quiet", "run", "--", "x"}, "'--quiet' must follow the command: "},
  };
  for (const auto& [args, words] : kBad) {
    const Spoken spoken = smdebug(args);
    EXPECT_EQ(spoken.code, 2);
    EXPECT_THAT(spoken.err,
                AllOf(HasSubstr(words), HasSubstr("see 'smdebug --help'")));
  }
  EXPECT_EQ(smdebug({"-h"}).code, 0);
  EXPECT_EQ(smdebug({"--help", "ls"}).code, 0);
}

TEST(CommandLine, NamesTheFrameworksWhoseModelIsShown) {
  EXPECT_THAT(smdebug({"show", "--help"}).out,
              HasSubstr("(PyTorch, Keras and MXNet)"));
}

TEST(CommandLine, NeverPrintsTheSecretOfAMistypedAction) {
  const std::vector<std::string> kBad[] = {
      {"run", "--action", "webhook=htps://h/TOKEN", "--", "true"},
      {"run", "--actoin", "webhook=https://h/TOKEN", "--", "true"},
      {"watch", "r", "--action=webhok=https://h/TOKEN"},
      {"check", "r", "--webhook=https://h/TOKEN"},
      {"https://h/TOKEN"},
      {"--action", "webhook=https://h/TOKEN", "run", "--", "true"},
      {"--webhook:https://h/TOKEN", "run", "--", "true"},
  };
  for (const auto& args : kBad) {
    const Spoken spoken = smdebug(args);
    EXPECT_EQ(spoken.code, 2);
    EXPECT_THAT(spoken.err, Not(HasSubstr("TOKEN")));
  }
}

TEST(CommandLine, EscapesTheUsersArguments) {
  const std::string hostile = "a\x1b[2J\x07";
  const std::vector<std::string> kBad[] = {
      {hostile},
      {"run", hostile, "--", "true"},
      {"watch", "r", "--timeout", hostile},
      {"check", "r", "--rule", hostile},
      {"rules", hostile},
      {"show", "/nowhere/" + hostile},
      {"explain", "/nowhere", hostile, "--mode", hostile},
      {"tensor", "/nowhere", hostile, "--step", hostile},
  };
  for (const auto& args : kBad) {
    const Spoken spoken = smdebug(args);
    EXPECT_NE(spoken.code, 0);
    EXPECT_EQ((spoken.out + spoken.err).find('\x1b'), std::string::npos)
        << args.front();
  }
}

TEST(CommandLine, ExplainsDefaultsIntervalAndExitCodesOfRun) {
  const std::string help = smdebug({"run", "--help"}).out;
  for (const RuleRequest& rule : default_rules())
    EXPECT_THAT(help, HasSubstr(rule.rule));
  EXPECT_THAT(
      help, HasSubstr(fmt::format(
                "The first {} steps of each mode and every {}th step are",
                CaptureRequest().first_steps, CaptureRequest().save_interval)));
  EXPECT_THAT(help, HasSubstr("./smdebug-runs/<script>-<time>"));
  for (const auto& [code, meaning] :
       {std::pair(kExitRuleFired, "a rule fired"),
        std::pair(kExitError, "nothing could be recorded"),
        std::pair(kExitUsage, "wrong"),
        std::pair(kExitNothingFound, "if no rule fired")}) {
    EXPECT_THAT(help, HasSubstr(std::to_string(code) + " "));
    EXPECT_THAT(help, HasSubstr(meaning));
  }
}

TEST(CommandLine, TellsTheExitCodesOfEachCommandAndNoOthers) {
  for (const std::string command : {"show", "tensor", "explain", "report", "ls",
                                    "rm", "rules", "watch", "check", "run"}) {
    const std::string help = smdebug({command, "--help"}).out;
    const bool judges =
        command == "watch" || command == "check" || command == "run";
    EXPECT_THAT(help, HasSubstr("Exit codes: ")) << command;
    EXPECT_EQ(help.find("a rule fired") != help.npos, judges) << command;
    EXPECT_EQ(help.find("'run'") != help.npos, false) << command;
  }
  EXPECT_THAT(smdebug({"run", "--help"}).out,
              HasSubstr("Usage: smdebug run [OPTIONS] -- COMMAND "
                        "[ARGUMENT]...\n"));
}

TEST(CommandLine, TellsWhatThereIs) {
  const Spoken help = smdebug({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* name :
       {"run", "watch", "check", "show", "tensor", "ls", "rm", "rules"}) {
    EXPECT_THAT(help.out, HasSubstr(name));
  }
  EXPECT_THAT(smdebug({"check", "--help"}).out, HasSubstr("--rule"));
  EXPECT_THAT(smdebug({"--version"}).out,
              HasSubstr("smdebug 2.0.0 (smdebug-ng"));
}

}  // namespace
}  // namespace smdebug
