#include "base/iso_time.h"

#include <chrono>

#include "base/strings.h"

namespace smdebug {
namespace {

// Takes the parts of a time from the front of a text. After a part that is not
// as expected, takes nothing more.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return is_valid_ && rest_.empty(); }

  // Takes a number of exactly so many digits, of at most `largest`.
  int number(std::size_t digits, int largest) {
    const auto value = find_number<unsigned>(rest_.substr(0, digits));
    is_valid_ = is_valid_ && rest_.size() >= digits && value &&
                *value <= static_cast<unsigned>(largest);
    if (!is_valid_) return 0;
    rest_.remove_prefix(digits);
    return static_cast<int>(*value);
  }

  bool take(std::string_view word) {
    if (!is_valid_ || !rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) { is_valid_ = take(word); }

  // ".25", or nothing.
  double fraction() {
    if (!take(".")) return 0;
    double value = 0, place = 1;
    do {
      place /= 10;
      value += place * number(1, 9);
    } while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9');
    return value;
  }

  // The time ahead of UTC, in seconds.
  int offset() {
    if (take("Z") || take("UTC") || rest_.empty()) return 0;
    const int sign = take("-") ? -1 : 1;
    if (sign > 0) expect("+");
    const int hours = number(2, 23);
    (void)take(":");
    return sign * (hours * 3600 + number(2, 59) * 60);
  }

 private:
  std::string_view rest_;
  bool is_valid_ = true;
};

}  // namespace

std::optional<double> find_iso_seconds(std::string_view text) {
  TimeReader reader(text);
  const std::chrono::year year(reader.number(4, 9999));
  reader.expect("-");
  const std::chrono::month month(static_cast<unsigned>(reader.number(2, 12)));
  reader.expect("-");
  const std::chrono::day day(static_cast<unsigned>(reader.number(2, 31)));
  if (!reader.take(" ")) reader.expect("T");
  const int hours = reader.number(2, 23);
  reader.expect(":");
  const int minutes = reader.number(2, 59);
  reader.expect(":");
  const int seconds = reader.number(2, 60);
  const double fraction = reader.fraction();
  const int offset = reader.offset();
  const std::chrono::year_month_day date(year, month, day);
  if (!reader.is_at_end() || !date.ok()) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return static_cast<double>(days.count()) * 86400 + hours * 3600 +
         minutes * 60 + seconds + fraction - offset;
}

}  // namespace smdebug
