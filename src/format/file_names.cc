#include "format/file_names.h"

#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "core/worker_name.h"

namespace smdebug {
namespace {

constexpr std::string_view kCollectionsSuffix = "_collections.json";
constexpr std::string_view kFactsSuffix = ".json";
constexpr std::string_view kSeriesSuffix = ".json";
constexpr std::string_view kStatisticsSuffix = ".arrow";
constexpr Step kStepsPerIndexFolder = 1000;

// Names of larger steps would not sort in the order of their numbers.
constexpr Step kMaxStep = 999'999'999'999;

bool has_extension_of_its_folder(std::string_view key) {
  if (key.starts_with(kIndexPrefix)) {
    return key.ends_with(".json") || key.ends_with(".csv");
  }
  return key.starts_with(kEventsPrefix) && key.ends_with(".tfevents");
}

// Returns the step at the start of `text`, and its number of digits.
std::optional<std::pair<Step, std::size_t>> leading_step(
    std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  Step step = 0;
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), step);
  if (end.ec != std::errc() || step > kMaxStep) return {};
  return std::pair(step, static_cast<std::size_t>(end.ptr - text.data()));
}

// Removes "-000000000007" from the end of `text` and returns the number.
std::optional<Step> take_last_number(std::string_view& text) {
  const std::size_t dash = text.rfind('-');
  if (dash == text.npos || dash == 0) return std::nullopt;
  const std::string_view digits = text.substr(dash + 1);
  const auto number = leading_step(digits);
  if (!number || number->second != digits.size()) return std::nullopt;
  text = text.substr(0, dash);
  return number->first;
}

constexpr std::string_view kRulesPrefix = "rules/";
constexpr std::string_view kClaimsPrefix = "claims/";
constexpr std::string_view kReportPrefix = "rule-output/CreateXgboostReport/";
constexpr std::string_view kUnfinishedSuffix = ".tmp";

// "x.json" for "x.json.tmp" and for "x.json.0123456789abcdef.tmp", the name
// under which a file is created exclusively.
std::string_view finished_key(std::string_view key) {
  if (!key.ends_with(kUnfinishedSuffix)) return key;
  key.remove_suffix(kUnfinishedSuffix.size());
  constexpr std::size_t kDigits = 16;
  const std::size_t dot = key.rfind('.');
  const bool is_numbered =
      dot != key.npos && key.size() - dot - 1 == kDigits &&
      key.find_first_not_of("0123456789abcdef", dot + 1) == key.npos;
  return is_numbered ? key.substr(0, dot) : key;
}

// Of one attempt, finished.
bool is_attempt_file_key(std::string_view key) {
  for (const std::string_view name :
       {kClaimKey, kRefusedKey, kEndMarkerKey, kRunFileKey, kProgressKey}) {
    if (key == name) return true;
  }
  if (parse_step_file_key(key) || parse_collections_file_key(key) ||
      parse_facts_file_key(key) || parse_series_file_key(key) ||
      parse_statistics_file_key(key)) {
    return true;
  }
  const bool is_json = key.ends_with(".json");
  if (key.starts_with(kRulesPrefix)) return is_json;
  if (key.starts_with(kReportPrefix)) return is_json || key.ends_with(".html");
  if (key.starts_with(kClaimsPrefix)) return key.ends_with(".smd");
  return key.starts_with(kTensorboardPrefix) &&
         key.find("tfevents", key.rfind('/')) != key.npos;
}

}  // namespace

std::string event_file_key(Step step, std::string_view worker) {
  return fmt::format("events/{0:012}/{0:012}_{1}.tfevents", step,
                     encode_worker(worker));
}

std::string index_file_key(Step step, std::string_view worker) {
  return fmt::format("index/{:09}/{:012}_{}.json", step / kStepsPerIndexFolder,
                     step, encode_worker(worker));
}

std::string collections_file_key(std::string_view worker) {
  return fmt::format("{}{}{}", kCollectionsPrefix, encode_worker(worker),
                     kCollectionsSuffix);
}

std::string facts_file_key(Step step, std::string_view worker) {
  return fmt::format("{}{}-{:012}{}", kFactsPrefix, encode_worker(worker), step,
                     kFactsSuffix);
}

std::string series_file_key(const SeriesFileName& name) {
  return fmt::format("{}{}-{:012}-{:012}-{}{}", kSeriesPrefix,
                     encode_worker(name.worker), name.first, name.last,
                     name.number, kSeriesSuffix);
}

std::string statistics_file_key(const StatisticsFileName& name) {
  return fmt::format("{}{}/{}-{:012}-{:012}{}", kStatisticsPrefix,
                     encode_worker(name.worker), name.attempt, name.first,
                     name.last, kStatisticsSuffix);
}

std::string worker_claim_key(std::string_view worker) {
  return fmt::format("claims/{}.smd", encode_worker(worker));
}

std::string attempt_folder(std::uint64_t number) {
  return "attempts/" + std::to_string(number);
}

std::optional<StepFileName> parse_step_file_key(std::string_view key) {
  if (!has_extension_of_its_folder(key)) return std::nullopt;
  std::string_view name = key.substr(key.rfind('/') + 1);
  const auto step = leading_step(name);
  if (!step) return std::nullopt;
  name.remove_prefix(step->second);
  name = name.substr(0, name.rfind('.'));
  if (name.size() < 2 || name.front() != '_' || !is_utf8(name)) {
    return std::nullopt;
  }
  return StepFileName{step->first, decode_worker(name.substr(1))};
}

std::optional<std::string> parse_collections_file_key(std::string_view key) {
  if (!key.starts_with(kCollectionsPrefix)) return std::nullopt;
  if (!key.ends_with(kCollectionsSuffix)) return std::nullopt;
  std::string_view name = key.substr(key.rfind('/') + 1);
  if (name.size() <= kCollectionsSuffix.size() || !is_utf8(name)) {
    return std::nullopt;
  }
  name.remove_suffix(kCollectionsSuffix.size());
  return decode_worker(name);
}

std::optional<StepFileName> parse_facts_file_key(std::string_view key) {
  if (!key.starts_with(kFactsPrefix)) return std::nullopt;
  if (!key.ends_with(kFactsSuffix)) return std::nullopt;
  key.remove_prefix(kFactsPrefix.size());
  key.remove_suffix(kFactsSuffix.size());
  if (!is_utf8(key) || key.find('/') != key.npos) return std::nullopt;
  const auto step = take_last_number(key);
  if (!step) return std::nullopt;
  return StepFileName{*step, decode_worker(key)};
}

std::optional<SeriesFileName> parse_series_file_key(std::string_view key) {
  if (!key.starts_with(kSeriesPrefix)) return std::nullopt;
  if (!key.ends_with(kSeriesSuffix)) return std::nullopt;
  key.remove_prefix(kSeriesPrefix.size());
  key.remove_suffix(kSeriesSuffix.size());
  if (!is_utf8(key) || key.find('/') != key.npos) return std::nullopt;
  const auto number = take_last_number(key);
  const auto last = number ? take_last_number(key) : std::nullopt;
  const auto first = last ? take_last_number(key) : std::nullopt;
  if (!first || *first > *last) return std::nullopt;
  return SeriesFileName{decode_worker(key), *first, *last,
                        static_cast<std::uint64_t>(*number)};
}

std::optional<StatisticsFileName> parse_statistics_file_key(
    std::string_view key) {
  if (!key.starts_with(kStatisticsPrefix)) return std::nullopt;
  if (!key.ends_with(kStatisticsSuffix)) return std::nullopt;
  key.remove_prefix(kStatisticsPrefix.size());
  key.remove_suffix(kStatisticsSuffix.size());
  const std::size_t slash = key.find('/');
  if (slash == key.npos || slash == 0 || !is_utf8(key)) return std::nullopt;
  std::string_view numbers = key.substr(slash + 1);
  const auto last = take_last_number(numbers);
  const auto first = last ? take_last_number(numbers) : std::nullopt;
  const auto attempt = leading_step(numbers);
  if (!first || !attempt || attempt->second != numbers.size() ||
      *first > *last) {
    return std::nullopt;
  }
  return StatisticsFileName{decode_worker(key.substr(0, slash)),
                            static_cast<std::uint64_t>(attempt->first), *first,
                            *last};
}

std::optional<Step> parse_fired_file_key(std::string_view key) {
  if (!key.starts_with(kFiredPrefix) || !key.ends_with(".json"))
    return std::nullopt;
  key.remove_prefix(kFiredPrefix.size());
  const auto step = leading_step(key);
  if (!step || key[step->second] != '_' || key.find('/') != key.npos)
    return std::nullopt;
  return step->first;
}

bool is_run_file_key(std::string_view key) {
  key = finished_key(key);
  if (!key.starts_with(kAttemptsPrefix)) return is_attempt_file_key(key);
  const std::size_t slash = key.find('/', kAttemptsPrefix.size());
  return slash != key.npos && is_attempt_file_key(key.substr(slash + 1));
}

}  // namespace smdebug
