#include "smdebug/report/query_output.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

using MakeOutput = std::unique_ptr<QuerySink> (*)(std::ostream&);

std::string printed(MakeOutput make,
                    const std::vector<std::vector<QueryValue>>& rows) {
  std::ostringstream out;
  const auto output = make(out);
  const QueryColumn names[] = {{"name"}, {"n"}, {"x"}};
  output->begin(names);
  for (const auto& row : rows) output->row(row);
  output->end();
  return out.str();
}

const std::vector<std::vector<QueryValue>> kRows = {
    {"a, \"b\"", std::int64_t{12}, 0.1},
    {std::monostate(), std::monostate(), INFINITY},
    {"two\nlines", std::int64_t{-1}, 1.0 / 3},
};

TEST(QueryOutput, PrintsATableWithNumbersToTheRight) {
  EXPECT_EQ(printed(&query_text_output, kRows),
            "name         n         x\n"
            "a, \"b\"      12       0.1\n"
            "                     inf\n"
            "two\\nlines  -1  0.333333\n");
}

TEST(QueryOutput, PrintsOnlyTheColumnsIfThereIsNoRow) {
  EXPECT_EQ(printed(&query_text_output, {}), "name  n  x\n");
  EXPECT_EQ(printed(&query_json_output, {}), "[]\n");
  EXPECT_EQ(printed(&query_csv_output, {}), "name,n,x\n");
}

TEST(QueryOutput, PrintsAnObjectPerRow) {
  EXPECT_EQ(printed(&query_json_output, kRows),
            "[\n {\"name\": \"a, \\\"b\\\"\", \"n\": 12, \"x\": 0.1},\n"
            " {\"name\": null, \"n\": null, \"x\": null},\n"
            " {\"name\": \"two\\nlines\", \"n\": -1, \"x\": "
            "0.3333333333333333}\n]\n");
}

TEST(QueryOutput, QuotesFieldsOfCsv) {
  EXPECT_EQ(printed(&query_csv_output, kRows),
            "name,n,x\n\"a, \"\"b\"\"\",12,0.1\n,,inf\n"
            "\"two\nlines\",-1,0.3333333333333333\n");
}

}  // namespace
}  // namespace smdebug
