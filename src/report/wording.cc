#include "report/wording.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace smdebug {

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double amount = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (amount >= 999.95 && unit + 1 < kUnits.size()) {
    amount /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", seconds * 1000);
  constexpr double kYears = 1e10;
  if (!(seconds < kYears)) return fmt::format("{:.3g} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string age_text(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr std::array kUnits = {Unit{86400, "day"}, Unit{3600, "h"},
                                 Unit{60, "min"}};
  constexpr double kLongest = 1e12;  // larger ones are no ages
  if (!(seconds < kLongest)) return "";
  for (const auto& [unit, name] : kUnits) {
    if (seconds < unit) continue;
    const auto count = static_cast<std::uint64_t>(seconds / unit);
    if (name == "day") return count_text(count, name) + " ago";
    return fmt::format("{} {} ago", count, name);
  }
  return fmt::format("{:.0f} s ago", std::max(0.0, std::floor(seconds)));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";  // without its sign
  return fmt::format("{:.4g}", value);
}

std::string loss_text(double value, Mode mode) {
  if (mode == Mode::train || mode == Mode::global) return number_text(value);
  return fmt::format("{} ({})", number_text(value), mode_name(mode));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string date_text(double wall_seconds) {
  // The years 1000 to 9999, which have four digits.
  if (!(wall_seconds >= -30'610'224'000 && wall_seconds < 253'402'300'800)) {
    return "at an unknown time";
  }
  using std::chrono::floor;
  const std::chrono::sys_seconds time{std::chrono::seconds(
      static_cast<std::int64_t>(std::floor(wall_seconds)))};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format(
      "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string damage_note(std::size_t files) {
  if (files == 0) return "";
  return fmt::format("; {} of the run {} damaged, 'smdebug show' lists {}",
                     count_text(files, "file"), files == 1 ? "is" : "are",
                     files == 1 ? "it" : "them");
}

std::string raised_text(const std::string& exception) {
  return "ended by " + exception;
}

bool hides_tensors(std::span<const Damage> damage) {
  return std::ranges::any_of(damage, &Damage::hides_tensors);
}

std::string hidden_note(std::span<const Damage> damage) {
  const auto files = static_cast<std::size_t>(
      std::ranges::count_if(damage, &Damage::hides_tensors));
  if (files == 0) return "";
  return fmt::format("; {} of the run {} damaged", count_text(files, "file"),
                     files == 1 ? "is" : "are");
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string python_string(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    if (c == '\n') {
      literal += "\\n";
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

}  // namespace smdebug
