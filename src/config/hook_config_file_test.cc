#include "smdebug/config/hook_config_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "smdebug/config/plan.h"

#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Result<HookConfigFile> parse(std::string_view text) {
  return parse_hook_config(text, "debughookconfig.json", pytorch_framework(),
                           {});
}

// A file with these HookParameters.
Result<HookConfigFile> parse_parameters(std::string_view parameters) {
  return parse(fmt::format(R"({{"HookParameters": {}}})", parameters));
}

// A file with one collection of these CollectionParameters.
Result<HookConfigFile> parse_collection(std::string_view parameters,
                                        std::string_view name = "mine") {
  return parse(
      fmt::format(R"({{"CollectionConfigurations": [{{"CollectionName": "{}",)"
                  R"("CollectionParameters": {}}}]}})",
                  name, parameters));
}

HookConfig config_of(const Result<HookConfigFile>& file) {
  EXPECT_THAT(file, IsOk());
  if (!file) return {};
  EXPECT_THAT(file->warnings, IsEmpty());
  return file->config;
}

Collection first_collection(const Result<HookConfigFile>& file) {
  const HookConfig config = config_of(file);
  EXPECT_FALSE(config.collections.empty());
  return config.collections.empty() ? Collection() : config.collections[0];
}

SaveConfigMode of_mode(const std::optional<SaveConfig>& config, Mode mode) {
  EXPECT_TRUE(config && config->mode(mode));
  return config.value_or(SaveConfig()).mode(mode).value_or(SaveConfigMode());
}

ReductionConfig reductions(std::string_view ops) {
  return {.ops = *ReductionConfig::parse_ops(ops)};
}

// --- what is accepted ---

TEST(HookConfigFile, OfNothingIsTheDefaults) {
  for (const char* text :
       {"{}", R"({"HookParameters": null, "CollectionConfigurations": null})",
        R"({"S3OutputPath": "s3://b/p", "S3Path": "x", "LocalPath": null,
            "HookParameters": {}, "CollectionConfigurations": []})"}) {
    const HookConfig config = config_of(parse(text));
    EXPECT_EQ(config.out_dir, "/opt/ml/output/tensors");
    EXPECT_FALSE(config.save_config || config.reduction_config ||
                 config.tensorboard_dir || config.save_all || config.dry_run);
    EXPECT_EQ(config.include_workers, IncludeWorkers::one);
    EXPECT_THAT(config.collections, IsEmpty());
    EXPECT_THAT(config.include_collections, IsEmpty());
  }
}

TEST(HookConfigFile, TellsAdaptersWhatAStepAndAGradientIs) {
  const auto file =
      parse_parameters(R"({"step_on": "optimizer", "gradients": "final"})");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->config.step_on, "optimizer");
  EXPECT_EQ(file->config.gradients, "final");
  EXPECT_THAT(file->warnings, IsEmpty());
  const auto silent = parse_parameters("{}");
  ASSERT_THAT(silent, IsOk());
  EXPECT_EQ(silent->config.step_on, std::nullopt);
  EXPECT_EQ(silent->config.gradients, std::nullopt);
}

TEST(HookConfigFile, IsReadAsTheSpecificationsExample) {
  const HookConfig config = config_of(parse(R"(
      {"LocalPath": "/data/run7",
       "HookParameters": {"save_interval": "50", "eval.save_interval": "10",
                          "include_workers": "all",
                          "export_tensorboard": true},
       "CollectionConfigurations": [
         {"CollectionName": "weights", "CollectionParameters":
            {"reductions": "mean,abs_max,l2_norm", "save_raw_tensor": false}},
         {"CollectionName": "acts", "CollectionParameters":
            {"include_regex": "relu.*_output,tanh",
             "train.save_steps": "1,2,3"}}]})"));
  EXPECT_EQ(config.out_dir, "/data/run7");
  EXPECT_EQ(config.tensorboard_dir, "/data/run7/tensorboard");
  EXPECT_EQ(config.include_workers, IncludeWorkers::all);
  EXPECT_THAT(config.include_collections, ElementsAre("weights", "acts"));
  EXPECT_EQ(of_mode(config.save_config, Mode::train).save_interval, 50);
  EXPECT_EQ(of_mode(config.save_config, Mode::eval).save_interval, 10);

  ASSERT_THAT(config.collections, SizeIs(2));
  const Collection& weights = config.collections[0];
  EXPECT_THAT(weights.tensors.include_regex,
              ElementsAre("^(?!gradient).*weight"));
  EXPECT_EQ(weights.reduction_config, reductions("mean,abs_max,l2"));
  EXPECT_EQ(weights.save_config, std::nullopt);
  const Collection& acts = config.collections[1];
  EXPECT_THAT(acts.tensors.include_regex, ElementsAre("relu.*_output", "tanh"));
  EXPECT_EQ(of_mode(acts.save_config, Mode::train),
            (SaveConfigMode{.save_interval = 50, .save_steps = {1, 2, 3}}));
  EXPECT_EQ(of_mode(acts.save_config, Mode::eval),
            (SaveConfigMode{.save_interval = 10}));
}

TEST(HookConfigFile, TakesBooleansAsText) {
  for (const char* yes : {"true", "\"true\"", "\"True\"", "\" TRUE \""}) {
    const HookConfig config = config_of(
        parse_parameters(fmt::format(R"({{"save_all": {0}, "dry_run": {0},
                         "save_raw_tensor": {0}, "save_shape": {0},
                         "export_tensorboard": {0}}})",
                                     yes)));
    EXPECT_TRUE(config.save_all) << yes;
    EXPECT_TRUE(config.dry_run) << yes;
    EXPECT_EQ(config.reduction_config,
              (ReductionConfig{.save_raw_tensor = true, .save_shape = true}));
    EXPECT_EQ(config.tensorboard_dir, "/opt/ml/output/tensors/tensorboard");
  }
  for (const char* no : {"false", "\"false\"", "\"False\""}) {
    const HookConfig config = config_of(parse_parameters(fmt::format(
        R"({{"save_all": {0}, "dry_run": {0}, "export_tensorboard": {0}}})",
        no)));
    EXPECT_FALSE(config.save_all || config.dry_run || config.tensorboard_dir);
  }
}

TEST(HookConfigFile, TakesNumbersAsText) {
  for (const char* seven : {"7", "\"7\"", "\" 7 \"", "7.0", "\"7.0\""}) {
    const HookConfig config = config_of(parse_parameters(
        fmt::format(R"({{"save_interval": {0}, "start_step": {0},
                         "end_step": {0}, "save_steps": {0}}})",
                    seven)));
    EXPECT_EQ(of_mode(config.save_config, Mode::predict),
              (SaveConfigMode{7, 7, 7, {7}}))
        << seven;
  }
}

TEST(HookConfigFile, CutsOffDecimalsAndWarns) {
  const auto file = parse_parameters(
      R"({"save_interval": 7.9, "start_step": "7.9", "save_steps": [7.9, 8]})");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(of_mode(file->config.save_config, Mode::predict),
            (SaveConfigMode{7, 7, {}, {7, 8}}));
  EXPECT_THAT(
      file->warnings,
      ElementsAre("debughookconfig.json:1:38: HookParameters.save_interval: "
                  "expected a whole number, found 7.9; using 7",
                  "debughookconfig.json:1:57: HookParameters.start_step: "
                  "expected a whole number, found \"7.9\"; using 7",
                  "debughookconfig.json:1:78: HookParameters.save_steps: "
                  "expected whole numbers, found [7.9, 8]; using 7, 8"));
}

TEST(HookConfigFile, TakesListsAsTextOrArrays) {
  const auto steps = [](std::string_view list) {
    return of_mode(config_of(parse_parameters(
                                 fmt::format(R"({{"save_steps": {}}})", list)))
                       .save_config,
                   Mode::eval)
        .save_steps;
  };
  EXPECT_THAT(steps("\"1, 2,,3\""), ElementsAre(1, 2, 3));
  EXPECT_THAT(steps(R"([1, "2", 3.0])"), ElementsAre(1, 2, 3));
  EXPECT_THAT(steps("[]"), IsEmpty());
  EXPECT_THAT(config_of(parse_parameters(R"({"include_regex": "a, b,,c"})"))
                  .include_regex,
              ElementsAre("a", "b", "c"));
  EXPECT_EQ(config_of(parse_parameters(R"({"reductions": ["min", "abs_l1"]})"))
                .reduction_config,
            reductions("min,abs_l1"));
}

TEST(HookConfigFile, KeepsTheCommasOfAPatternInAnArray) {
  const HookConfig config = config_of(
      parse_parameters(R"({"include_regex": ["^fc(1|2){1,2}$", " b"]})"));
  EXPECT_THAT(config.include_regex, ElementsAre("^fc(1|2){1,2}$", " b"));
}

TEST(HookConfigFile, TakesEveryReductionOfTheDocuments) {
  const HookConfig config = config_of(parse_parameters(
      R"({"reductions": "min,max,median,mean,std,variance,sum,prod,l1,l2,)"
      R"(abs_min,abs_median,abs_l1,abs_l2,l1_norm,abs_l2_norm"})"));
  EXPECT_THAT(config.reduction_config->ops, SizeIs(16));
}

TEST(HookConfigFile, HonoursRawAndShapeWithoutReductions) {
  EXPECT_EQ(
      config_of(parse_parameters(R"({"save_shape": "True"})")).reduction_config,
      ReductionConfig{.save_shape = true});
  EXPECT_EQ(first_collection(parse_collection(R"({"save_raw_tensor": "true"})"))
                .reduction_config,
            ReductionConfig{.save_raw_tensor = true});
  EXPECT_EQ(
      config_of(parse_parameters(R"({"summary": true})")).reduction_config,
      ReductionConfig{.summary = true});
}

TEST(HookConfigFile, HonoursIncludeCollections) {
  EXPECT_THAT(config_of(parse_parameters(
                            R"({"include_collections": "weights, biases"})"))
                  .include_collections,
              ElementsAre("weights", "biases"));
}

TEST(HookConfigFile, LetsTheUserKeepHistogramsOfLosses) {
  EXPECT_TRUE(first_collection(
                  parse_collection(R"({"save_histogram": "true"})", "losses"))
                  .save_histogram);
  EXPECT_FALSE(
      first_collection(parse_collection("{}", "losses")).save_histogram);
  EXPECT_FALSE(
      first_collection(parse_collection("{}", "metrics")).save_histogram);
  EXPECT_TRUE(first_collection(parse_collection("{}")).save_histogram);
}

TEST(HookConfigFile, AddsUpARepeatedNameAndTakesTheRestFromItsLastEntry) {
  const HookConfig config = config_of(parse(R"({"CollectionConfigurations": [
      {"CollectionName": "a", "CollectionParameters":
        {"include_regex": "x", "save_interval": 3, "reductions": "mean",
         "save_raw_tensor": true, "save_histogram": false}},
      {"CollectionName": "a", "CollectionParameters":
        {"include_regex": ["y"], "reductions": "max"}}]})"));
  ASSERT_THAT(config.collections, SizeIs(1));
  const Collection& a = config.collections[0];
  EXPECT_THAT(config.include_collections, ElementsAre("a"));
  EXPECT_THAT(a.tensors.include_regex, ElementsAre("x", "y"));
  EXPECT_EQ(a.save_config, std::nullopt);
  EXPECT_EQ(a.reduction_config, reductions("max"));
  EXPECT_FALSE(a.save_histogram);
}

TEST(HookConfigFile, CanTurnADefaultCollectionOff) {
  const HookConfig config =
      config_of(parse_collection(R"({"end_step": 0})", "losses"));
  const auto plan = Plan::build(config, pytorch_framework());
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE((*plan)->due({0, Mode::train, 0}).empty());
}

TEST(HookConfigFile, TakesTheFrameworksIntervalWhereNoneIsGiven) {
  Framework framework = pytorch_framework();
  framework.default_save_interval = 10;
  const auto file = parse_hook_config(R"({"HookParameters": {"start_step": 5},
                            "CollectionConfigurations": [
                              {"CollectionName": "weights",
                               "CollectionParameters": {"end_step": 9}}]})",
                                      "f", framework, {});
  const HookConfig config = config_of(file);
  EXPECT_EQ(of_mode(config.save_config, Mode::train),
            (SaveConfigMode{10, 5, {}, {}}));
  EXPECT_EQ(of_mode(config.collections[0].save_config, Mode::train),
            (SaveConfigMode{10, 5, 9, {}}));
}

TEST(HookConfigFile, TakesTensorboardFromThePlatformInASagemakerJob) {
  JobEnvironment job;
  job.training_job_name = "job";
  job.tensorboard_config_path = "/no/such/file";
  const auto file = parse_hook_config(
      R"({"HookParameters": {"export_tensorboard": true,
                             "tensorboard_dir": "/mine"}})",
      "f", pytorch_framework(), job);
  EXPECT_EQ(config_of(file).tensorboard_dir, std::nullopt);
}

// --- what is told ---

auto refused(std::string_view message) {
  return FailsWith(
      Error::Code::invalid_config,
      testing::StartsWith("debughookconfig.json:" + std::string(message)));
}

TEST(HookConfigFile, NamesFileLineColumnAndKeyOfAMistake) {
  EXPECT_THAT(parse("{\n  \"HookParameters\": {\n\n"
                    "   \"save_interval\": \"often\"\n  }\n}"),
              refused("4:21: HookParameters.save_interval: expected a number "
                      "or numeric text, found \"often\""));
}

TEST(HookConfigFile, RefusesWhatItCannotUnderstand) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "1:1: not JSON"},
      {"{\"a\": 1", "1:8: not JSON near '1': the text ends before '}'"},
      {"[1]", "1:1: expected an object, found [1]"},
      {R"({"LocalPath": 7})", "1:15: LocalPath: expected text, found 7"},
      {R"({"LocalPath": ""})", "1:15: LocalPath: expected a path, found \"\""},
      {R"({"HookParameters": []})",
       "1:20: HookParameters: expected an object, found []"},
      {R"({"CollectionConfigurations": {}})",
       "1:30: CollectionConfigurations: expected an array of objects"},
      {R"({"CollectionConfigurations": [{"CollectionName": "a"}, "b"]})",
       "1:56: CollectionConfigurations[1]: expected an object, found \"b\""},
      {R"({"CollectionConfigurations": [{"CollectionParameters": {}}]})",
       "1:31: CollectionConfigurations[0].CollectionName: a collection needs"},
      {R"({"CollectionConfigurations": [{"CollectionName": ""}]})",
       "1:50: CollectionConfigurations[0].CollectionName: a collection needs"},
      {R"({"CollectionConfigurations": [{"Name": "weights"}]})",
       "1:31: CollectionConfigurations[0].CollectionName: a collection needs a "
       "name; write 'CollectionName' for 'Name'"},
      {R"({"CollectionConfigurations": [{"CollectionName": 3}]})",
       "1:50: CollectionConfigurations[0].CollectionName: expected text"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(parse(text), refused(message)) << text;
  }
}

TEST(HookConfigFile, RefusesParametersOfTheWrongKind) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("save_interval": 0)", "expected a number of 1 or more"},
      {R"("save_interval": "-3")", "found \"-3\""},
      {R"("eval.save_interval": "0.5")", "eval.save_interval: expected"},
      {R"("start_step": "1e999")", "expected a number or numeric text"},
      {R"("start_step": 1e30)", "expected a number or numeric text"},
      {R"("end_step": "None")", "found \"None\""},
      {R"("end_step": true)", "found true"},
      {R"("save_steps": "1,x")", "expected numbers with commas"},
      {R"("save_steps": "-1,2")",
       "save_steps: expected steps of 0 or more, found \"-1,2\""},
      {R"("save_steps": [1, null])", "expected numbers with commas"},
      {R"("save_all": "maybe")", "expected true or false, found \"maybe\""},
      {R"("save_all": 1)", "expected true or false, found 1"},
      {R"("reductions": "mean,average")",
       "reductions: unknown reduction 'average'"},
      {R"("reductions": [1])", "expected text with commas"},
      {R"("save_shape": "yep")", "save_shape: expected true or false"},
      {R"("include_regex": "a,(b")", "include_regex: pattern '(b'"},
      {R"("include_regex": 3)", "expected text with commas"},
      {R"("include_workers": 3)", "expected text, found 3"},
      {R"("tensorboard_dir": {})", "expected text, found {}"},
      {R"("max_run_bytes": "0")", "expected a number of 1 or more"},
      {R"("keep_every": -1)", "expected a number of 0 or more"},
      {R"("checksum": "md5")", "must be 'constant' or 'crc32c', found 'md5'"},
      {R"("durability": "disk")", "must be 'process' or 'step', found 'disk'"},
      {R"("step_on": "epoch")",
       "step_on: must be 'forward' or 'optimizer', found 'epoch'"},
      {R"("gradients": true)", "expected text, found true"},
  };
  for (const auto& [parameter, message] : cases) {
    const auto file = parse_parameters(fmt::format("{{{}}}", parameter));
    EXPECT_THAT(file, FailsWith(Error::Code::invalid_config,
                                AllOf(HasSubstr(": HookParameters."),
                                      HasSubstr(message))))
        << parameter;
  }
}

std::vector<std::string> warnings_of(const Result<HookConfigFile>& file) {
  EXPECT_THAT(file, IsOk());
  return file ? file->warnings : std::vector<std::string>();
}

TEST(HookConfigFile, SaysWhatBecomesOfTheFiles) {
  const HookConfig given = config_of(parse_parameters(
      R"({"max_run_bytes": "5000000000", "keep_every": 1000,
          "checksum": "crc32c", "durability": "step"})"));
  EXPECT_EQ(given.max_run_bytes, 5'000'000'000u);
  EXPECT_EQ(given.keep_every, 1000);
  EXPECT_EQ(given.checksum, Checksum::crc32c);
  EXPECT_EQ(given.durability, Durability::step);
  const HookConfig silent = config_of(parse_parameters("{}"));
  EXPECT_EQ(silent.max_run_bytes, std::nullopt);
  EXPECT_EQ(silent.keep_every, 0);
  EXPECT_EQ(silent.checksum, Checksum::constant);
  EXPECT_EQ(silent.durability, Durability::process);
}

TEST(HookConfigFile, WarnsOfUnknownKeysAndOffersTheNearest) {
  EXPECT_THAT(warnings_of(parse("{\"HookParameters\": {\"save_all\": true,\n"
                                "  \"save_intervall\": 3}}")),
              ElementsAre(AllOf(
                  HasSubstr("debughookconfig.json:2:3: HookParameters: "
                            "\"save_intervall\" is unknown here and ignored"),
                  HasSubstr("nearest: 'save_interval'"))));
  EXPECT_THAT(warnings_of(parse_collection(R"({"train.end": 3})")),
              ElementsAre(AllOf(
                  HasSubstr("CollectionConfigurations[0].CollectionParameters: "
                            "\"train.end\""),
                  HasSubstr("'train.end_step'"))));
  EXPECT_THAT(warnings_of(parse(R"({"HookParamters": {}})")),
              ElementsAre(HasSubstr("nearest: 'HookParameters'")));
  EXPECT_THAT(warnings_of(parse(R"({ "a:\"b\\" : {}})")),
              ElementsAre(HasSubstr("debughookconfig.json:1:3: ")));
  EXPECT_THAT(warnings_of(parse(R"({"CollectionConfigurations":
                  [{"CollectionName": "weights", "Parameters": {}}]})")),
              ElementsAre(HasSubstr("'CollectionParameters'")));
}

TEST(HookConfigFile, NamesTheKeysForAnArgumentOfPython) {
  EXPECT_THAT(warnings_of(parse_collection(R"({"reduction_config": "x"})")),
              ElementsAre(HasSubstr("ignored; give its settings as "
                                    "'reductions', 'save_raw_tensor'")));
  EXPECT_THAT(warnings_of(parse_collection(R"({"save_config": "x"})")),
              ElementsAre(HasSubstr("give its settings as 'save_interval'")));
  EXPECT_THAT(warnings_of(parse_collection(R"({"tensor_names": "x"})")),
              ElementsAre(HasSubstr("select tensors with 'include_regex'")));
}

TEST(HookConfigFile, NamesThePlaceOfAKeyThatBelongsElsewhere) {
  EXPECT_THAT(warnings_of(parse(R"({"save_interval": 3})")),
              ElementsAre(HasSubstr("\"save_interval\" is unknown here and "
                                    "ignored; it belongs in HookParameters")));
  EXPECT_THAT(warnings_of(parse_parameters(R"({"LocalPath": "x"})")),
              ElementsAre(HasSubstr("it belongs at the top level")));
  EXPECT_THAT(warnings_of(parse_parameters(R"({"save_histogram": true})")),
              ElementsAre(HasSubstr("it belongs in CollectionParameters")));
  EXPECT_THAT(warnings_of(parse_collection(R"({"CollectionName": "weights"})")),
              ElementsAre(HasSubstr(
                  "it belongs in an entry of CollectionConfigurations")));
}

TEST(HookConfigFile, WarnsOfAKeyThatIsGivenTwice) {
  const auto file = parse_parameters(R"({"end_step": 1, "end_step": 2})");
  EXPECT_THAT(warnings_of(file),
              ElementsAre(HasSubstr("HookParameters.end_step: given twice")));
  EXPECT_EQ(of_mode(file->config.save_config, Mode::train).end_step, 2);
}

TEST(HookConfigFile, WarnsWhenAPatternIsSplitInsideItsBraces) {
  EXPECT_THAT(warnings_of(parse_parameters(R"({"include_regex": "a{1,2}b"})")),
              ElementsAre(HasSubstr("into 'a{1' and '2}b'")));
}

TEST(HookConfigFile, WarnsWhenNothingIsAskedFor) {
  EXPECT_THAT(warnings_of(parse_parameters(R"({"reductions": ""})")),
              ElementsAre(HasSubstr("neither values nor reductions")));
}

TEST(HookConfigFile, TakesAnyOtherWordForOneWorkerAndSaysSo) {
  const auto file = parse_parameters(R"({"include_workers": "some"})");
  EXPECT_THAT(warnings_of(file), ElementsAre(HasSubstr("using 'one'")));
  EXPECT_EQ(file->config.include_workers, IncludeWorkers::one);
}

// --- files ---

TEST(LoadHookConfig, ReadsTheFileOfTheEnvironmentUnlessToldAnother) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) +
                           "_smdebug_hook_config.json";
  std::ofstream(path) << R"({"LocalPath": "/there"})";
  JobEnvironment job;
  job.hook_config_path = path;
  const auto load = [&](const std::string& wanted) {
    return load_hook_config(wanted, pytorch_framework(), job);
  };
  EXPECT_EQ(config_of(load("")).out_dir, "/there");
  EXPECT_EQ(config_of(load(path)).out_dir, "/there");
  EXPECT_THAT(load("/no/such.json"),
              FailsWith(Error::Code::not_found, HasSubstr("'/no/such.json'")));
  std::ofstream(path) << "{";
  EXPECT_THAT(load(""), FailsWith(Error::Code::invalid_config,
                                  HasSubstr(path + ":1:2: not JSON")));
  std::filesystem::remove(path);
}

// --- merging, against a model ---

// The keys that a random file gives, as text: "eval.end_step" -> "7".
using Given = std::map<std::string, std::string>;

std::string lower_name(Mode mode) {
  std::string name(mode_name(mode));
  for (char& c : name) c = static_cast<char>(c - 'A' + 'a');
  return name;
}

// A search of all collections for each of them would take minutes.
TEST(HookConfigFile, ReadsAHundredThousandCollections) {
  constexpr int kCollections = 100'000;
  std::string entries;
  for (int i = 0; i < kCollections; ++i) {
    entries +=
        fmt::format(R"({}{{"CollectionName": "c{}"}})", i == 0 ? "" : ", ", i);
  }
  const auto file = parse("{\"CollectionConfigurations\": [" + entries + "]}");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->config.collections, SizeIs(kCollections));
  EXPECT_THAT(file->config.include_collections, SizeIs(kCollections));
  const auto plan = Plan::build(file->config, pytorch_framework());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("collections; at most"));
}

// What `key` is for `mode`: the collection's own key for the mode, its plain
// key, the hook's key for the mode, the hook's plain key.
std::optional<std::string> looked_up(const Given& hook, const Given& collection,
                                     Mode mode, const std::string& key) {
  for (const Given* given : {&collection, &hook}) {
    for (const std::string& name : {lower_name(mode) + "." + key, key}) {
      if (const auto found = given->find(name); found != given->end()) {
        return found->second;
      }
    }
  }
  return {};
}

bool model_is_due(const Given& hook, const Given& collection, Mode mode,
                  Step step) {
  const auto number = [&](const char* key, Step otherwise) {
    const auto text = looked_up(hook, collection, mode, key);
    return text ? std::stoll(*text) : otherwise;
  };
  const auto steps = looked_up(hook, collection, mode, "save_steps");
  if (steps && ("," + *steps + ",").find("," + std::to_string(step) + ",") !=
                   std::string::npos) {
    return true;
  }
  return step >= number("start_step", 0) &&
         step < number("end_step", 1'000'000) &&
         step % number("save_interval", 500) == 0;
}

class RandomFile {
 public:
  explicit RandomFile(unsigned seed) : random_(seed) {}

  Given keys() {
    Given given;
    for (const char* key : {"save_interval", "start_step", "end_step"}) {
      add(given, key, [&] { return std::to_string(below(12) + 1); });
    }
    add(given, "save_steps",
        [&] { return fmt::format("{},{}", below(30), below(30)); });
    return given;
  }

  std::string json_of(const Given& given) {
    Json json = Json::Object();
    for (const auto& [key, text] : given) {
      if (below(2) == 0 && text.find(',') == std::string::npos) {
        json[key] = std::stoll(text);
      } else {
        json[key] = text;
      }
    }
    return json.dump();
  }

  int below(int n) { return static_cast<int>(random_() % n); }

 private:
  template <typename Make>
  void add(Given& given, const std::string& key, Make make) {
    if (below(3) == 0) given[key] = make();
    for (Mode mode : kModes) {
      if (below(6) == 0) given[lower_name(mode) + "." + key] = make();
    }
  }

  std::mt19937 random_;
};

TEST(HookConfigFile, MergesAsAModelOfTheSpecification) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomFile random(seed);
  for (int round = 0; round < 300; ++round) {
    const Given hook = random.keys();
    const Given mine = random.keys();
    const std::string text = fmt::format(
        R"({{"HookParameters": {}, "CollectionConfigurations": [
             {{"CollectionName": "mine", "CollectionParameters": {}}},
             {{"CollectionName": "mine", "CollectionParameters":
               {{"include_regex": "x"}}}},
             {{"CollectionName": "mine", "CollectionParameters": {}}},
             {{"CollectionName": "weights"}}]}})",
        random.json_of(hook), random.json_of(random.keys()),
        random.json_of(mine));
    SCOPED_TRACE(text);
    const auto plan = Plan::build(config_of(parse(text)), pytorch_framework());
    ASSERT_THAT(plan, IsOk());
    const std::map<std::string, Given> of_collection = {
        {"mine", mine}, {"weights", {}}, {"losses", {}}};
    for (Mode mode : kModes) {
      for (Step step = 0; step < 40; ++step) {
        const CollectionSet due = (*plan)->due({step + 7, mode, step});
        for (std::size_t i = 0; i < (*plan)->collections().size(); ++i) {
          const auto given =
              of_collection.find((*plan)->collections()[i].name());
          if (given == of_collection.end()) continue;
          ASSERT_EQ(due.contains(i),
                    model_is_due(hook, given->second, mode, step))
              << given->first << " " << mode_name(mode) << " " << step;
        }
      }
    }
  }
}

TEST(HookConfigFile, SurvivesEveryFileThatAFuzzerFound) {
  const std::filesystem::path corpus =
      std::filesystem::path(SMDEBUG_SOURCE_DIR) / "tests/corpus/hook_config";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    SCOPED_TRACE(entry.path());
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto file = parse(text);
    if (file) {
      (void)Plan::build(file->config, pytorch_framework());
    } else {
      EXPECT_EQ(file.error().code, Error::Code::invalid_config);
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(HookConfigFile, SurvivesDamagedText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = R"({"LocalPath": "/d", "HookParameters": {
      "save_interval": "5", "eval.save_steps": "1,2", "reductions": "mean",
      "include_regex": ["a{1,2}"], "save_all": "true"},
      "CollectionConfigurations": [{"CollectionName": "a",
      "CollectionParameters": {"include_regex": "b,c", "end_step": 3}}]})";
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int change = random() % 3 + 1; change > 0; --change) {
      text[random() % text.size()] = "{}[]\",:0a\\.\x80"[random() % 12];
    }
    const auto file = parse(text);
    accepted += file.ok();
    if (!file) {
      EXPECT_THAT(file.error().message,
                  testing::StartsWith("debughookconfig.json:"));
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace smdebug
