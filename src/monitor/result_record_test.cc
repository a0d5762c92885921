#include "smdebug/monitor/result_record.h"

#include <cmath>
#include <limits>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/base/version.h"

#include "base/crc32c.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

// Every member has another value than its default.
MonitorResult full_result() {
  Evidence evidence;
  evidence.tensor = "gradient/a";
  evidence.worker = "worker_1";
  evidence.step = {40, Mode::eval, 30};
  evidence.quantity = "mean |g|";
  evidence.value = -std::numeric_limits<double>::infinity();
  evidence.relation = "<";
  evidence.threshold = 0.1;
  evidence.before = {"gradient/before", 5e-324};
  evidence.after = {"gradient/after", std::nan("")};
  Verdict verdict;
  verdict.rule = "VanishingGradient";
  verdict.parameters = {{"a", "1"}, {"threshold", "0.5"}};
  verdict.status = RuleStatus::issues_found;
  verdict.severity = Severity::serious;
  verdict.kind = "kind";
  verdict.run = 3;
  verdict.step = {-1, Mode::predict, -1};
  verdict.message = std::string("a\0b\n\xff\xfe", 6);
  verdict.cause = "cause";
  verdict.advice = "advice";
  verdict.note = "note";
  verdict.evidence = {evidence, {}};
  verdict.steps_judged = std::numeric_limits<std::uint64_t>::max();
  verdict.observations_found = 5;
  verdict.observations_judged = 4;
  verdict.lacks_data = true;
  verdict.stop_training = true;
  verdict.position = 7;
  MonitorResult result;
  result.location = "s3://bucket/a";
  result.steps = 9;
  result.verdicts = {verdict, {}};
  result.actions = {
      {"AllZero", "webhook", "host", ActionStatus::failed, "refused"}};
  result.reports = {"/runs/a/report.html"};
  result.damage = {{"index/0", "cut short", false}, {"events/1", "bad", true}};
  result.recording_failure = "the disk is full";
  result.report_error = Error{Error::Code::io, "no space"};
  result.error = Error{Error::Code::unavailable, "busy",
                       Error::Detail::collections_missing};
  return result;
}

TEST(ResultRecord, KeepsEveryMember) {
  const auto read = parse_result_record(result_record(full_result()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->location, "s3://bucket/a");
  EXPECT_EQ(read->steps, 9u);
  ASSERT_EQ(read->verdicts.size(), 2u);
  const Verdict& verdict = read->verdicts[0];
  EXPECT_EQ(verdict.rule, "VanishingGradient");
  EXPECT_EQ(verdict.parameters, (std::map<std::string, std::string>{
                                    {"a", "1"}, {"threshold", "0.5"}}));
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_EQ(verdict.kind, "kind");
  EXPECT_EQ(verdict.run, 3u);
  EXPECT_EQ(verdict.step, (StepId{-1, Mode::predict, -1}));
  EXPECT_EQ(verdict.message, std::string("a\0b\n\xff\xfe", 6));
  EXPECT_EQ(verdict.cause, "cause");
  EXPECT_EQ(verdict.advice, "advice");
  EXPECT_EQ(verdict.note, "note");
  EXPECT_EQ(verdict.steps_judged, 18446744073709551615u);
  EXPECT_EQ(verdict.observations_found, 5u);
  EXPECT_EQ(verdict.observations_judged, 4u);
  EXPECT_TRUE(verdict.lacks_data);
  EXPECT_TRUE(verdict.stop_training);
  EXPECT_EQ(verdict.position, 7u);
  ASSERT_EQ(verdict.evidence.size(), 2u);
  const Evidence& evidence = verdict.evidence[0];
  EXPECT_EQ(evidence.tensor, "gradient/a");
  EXPECT_EQ(evidence.worker, "worker_1");
  EXPECT_EQ(evidence.step, (StepId{40, Mode::eval, 30}));
  EXPECT_EQ(evidence.quantity, "mean |g|");
  EXPECT_EQ(evidence.value, -HUGE_VAL);
  EXPECT_EQ(evidence.relation, "<");
  EXPECT_EQ(evidence.threshold, 0.1);
  EXPECT_EQ(evidence.before.value().tensor, "gradient/before");
  EXPECT_EQ(evidence.before.value().value, 5e-324);
  EXPECT_EQ(evidence.after.value().tensor, "gradient/after");
  EXPECT_TRUE(std::isnan(evidence.after.value().value));
  EXPECT_FALSE(verdict.evidence[1].threshold);
  EXPECT_FALSE(read->verdicts[1].severity);
  EXPECT_FALSE(read->verdicts[1].position);
  ASSERT_EQ(read->actions.size(), 1u);
  EXPECT_EQ(read->actions[0].rule, "AllZero");
  EXPECT_EQ(read->actions[0].action, "webhook");
  EXPECT_EQ(read->actions[0].target, "host");
  EXPECT_EQ(read->actions[0].status, ActionStatus::failed);
  EXPECT_EQ(read->actions[0].message, "refused");
  EXPECT_EQ(read->reports, std::vector<std::string>{"/runs/a/report.html"});
  ASSERT_EQ(read->damage.size(), 2u);
  EXPECT_EQ(read->damage[0].key, "index/0");
  EXPECT_EQ(read->damage[0].what, "cut short");
  EXPECT_FALSE(read->damage[0].hides_tensors);
  EXPECT_TRUE(read->damage[1].hides_tensors);
  EXPECT_EQ(read->recording_failure, "the disk is full");
  EXPECT_EQ(read->report_error.value().message, "no space");
  EXPECT_EQ(read->error.value().code, Error::Code::unavailable);
  EXPECT_EQ(read->error.value().message, "busy");
  EXPECT_EQ(read->error.value().detail, Error::Detail::collections_missing);
}

TEST(ResultRecord, IsPrintedAsTheResultItself) {
  const MonitorResult result = full_result();
  const auto read = parse_result_record(result_record(result));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(monitor_results_json({&*read, 1}),
            monitor_results_json({&result, 1}));
}

TEST(ResultRecord, OfACutOrChangedOneNothingIsRead) {
  const std::string record = result_record(full_result());
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(parse_result_record(record.substr(0, size)).ok()) << size;
  }
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::string changed = record;
    changed[at] ^= 0x10;
    EXPECT_FALSE(parse_result_record(changed).ok()) << at;
  }
  EXPECT_FALSE(parse_result_record(record + record).ok());
}

TEST(ResultRecord, OfAnotherVersionNamesBoth) {
  std::string record = result_record(full_result());
  record.resize(record.size() - 4);
  const std::string version = version_text();
  ASSERT_EQ(record.substr(8, version.size()), version);
  record.replace(8, 7, "another");
  const std::uint32_t checksum = crc32c(std::as_bytes(std::span(record)));
  record.append(reinterpret_cast<const char*>(&checksum), 4);
  const auto read = parse_result_record(record);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Error::Code::unsupported);
  EXPECT_THAT(read.error().message,
              HasSubstr("was judged by another" + version.substr(7) + ","));
  EXPECT_THAT(read.error().message,
              HasSubstr("but this program is " + version));
}

}  // namespace
}  // namespace smdebug
