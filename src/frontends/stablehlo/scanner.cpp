#include "frontends/stablehlo/scanner.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tosavk::stablehlo {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool begins_word(char c) { return is_letter(c) || c == '_'; }
bool goes_on_word(char c) { return begins_word(c) || is_digit(c) || c == '$' || c == '.'; }

}  // namespace

void Scanner::fail_at(std::size_t at, const std::string& what, ErrorCode code) const {
    const std::string_view before = text_.substr(0, std::min(at, text_.size()));
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const std::size_t begin = before.rfind('\n') + 1;  // 0 where there is none
    throw Error(code,
                fmt::format("StableHLO text: {} (at line {}, column {})", what, lines + 1, before.size() - begin + 1));
}

void Scanner::skip_blanks() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') ++at_;
        else if (text_.substr(at_, 2) == "//") at_ = std::min(text_.find('\n', at_), text_.size());
        else return;
    }
}

char Scanner::peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::next_is(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
}

bool Scanner::accept(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
}

void Scanner::expect(std::string_view token) {
    if (accept(token)) return;
    const std::string_view found = text_.substr(at_, 16);
    fail(fmt::format("'{}' is expected, not '{}'", token, printable(found.substr(0, found.find('\n')))));
}

std::string_view Scanner::peek_word() {
    skip_blanks();
    std::size_t end = at_;
    if (end < text_.size() && begins_word(text_[end]))
        while (end < text_.size() && goes_on_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
    const std::string_view found = peek_word();
    if (found.empty()) fail("a word is expected");
    at_ += found.size();
    return found;
}

bool Scanner::accept_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
}

void Scanner::expect_word(std::string_view word) {
    if (!accept_word(word)) fail(fmt::format("'{}' is expected", word));
}

std::string_view Scanner::suffix() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (goes_on_word(text_[end]) || (text_[end] == '-' && !text_.substr(end).starts_with("->"))))
        ++end;
    if (end == at_) fail("a name is expected");
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
}

std::string_view Scanner::raw_string() {
    expect("\"");
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != '"') fail_at(begin - 1, "a string has no end");
    return text_.substr(begin, at_++ - begin);
}

std::string Scanner::string() {
    const std::size_t begin = at_;
    const std::string_view raw = raw_string();
    std::string out;
    for (std::size_t k = 0; k < raw.size(); ++k) {
        if (raw[k] != '\\') {
            out += raw[k];
            continue;
        }
        const char next = k + 1 < raw.size() ? raw[k + 1] : '\0';
        unsigned code = 0;
        if (next == 'n' || next == 't' || next == '\\' || next == '"') {
            out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
            k += 1;
        } else if (k + 2 < raw.size() && is_hexadecimal(next) && is_hexadecimal(raw[k + 2])) {
            std::from_chars(raw.data() + k + 1, raw.data() + k + 3, code, 16);
            out += static_cast<char>(code);
            k += 2;
        } else {
            fail_at(begin, "a string has a strange escape");
        }
    }
    return out;
}

std::string_view Scanner::number() {
    skip_blanks();
    const auto here = [&](std::size_t at) { return at < text_.size() ? text_[at] : '\0'; };
    std::size_t end = at_;
    if (here(end) == '-' || here(end) == '+') ++end;
    const std::size_t first = end;
    if (here(end) == '0' && here(end + 1) == 'x' && is_hexadecimal(here(end + 2))) {
        end += 2;
        while (is_hexadecimal(here(end))) ++end;
    } else {
        while (is_digit(here(end))) ++end;
        if (end > first && here(end) == '.') {
            ++end;
            while (is_digit(here(end))) ++end;
        }
        const std::size_t power = end + (here(end + 1) == '-' || here(end + 1) == '+' ? 2 : 1);
        if (end > first && (here(end) == 'e' || here(end) == 'E') && is_digit(here(power))) {
            end = power;
            while (is_digit(here(end))) ++end;
        }
    }
    if (end == first) fail("a number is expected");
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
}

std::int64_t Scanner::integer() {
    const std::size_t begin = at_;
    const std::string_view found = number();
    std::int64_t value = 0;
    const auto read = std::from_chars(found.data(), found.data() + found.size(), value);
    if (read.ec != std::errc() || read.ptr != found.data() + found.size()) fail_at(begin, "an integer is expected");
    return value;
}

std::int64_t Scanner::digits() {
    std::int64_t value = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (read.ec != std::errc() || value < 0 || at_ >= text_.size() || !is_digit(text_[at_]))
        fail("a number is expected");
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return value;
}

void Scanner::skip_brackets() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
        const char c = peek();
        if (c == '\0') fail_at(begin, "a bracket is not closed");
        if (c == '"') {
            raw_string();
            continue;
        }
        if (next_is("->")) {
            at_ += 2;
            continue;
        }
        if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
        if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
        ++at_;
    } while (depth > 0);
}

}  // namespace tosavk::stablehlo
