#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <utility>

#include <fmt/format.h>
#include <pcre2.h>

namespace smdebug {
namespace {

// Far more than reasonable patterns need for the name of a tensor. Takes about
// a second to reach.
constexpr std::uint32_t kMatchLimit = 10'000'000;

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
  MatchContext limits;
};

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
        fmt::format("pattern '{}' does not compile: {} near '{}'", pattern,
                    library_message(code), translated.substr(0, position))};
  }
  // Ignores failure: without JIT, the interpreter gives the same results.
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
  compiled->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled->limits.get(), kMatchLimit);
  return Regex(std::move(compiled));
}

Result<bool> Regex::search(std::string_view text) const {
  const pcre2_code* code = compiled_->code.get();
  const Match match(pcre2_match_data_create_from_pattern(code, nullptr));
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code, units(text), text.size(), 0, options, match.get(),
                       compiled_->limits.get());
  };
  int answer = run(0);
  // The interpreter has its stack on the heap, with more space.
  if (answer == PCRE2_ERROR_JIT_STACKLIMIT) answer = run(PCRE2_NO_JIT);
  if (answer >= 0) return true;
  if (answer == PCRE2_ERROR_NOMATCH) return false;
  return Error{
      Error::Code::unsupported,
      fmt::format("pattern '{}' is too complex for '{}': {}; simplify it",
                  compiled_->pattern, text, library_message(answer))};
}

}  // namespace smdebug
