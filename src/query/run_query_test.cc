#include "smdebug/query/run_query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/store/open_storage.h"

#include "format/series_file.h"
#include "format/statistics_file_columns.h"
#include "index/written_run_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Row = std::vector<QueryValue>;

class Answer : public QuerySink {
 public:
  void begin(std::span<const QueryColumn> all) override {
    for (const QueryColumn& column : all) columns.push_back(column.name);
  }
  void row(std::span<const QueryValue> values) override {
    rows.emplace_back(values.begin(), values.end());
  }

  std::vector<std::string> columns;
  std::vector<Row> rows;
};

class RunQueryTest : public testing::Test {
 protected:
  RunQueryTest() {
    static int number = 0;
    const std::string folder =
        "memory://query-" + std::to_string(++number) + "/";
    runs_ = {folder + "a", folder + "b"};
    WrittenRun a(*open_storage(runs_[0]));
    a.put_collections("worker_0", 1,
                      {{"all", {".*"}, {"w", "b"}}, {"biases", {}, {"b"}}});
    const float inf = INFINITY;
    a.put_step({{4, Mode::train, 2},
                "worker_0",
                {{"w", {1, -3}, true}, {"b", {0.5F}, true}}});
    a.put_step({{5, Mode::eval, 0}, "worker_0", {{"w", {inf, -inf}, false}}});
    a.put(series_file_key({"worker_0", 4, 5, 0}),
          write_series_file(
              {"worker_0",
               {{"loss",
                 {{{4, Mode::train, 2}, 0.5}, {{5, Mode::eval, 0}, 0.25}}}}}));
    a.put_end_marker();
    WrittenRun b(*open_storage(runs_[1]));
    for (Step step = 0; step < 20; ++step) {
      const auto x = static_cast<float>(step * step % 7);
      b.put_step({{step, step % 4 == 3 ? Mode::eval : Mode::train, step / 2},
                  step % 2 == 0 ? "worker_0" : "worker_1",
                  {{"W", {x, 1}, true}, {"grad/w", {x}, step % 5 != 0}}});
    }
    b.put_end_marker();
  }

  // The rows of the answer; fails on problems.
  std::vector<Row> ask(const std::string& sql) {
    Answer answer;
    const auto summary = query_runs(runs_, sql, answer);
    EXPECT_TRUE(summary) << sql << ": " << summary.error().message;
    if (summary) {
      EXPECT_EQ(summary->rows, answer.rows.size());
      problems_ = summary->problems;
      EXPECT_THAT(problems_, IsEmpty()) << problems_[0].what;
    }
    columns_ = answer.columns;
    return answer.rows;
  }

  std::string error_of(const std::string& sql) {
    Answer answer;
    const auto summary = query_runs(runs_, sql, answer);
    EXPECT_FALSE(summary) << sql;
    if (summary) return "";
    EXPECT_EQ(summary.error().code, Error::Code::invalid_argument) << sql;
    return summary.error().message;
  }

  std::vector<std::string> runs_;
  std::vector<std::string> columns_;
  std::vector<QueryProblem> problems_;
};

TEST_F(RunQueryTest, AnswersWithARowForEachTensorStepAndWorker) {
  const auto rows =
      ask("select * from statistics where run like '%/a' and step = 4 "
          "order by tensor");
  EXPECT_THAT(columns_,
              ElementsAre("run", "tensor", "collection", "step", "mode",
                          "mode_step", "worker", "dtype", "shape", "bytes",
                          "count", "nan", "positive_inf", "negative_inf",
                          "zeros", "min", "max", "mean", "std", "l1", "l2"));
  using Text = std::string;
  using Int = std::int64_t;
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0], (Row{runs_[0],
                          Text("b"),
                          Text("biases"),
                          Int{4},
                          Text("TRAIN"),
                          Int{2},
                          Text("worker_0"),
                          Text("float32"),
                          Text("1"),
                          Int{4},
                          Int{1},
                          Int{0},
                          Int{0},
                          Int{0},
                          Int{0},
                          0.5,
                          0.5,
                          0.5,
                          0.0,
                          0.5,
                          0.5}));
  EXPECT_EQ(rows[1], (Row{runs_[0],
                          Text("w"),
                          std::monostate(),
                          Int{4},
                          Text("TRAIN"),
                          Int{2},
                          Text("worker_0"),
                          Text("float32"),
                          Text("2"),
                          Int{8},
                          Int{2},
                          Int{0},
                          Int{0},
                          Int{0},
                          Int{0},
                          -3.0,
                          1.0,
                          -1.0,
                          2.0,
                          4.0,
                          std::sqrt(10.0)}));
}

TEST_F(RunQueryTest, ComputesStatisticsThatAreNotStored) {
  EXPECT_THAT(
      ask("select positive_inf, negative_inf, mean from statistics "
          "where mode = 'EVAL' and tensor = 'w'"),
      ElementsAre(Row{std::int64_t{1}, std::int64_t{1}, std::monostate()}));
  EXPECT_THAT(
      ask("select count(*), sum(max) from statistics "
          "where tensor = 'grad/w'"),
      // 0 1 4 2 2 4 1, repeated
      ElementsAre(Row{std::int64_t{20}, 14.0 + 14 + 0 + 1 + 4 + 2 + 2 + 4}));
}

TEST_F(RunQueryTest, HasTheScalars) {
  EXPECT_THAT(ask("select name, step, mode, mode_step, worker, value "
                  "from scalars order by step"),
              ElementsAre(Row{"loss", std::int64_t{4}, "TRAIN", std::int64_t{2},
                              "worker_0", 0.5},
                          Row{"loss", std::int64_t{5}, "EVAL", std::int64_t{0},
                              "worker_0", 0.25}));
  EXPECT_THAT(ask("select tensor, value from statistics join scalars "
                  "using (run, step) where tensor = 'b'"),
              ElementsAre(Row{"b", 0.5}));
}

TEST_F(RunQueryTest, ComputesMedians) {
  EXPECT_THAT(ask("select median(x) from (select 3 x union all select 1 "
                  "union all select 2.5 union all select null)"),
              ElementsAre(Row{2.5}));
  EXPECT_THAT(ask("select median(x) from (select 3 x union all select 1 "
                  "union all select 10 union all select 2)"),
              ElementsAre(Row{2.5}));
  EXPECT_THAT(ask("select median(min) from statistics where step = 1000"),
              ElementsAre(Row{std::monostate()}));
  EXPECT_THAT(ask("select tensor, median(max) from statistics "
                  "where run like '%b' group by tensor order by tensor"),
              ElementsAre(Row{"W", 2.0}, Row{"grad/w", 2.0}));
}

TEST_F(RunQueryTest, DividesNormsByTheirMedian) {
  const auto rows = ask(
      "select run, worker, mode, tensor, l2, l2_over_median from statistics");
  std::map<std::vector<QueryValue>, std::vector<double>> norms;
  for (const Row& row : rows) {
    norms[{row.begin(), row.begin() + 4}].push_back(std::get<double>(row[4]));
  }
  for (auto& [name, all] : norms) std::ranges::sort(all);
  int numbers = 0;
  for (const Row& row : rows) {
    const auto& all = norms[{row.begin(), row.begin() + 4}];
    const std::size_t half = all.size() / 2;
    const double median = (all[half] + all[all.size() - half - 1]) / 2;
    if (median == 0) {
      EXPECT_EQ(row[5], QueryValue());
      continue;
    }
    ++numbers;
    EXPECT_DOUBLE_EQ(std::get<double>(row[5]),
                     std::get<double>(row[4]) / median);
  }
  EXPECT_GT(numbers, 20);

  std::size_t large = 0;
  for (const Row& row : rows) {
    const auto* ratio = std::get_if<double>(&row[5]);
    large += ratio != nullptr && *ratio > 1.5 ? 1 : 0;
  }
  EXPECT_GT(large, 3U);
  EXPECT_THAT(ask("select count(*) from statistics where l2_over_median > 1.5"),
              ElementsAre(Row{static_cast<std::int64_t>(large)}));
  EXPECT_THAT(ask("select count(*) from statistics where l2_over_median > 1.5 "
                  "and collection = 'biases'"),
              ElementsAre(Row{std::int64_t{0}}));
}

TEST_F(RunQueryTest, MatchesRegularExpressions) {
  EXPECT_THAT(ask("select distinct tensor from statistics "
                  "where tensor regexp '^(?i:w)$' order by tensor"),
              ElementsAre(Row{"W"}, Row{"w"}));
  EXPECT_THAT(error_of("select 1 from statistics where tensor regexp '('"),
              HasSubstr("'('"));
}

// SQLite checks the conditions of a materialized table, with the same types.
TEST_F(RunQueryTest, ConditionsSelectTheRowsThatSqliteSelects) {
  const std::vector<std::string> columns = {
      "run",   "tensor", "collection", "mode",  "worker", "dtype",
      "shape", "step",   "mode_step",  "bytes", "count",  "zeros",
      "min",   "max",    "mean",       "std",   "l1",     "l2"};
  const std::vector<std::string> comparisons = {
      "=", "<", "<=", ">", ">=", "<>", "like", "glob", "= ? collate nocase"};
  const std::vector<std::string> values = {
      "'w'",   "'W'",  "'%w'", "'*[wW]'", "'TRAIN'", "'biases'",
      "'2'",   "''",   "null", "3",       "0",       "1",
      "4",     "2.5",  "'4'",  "'abc'",   "-1",      "9007199254740993",
      "1e308", "x'77'"};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto one_of = [&](const std::vector<std::string>& all) {
    return all[random() % all.size()];
  };
  const auto condition = [&] {
    const std::string comparison = one_of(comparisons);
    const auto place = comparison.find('?');
    if (place == comparison.npos) {
      return one_of(columns) + " " + comparison + " " + one_of(values);
    }
    return one_of(columns) + " " + comparison.substr(0, place) +
           one_of(values) + comparison.substr(place + 1);
  };
  int selecting = 0;
  for (int i = 0; i < 100; ++i) {
    std::string where = condition();
    if (random() % 2 == 0) {
      where += (random() % 4 == 0 ? " or " : " and ") + condition();
    }
    const std::string rest =
        " where " + where + " order by run, tensor, step, worker";
    const auto rows = ask("select * from statistics" + rest);
    EXPECT_TRUE(rows == ask("with t as materialized (select * from statistics) "
                            "select * from t" +
                            rest))
        << where;
    selecting += rows.empty() ? 0 : 1;
  }
  EXPECT_GT(selecting, 8);
}

TEST_F(RunQueryTest, ReadsATableSeveralTimesInOneQuery) {
  EXPECT_THAT(ask("select a.step, b.step from statistics a join statistics b "
                  "on a.tensor = b.tensor and a.run = b.run "
                  "where a.step < b.step and a.run like '%/a'"),
              ElementsAre(Row{std::int64_t{4}, std::int64_t{5}}));
}

TEST_F(RunQueryTest, ReadsARunOnceAndInOrder) {
  std::swap(runs_[0], runs_[1]);
  runs_.push_back(runs_[0]);
  EXPECT_THAT(ask("select run, count(*) from statistics group by run"),
              ElementsAre(Row{runs_[1], std::int64_t{3}},
                          Row{runs_[0], std::int64_t{40}}));
}

TEST_F(RunQueryTest, LeavesOutARunThatCannotBeReadAndReportsItOnce) {
  runs_.push_back(runs_[0] + "-none");
  Answer answer;
  const auto summary = query_runs(
      runs_, "select distinct a.run from statistics a, statistics b", answer);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_THAT(answer.rows, SizeIs(2));
  ASSERT_THAT(summary->problems, SizeIs(1));
  EXPECT_EQ(summary->problems[0].run, runs_[2]);
}

// No writer makes such rows: one names no tensor, the other no mode.
TEST_F(RunQueryTest, SurvivesAStatisticsFileWithStrangeRows) {
  using namespace statistics_file;
  const auto storage = *open_storage(runs_[0]);
  const std::uint64_t index_bytes =
      get_object(*storage, index_file_key(4, "worker_0"))->size();
  std::vector<ArrowColumn> columns;
  for (const auto& [name, type] : kNames) {
    columns.emplace_back(std::string(name), type);
  }
  for (const CountColumn& column : kCountColumns) {
    columns.emplace_back(std::string(column.name), ArrowType::uint64);
  }
  for (const MomentColumn& column : kMomentColumns) {
    columns.emplace_back(std::string(column.name), ArrowType::float64);
  }
  for (int row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i == kStep) {
        columns[i].add(std::int64_t{4});
      } else if (i == kWorker) {
        columns[i].add_text("worker_0");
      } else if (i == kIndexBytes) {
        columns[i].add(index_bytes);
      } else if (i == kMode && row == 0) {
        columns[i].add_text("TRAIN");
      } else if (i == kDType && row == 0) {
        columns[i].add_text("float32");
      } else if (i == kTensor && row == 1) {
        columns[i].add_text("w");
      } else if (i == kLength && row == 1) {
        columns[i].add(std::uint64_t{9});
      } else {
        columns[i].add_null();
      }
    }
  }
  ASSERT_TRUE(put_object(*storage, statistics_file_key({"worker_0", 0, 4, 4}),
                         write_arrow_file(columns, {})));
  // The row without numbers names a value, from which they are computed.
  EXPECT_THAT(ask("select step, tensor, collection, max from statistics "
                  "where run like '%/a' order by step"),
              ElementsAre(Row{std::int64_t{4}, "w", std::monostate(), 1.0},
                          Row{std::int64_t{5}, "w", std::monostate(),
                              std::monostate()}));
}

TEST_F(RunQueryTest, DoesNotReadARunThatTheQueryExcludes) {
  const std::string wanted = runs_[0];
  runs_.push_back(runs_[0] + "-none");
  EXPECT_THAT(
      ask("select count(*) from statistics where run = '" + wanted + "'"),
      ElementsAre(Row{std::int64_t{3}}));
  EXPECT_THAT(ask("select count(*) from scalars where run = '" + wanted + "'"),
              ElementsAre(Row{std::int64_t{2}}));
}

TEST_F(RunQueryTest, RefusesWhatIsNotOneSelect) {
  for (const char* sql :
       {"delete from statistics", "create table t(x)",
        "attach 'other.db' as other", "pragma database_list",
        "insert into statistics(run) values ('x')", "drop table statistics"}) {
    EXPECT_THAT(error_of(sql), HasSubstr("cannot be answered")) << sql;
  }
  EXPECT_THAT(error_of("select 1; select 2"), HasSubstr("more than one"));
  EXPECT_THAT(error_of(" ; "), HasSubstr("it is empty"));
  EXPECT_THAT(error_of("select gradient from statistics"),
              HasSubstr("no such column: gradient; the tables are "
                        "statistics(run, tensor,"));
  EXPECT_THAT(ask("select 1;\n"), ElementsAre(Row{std::int64_t{1}}));
}

}  // namespace
}  // namespace smdebug
