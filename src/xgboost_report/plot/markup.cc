#include "xgboost_report/plot/markup.h"

#include <fmt/format.h>

#include "smdebug/base/escape.h"

#include "base/strings.h"

namespace smdebug {
namespace {

constexpr std::size_t kLongestWord = 24;

void append_escaped(std::string_view text, std::string& markup) {
  for (const char c : text) {
    switch (c) {
      case '&':
        markup += "&amp;";
        break;
      case '<':
        markup += "&lt;";
        break;
      case '>':
        markup += "&gt;";
        break;
      case '"':
        markup += "&quot;";
        break;
      case '\'':
        markup += "&#39;";
        break;
      default:
        markup += c;
    }
  }
}

// The characters of `text`, each as its bytes.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    const auto point = first_code_point(text);
    characters.push_back(text.substr(0, point ? point->bytes : 1));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

bool is_letter(std::string_view character) {
  const char c = character.front();
  return character.size() > 1 || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// Whether a line may end between the two. Numbers such as 1e-05 stay whole.
bool may_break(std::string_view character, std::string_view next) {
  constexpr std::string_view kAnywhere = " _/\\|";
  constexpr std::string_view kBeforeLetters = "-.,:;=+([{";
  if (character.size() != 1) return false;
  const char c = character.front();
  return kAnywhere.find(c) != kAnywhere.npos ||
         (kBeforeLetters.find(c) != kBeforeLetters.npos && is_letter(next));
}

// In widths of an average lower case letter of a proportional font.
double width_of(std::string_view character) {
  constexpr std::string_view kWide = "mwMW@%";
  const auto point = first_code_point(character);
  if (point && point->value >= 0x1100) return 1.8;
  if (character.size() > 1) return 1.2;
  const char c = character.front();
  if (kWide.find(c) != kWide.npos) return 1.6;
  return c >= 'A' && c <= 'Z' ? 1.25 : 1;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string markup;
  append_escaped(printable(text), markup);
  return markup;
}

std::string wrappable(std::string_view text) {
  const std::string clean = printable(text);
  const auto characters = characters_of(clean);
  std::string markup;
  std::size_t word = 0;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    append_escaped(characters[i], markup);
    ++word;
    if (i + 1 == characters.size()) break;
    const bool breaks = may_break(characters[i], characters[i + 1]);
    if (!breaks && word < kLongestWord) continue;
    if (characters[i] != " ") markup += "<wbr>";
    word = 0;
  }
  return markup;
}

std::string shortened_middle(std::string_view text, std::size_t characters) {
  const auto all = characters_of(text);
  if (all.size() <= characters) return std::string(text);
  const std::size_t head = characters / 2;
  const std::size_t tail = characters - head;
  std::string shown;
  for (std::size_t i = 0; i < head; ++i) shown += all[i];
  shown += "…";
  for (std::size_t i = all.size() - tail; i < all.size(); ++i) shown += all[i];
  return shown;
}

std::vector<std::string> wrapped_lines(std::string_view text, double width) {
  const auto characters = characters_of(text);
  std::vector<std::string> lines(1);
  double used = 0;
  std::size_t last_break = 0;  // bytes of the line up to where it may break
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const double more = width_of(characters[i]);
    if (used + more > width && !lines.back().empty()) {
      const std::size_t end = last_break > 0 ? last_break : lines.back().size();
      std::string rest = lines.back().substr(end);
      lines.back().resize(end);
      if (lines.back().ends_with(' ')) lines.back().pop_back();
      used = 0;
      for (const std::string_view c : characters_of(rest)) used += width_of(c);
      lines.push_back(std::move(rest));
      last_break = 0;
    }
    lines.back() += characters[i];
    used += more;
    if (i + 1 < characters.size() &&
        may_break(characters[i], characters[i + 1])) {
      last_break = lines.back().size();
    }
  }
  return lines;
}

std::string shortened(std::string_view text, std::size_t characters) {
  const auto all = characters_of(text);
  if (all.size() <= characters) return std::string(text);
  std::string shown;
  for (std::size_t i = 0; i < characters; ++i) shown += all[i];
  return shown + "…";
}

namespace {

std::string cell(std::string_view tag, bool of_numbers, std::string_view text) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag,
                     of_numbers ? " class=\"number\"" : "",
                     of_numbers ? escaped(text) : wrappable(text));
}

}  // namespace

HtmlTable::HtmlTable(const std::vector<std::string>& headings) {
  if (headings.empty()) return;
  html_ = "<tr>";
  for (std::string_view heading : headings) {
    of_numbers_.push_back(heading.starts_with('>'));
    if (of_numbers_.back()) heading.remove_prefix(1);
    html_ += cell("th", of_numbers_.back(), heading);
  }
  html_ += "</tr>\n";
}

void HtmlTable::add(const std::vector<std::string>& row) {
  html_ += "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    html_ += cell("td", i < of_numbers_.size() && of_numbers_[i], row[i]);
  }
  html_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  return "<table>\n" + html_ + "</table>\n";
}

// Kinds: the palette of Okabe and Ito, each with its own dashes, so that lines
// differ in a gray print. Orders: matplotlib's color map "plasma", whose
// lightness increases steadily. Shades: from white to blue.
std::string_view report_style() {
  return R"css(
:root { --text: #1c1c1c; --soft: #595959; --page: #ffffff; --grid: #e4e4e4;
  --rule: #8a8a8a; --note: #f4f4f1; }
.kind0 { --color: #0072b2; }
.kind1 { --color: #d55e00; stroke-dasharray: 7 3; }
.kind2 { --color: #009e73; stroke-dasharray: 2 2.5; }
.kind3 { --color: #cc79a7; stroke-dasharray: 9 3 2 3; }
.kind4 { --color: #b87f00; stroke-dasharray: 4 2; }
.kind5 { --color: #3a9bd5; stroke-dasharray: 12 4; }
.kind6 { --color: var(--text); stroke-dasharray: 1 2; }
.kind7 { --color: #7a5195; stroke-dasharray: 6 2 2 2 2 2; }
.order0 { --color: #0d0887; } .order1 { --color: #41049d; }
.order2 { --color: #6a00a8; } .order3 { --color: #8f0da4; }
.order4 { --color: #b12a90; } .order5 { --color: #cc4778; }
.order6 { --color: #e16462; } .order7 { --color: #f2844b; }
.order8 { --color: #fca636; } .order9 { --color: #d9b40f; }
.shade0 { fill: #ffffff; } .shade1 { fill: #eff3fb; }
.shade2 { fill: #dbe6f5; } .shade3 { fill: #c3d8ee; }
.shade4 { fill: #a3c6e4; } .shade5 { fill: #4a8fc4; }
.shade6 { fill: #357fb8; } .shade7 { fill: #226dab; }
.shade8 { fill: #125c99; } .shade9 { fill: #08468b; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #ececec; --soft: #b4b4b4; --page: #17181a; --grid: #33363a;
    --rule: #84878c; --note: #232529; color-scheme: dark; }
  .kind0 { --color: #56b4e9; } .kind1 { --color: #ff8c42; }
  .kind5 { --color: #9ad0f5; } .kind7 { --color: #b79bd1; }
  .order0 { --color: #6f6bff; } .order1 { --color: #8a5cf0; }
  .order2 { --color: #a54ee0; }
}
body { color: var(--text); background: var(--page); margin: 0;
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 720px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 25px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 38px 0 8px; padding-bottom: 4px;
  border-bottom: 1px solid var(--grid); }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 6px 0 10px; }
.soft { color: var(--soft); font-size: 13px; }
.missing, .reading { background: var(--note); padding: 9px 13px;
  border-left: 3px solid var(--rule); }
table { border-collapse: collapse; font-size: 13.5px; margin: 8px 0 12px;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 18px 3px 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
th { font-weight: 600; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
svg { display: block; width: 100%; height: auto; margin: 10px 0 4px;
  font: 11.5px system-ui, "DejaVu Sans", sans-serif; }
svg text { fill: var(--text); }
svg .tick { fill: var(--soft); }
svg .label { font-size: 12.5px; }
svg .on-light { fill: #111111; }
svg .on-dark { fill: #ffffff; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--rule); fill: none; }
.aid { stroke: var(--rule); stroke-dasharray: 3 3; }
.line { stroke: var(--color); stroke-width: 1.9; stroke-linejoin: round;
  fill: none; }
.bar, .dot { fill: var(--color); }
@media print {
  main { max-width: none; padding: 0; }
  svg, table, .reading { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
)css";
}

}  // namespace smdebug
