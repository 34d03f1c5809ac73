// Walks MLIR text: words, numbers, strings and punctuation, each after any blanks and comments. What is wrong is told
// with line and column.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tosavk::stablehlo {

class Scanner {
public:
    /// The text outlives the scanner.
    explicit Scanner(std::string_view text) : text_(text) {}

    std::string_view text() const { return text_; }
    std::size_t at() const { return at_; }
    void move_to(std::size_t at) { at_ = at; }

    char peek();  ///< the next character, 0 at the end
    bool at_end() { return peek() == 0 && at_ == text_.size(); }
    bool next_is(std::string_view token);
    bool accept(std::string_view token);
    void expect(std::string_view token);

    /// A letter or underscore, then those, digits, "$" and "."; empty where there is none.
    std::string_view peek_word();
    std::string_view word();  ///< fails where there is none
    bool accept_word(std::string_view word);
    void expect_word(std::string_view word);
    /// What follows "%", "#", "!" or "^" directly.
    std::string_view suffix();
    std::string string();           ///< quoted; without its escapes
    std::string_view raw_string();  ///< what is between quotes, with its escapes
    std::string_view number();      ///< decimal, hexadecimal or with a point; its sign belongs to it
    std::int64_t integer();
    std::int64_t digits();  ///< decimal, directly here: "4" of "4x0xf32"
    /// Skips what is in brackets, which begin here, with the brackets in it.
    void skip_brackets();

    [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::bad_model) const {
        fail_at(at_, what, code);
    }
    [[noreturn]] void fail_at(std::size_t at, const std::string& what, ErrorCode code = ErrorCode::bad_model) const;

private:
    void skip_blanks();

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace tosavk::stablehlo
