#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <pcre2.h>

namespace smdebug {
namespace {

// The budget of a pattern, over all texts, beyond `kFreeLimit` of each: enough
// for one search of ten million steps, which takes about a second.
constexpr std::uint64_t kBudget = 20'000'000;

// Far more than reasonable patterns need for the name of a tensor. Takes about
// 0.1 ms to reach.
constexpr std::uint32_t kFreeLimit = 1'000;
constexpr std::uint32_t kLimitGrowth = 10;

template <auto free_function>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;
using CompileContext =
    std::unique_ptr<pcre2_compile_context, Free<pcre2_compile_context_free>>;
using MatchContext =
    std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>>;
using Match = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string library_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Where a pattern has a mistake that was found at `position`.
std::string place_in(std::string_view pattern, std::size_t position) {
  if (position == 0) return "at its start";
  return fmt::format("near '{}'", pattern.substr(0, position));
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") ==
         std::string_view::npos;
}

// Translates a pattern of Python to PCRE2. The syntax differs in `\Z` (the very
// end), `\uXXXX`, `\UXXXXXXXX` and `{,n}`.
class PythonPattern {
 public:
  explicit PythonPattern(std::string_view pattern) : rest_(pattern) {}

  std::string translate() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\' && rest_.size() > 1) {
        escape();
      } else if (in_class_) {
        class_character();
      } else {
        character();
      }
    }
    return std::move(out_);
  }

 private:
  void take(std::size_t n) {
    out_ += rest_.substr(0, n);
    rest_.remove_prefix(n);
  }

  void escape() {
    const char letter = rest_[1];
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const std::string_view code = rest_.substr(2, digits);
    if (letter == 'Z' && !in_class_) {
      out_ += "\\z";
      rest_.remove_prefix(2);
    } else if (digits > 0 && code.size() == digits && is_hexadecimal(code)) {
      out_ += fmt::format("\\x{{{}}}", code);
      rest_.remove_prefix(2 + digits);
    } else {
      take(2);
    }
  }

  void class_character() {
    in_class_ = rest_[0] != ']';
    take(1);
  }

  void character() {
    if (rest_[0] == '[') {
      in_class_ = true;
      take(rest_.starts_with("[^") ? 2 : 1);
      // A bracket in the first position is a literal.
      if (rest_.starts_with("]")) take(1);
    } else if (rest_.starts_with("{,")) {
      out_ += "{0";
      rest_.remove_prefix(1);
    } else {
      take(1);
    }
  }

  std::string_view rest_;
  std::string out_;
  bool in_class_ = false;
};

}  // namespace

struct Regex::Compiled {
  std::string pattern;
  Code code;
  std::atomic<std::uint64_t> spent = 0;  // of the budget

  int match(std::string_view text, std::uint32_t limit) const;
};

int Regex::Compiled::match(std::string_view text, std::uint32_t limit) const {
  const MatchContext limits(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(limits.get(), limit);
  const Match match(pcre2_match_data_create_from_pattern(code.get(), nullptr));
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code.get(), units(text), text.size(), 0, options,
                       match.get(), limits.get());
  };
  const int answer = run(0);
  // The interpreter has its stack on the heap, with more space.
  return answer == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : answer;
}

Regex::Regex(std::unique_ptr<Compiled> compiled)
    : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

const std::string& Regex::pattern() const { return compiled_->pattern; }

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string translated = PythonPattern(pattern).translate();
  CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE position = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->pattern = pattern;
  compiled->code.reset(pcre2_compile(
      units(translated), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
      &code, &position, context.get()));
  if (!compiled->code) {
    return Error{
        Error::Code::invalid_config,
        fmt::format("pattern '{}' does not compile: {} {}", pattern,
                    library_message(code), place_in(translated, position))};
  }
  // Ignores failure: without JIT, the interpreter gives the same results.
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
  return Regex(std::move(compiled));
}

// The library does not report how far a search went, so a search starts with a
// small limit and is repeated with a larger one.
Result<bool> Regex::search(std::string_view text) const {
  int answer = PCRE2_ERROR_MATCHLIMIT;
  for (std::uint32_t limit = kFreeLimit; answer == PCRE2_ERROR_MATCHLIMIT;
       limit *= kLimitGrowth) {
    const bool is_free = limit == kFreeLimit;
    if (has_given_up() ||
        (!is_free && compiled_->spent.fetch_add(limit) + limit > kBudget)) {
      break;
    }
    answer = compiled_->match(text, limit);
  }
  if (answer >= 0) return true;
  if (answer == PCRE2_ERROR_NOMATCH) return false;
  return Error{
      Error::Code::unsupported,
      fmt::format("pattern '{}' is too complex: it gave up at '{}' ({}) and "
                  "matches no further text; simplify it",
                  compiled_->pattern, text, library_message(answer))};
}

bool Regex::has_given_up() const { return compiled_->spent > kBudget; }

}  // namespace smdebug
