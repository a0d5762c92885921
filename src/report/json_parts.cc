#include "report/json_parts.h"

namespace smdebug {

Json to_json(const TensorStatistics& s) {
  return Json::Object{{"count", s.count},
                      {"nan", s.nan},
                      {"positive_inf", s.positive_inf},
                      {"negative_inf", s.negative_inf},
                      {"zeros", s.zeros},
                      {"min", s.min},
                      {"max", s.max},
                      {"mean", s.mean},
                      {"m2", s.m2},
                      {"sum_abs", s.sum_abs},
                      {"sum_squares", s.sum_squares}};
}

Json to_json(std::span<const std::string> texts) {
  Json array = Json::Array();
  for (const std::string& text : texts) array.append(text);
  return array;
}

Json to_json(std::span<const std::int64_t> numbers) {
  Json array = Json::Array();
  for (const std::int64_t number : numbers) array.append(number);
  return array;
}

}  // namespace smdebug
