#include "base/masked_arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace smdebug {
namespace {

constexpr std::string_view kMask = "***";

// In a name without separators, in lower case.
constexpr std::array<std::string_view, 14> kSecretParts = {
    "password", "passwd",    "passphrase", "secret",          "credential",
    "apikey",   "accesskey", "privatekey", "accountkey",      "authkey",
    "bearer",   "authoriza", "signature",  "connectionstring"};
constexpr std::array<std::string_view, 5> kSecretWords = {"token", "auth",
                                                          "pwd", "pw", "sig"};
// Words that make a token one of a vocabulary.
constexpr std::array<std::string_view, 8> kVocabularyWords = {
    "pad", "bos", "eos", "unk", "mask", "cls", "sep", "special"};
constexpr std::array<std::string_view, 10> kKeyPrefixes = {
    "ghp_", "gho_", "github_pat_", "glpat-", "hf_",
    "sk-",  "AKIA", "ASIA",        "xoxb-",  "xoxp-"};
constexpr std::size_t kShortestKey = 20;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}
bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// "--apiKey" and "API_KEY" are {"api", "key"}.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool begins = true;
  char before = 0;
  for (const char c : name) {
    const bool is_hump = std::isupper(static_cast<unsigned char>(c)) != 0 &&
                         std::islower(static_cast<unsigned char>(before)) != 0;
    before = c;
    if (!is_letter_or_digit(c)) {
      begins = true;
      continue;
    }
    if (begins || is_hump) words.emplace_back();
    begins = false;
    words.back() += lower(c);
  }
  return words;
}

bool is_secret_name(std::string_view name) {
  if (name.starts_with("AWS_")) return true;
  const std::vector<std::string> words = words_of(name);
  std::string joined;
  for (const std::string& word : words) joined += word;
  const auto is_part = [&](std::string_view part) {
    return joined.find(part) != std::string::npos;
  };
  if (std::ranges::any_of(kSecretParts, is_part)) return true;
  const auto is_among = [&](const auto& list) {
    return std::ranges::any_of(words, [&](const std::string& word) {
      return std::ranges::find(list, word) != list.end();
    });
  };
  if (is_among(kVocabularyWords)) return false;
  return is_among(kSecretWords) ||
         std::ranges::any_of(words, [](const std::string& word) {
           return word.ends_with("token");
         });
}

bool is_key(std::string_view text) {
  return text.size() >= kShortestKey && text.find_first_of(" /") == text.npos &&
         std::ranges::any_of(kKeyPrefixes, [&](std::string_view prefix) {
           return text.starts_with(prefix);
         });
}

// Masks "user:password@" and the values of secret parameters.
std::string masked_url(std::string text) {
  const std::size_t scheme = text.find("://");
  if (scheme == text.npos) return text;
  const std::size_t host = scheme + 3;
  const std::size_t host_end = text.find_first_of("/?#", host);
  const std::size_t at = text.rfind('@', host_end);
  if (at != text.npos && at >= host) text.replace(host, at - host, kMask);
  for (std::size_t next = text.find('?'); next != text.npos;) {
    const std::size_t name = next + 1;
    const std::size_t equals = text.find('=', name);
    next = text.find('&', name);
    if (equals == text.npos) break;
    if (equals > next ||
        !is_secret_name(std::string_view(text).substr(name, equals - name))) {
      continue;
    }
    const std::size_t end =
        std::min(text.find_first_of("&#", equals), text.size());
    text.replace(equals + 1, end - equals - 1, kMask);
    next = text.find('&', equals);
  }
  return text;
}

std::string masked_value(std::string_view value) {
  return is_key(value) ? std::string(kMask) : masked_url(std::string(value));
}

// The position of what separates a name from its value: '=' or ": ".
std::size_t separator_of(std::string_view argument) {
  const std::size_t scheme = argument.find("://");
  const std::size_t equals = argument.find('=');
  const std::size_t colon = argument.find(": ");
  const std::size_t first = std::min(equals, colon);
  return first < scheme ? first : argument.npos;
}

std::string masked_argument(const std::string& argument) {
  const std::size_t separator = separator_of(argument);
  if (separator == argument.npos) return masked_value(argument);
  const std::size_t value = separator + (argument[separator] == ':' ? 2 : 1);
  const std::string name = argument.substr(0, value);
  if (is_secret_name(std::string_view(argument).substr(0, separator)))
    return name + std::string(kMask);
  return name + masked_value(std::string_view(argument).substr(value));
}

}  // namespace

std::vector<std::string> masked_arguments(
    std::span<const std::string> arguments) {
  std::vector<std::string> masked;
  bool is_value_of_secret = false;
  for (const std::string& argument : arguments) {
    const bool is_option = argument.starts_with("-");
    masked.push_back(is_value_of_secret && !is_option
                         ? std::string(kMask)
                         : masked_argument(argument));
    is_value_of_secret = is_option && separator_of(argument) == argument.npos &&
                         is_secret_name(argument);
  }
  return masked;
}

}  // namespace smdebug
