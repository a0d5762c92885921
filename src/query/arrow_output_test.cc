#include "smdebug/query/arrow_output.h"

#include <sstream>

#include <gtest/gtest.h>

#include "format/arrow_file.h"

namespace smdebug {
namespace {

TEST(ArrowOutput, HasTheDeclaredTypesAlsoWithoutValues) {
  std::ostringstream out;
  const auto output = query_arrow_output(out);
  const QueryColumn columns[] = {{"run", QueryType::text},
                                 {"step", QueryType::integer},
                                 {"mean", QueryType::real},
                                 {"x"}};
  output->begin(columns);
  const QueryValue nulls[4] = {};
  output->row(nulls);
  output->end();
  const std::string file = out.str();
  const auto table = parse_arrow_file(std::as_bytes(std::span(file)));
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows(), 1u);
  for (const auto& [name, type] :
       {std::pair{"run", ArrowType::text}, std::pair{"step", ArrowType::int64},
        std::pair{"mean", ArrowType::float64},
        std::pair{"x", ArrowType::float64}}) {
    const ArrowColumnView* column = table->find(name, type);
    ASSERT_NE(column, nullptr) << name;
    EXPECT_TRUE(column->is_null(0)) << name;
  }
}

TEST(ArrowOutput, WidensTheTypeOfAnExpression) {
  std::ostringstream out;
  const auto output = query_arrow_output(out);
  const QueryColumn columns[] = {{"a"}, {"b"}};
  output->begin(columns);
  const QueryValue rows[][2] = {
      {std::monostate(), std::monostate()},
      {std::int64_t{3}, std::int64_t{-7}},
      {0.5, std::monostate()},
      {std::int64_t{4}, "seven"},
      {std::monostate(), 2.5},
  };
  for (const auto& row : rows) output->row(row);
  output->end();
  const std::string file = out.str();
  const auto table = parse_arrow_file(std::as_bytes(std::span(file)));
  ASSERT_TRUE(table) << table.error().message;
  const ArrowColumnView* a = table->find("a", ArrowType::float64);
  const ArrowColumnView* b = table->find("b", ArrowType::text);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(a->is_null(0));
  EXPECT_EQ(a->value<double>(1), 3);
  EXPECT_EQ(a->value<double>(2), 0.5);
  EXPECT_EQ(a->value<double>(3), 4);
  EXPECT_TRUE(a->is_null(4));
  EXPECT_TRUE(b->is_null(0));
  EXPECT_EQ(b->text(1), "-7");
  EXPECT_TRUE(b->is_null(2));
  EXPECT_EQ(b->text(3), "seven");
  EXPECT_EQ(b->text(4), "2.5");
}

}  // namespace
}  // namespace smdebug
