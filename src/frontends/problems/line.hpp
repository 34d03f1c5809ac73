// The words of a problem line.
#pragma once

#include "graph/graph.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

/// "OPERATOR TYPE SHAPE... [KEY...]". The functions named take_... hand a word out once; finish() refuses a line with
/// words that nobody took.
class Line {
public:
    explicit Line(std::string_view text);

    const std::string& text() const { return text_; }
    const std::string& op() const { return op_; }
    DType type() const { return type_; }           ///< of the data
    DType weight_type() const { return weight_; }  ///< of weights: the same, but for i4 (i8 data) and 16x8

    /// The next shape ("1x56x56x64"); `what` is its name in messages. With a rank, any other is refused.
    Shape take_shape(const char* what, std::optional<std::size_t> rank = std::nullopt);
    std::optional<Shape> take_shape_if_any();
    /// The next list with commas ("1,0", "-1,2,0,0").
    std::vector<std::int64_t> take_list(const char* what, std::size_t count);
    /// The key of letters with its numbers ("s2", "s2x1", "p0,1,0,1"); empty when it is not there.
    std::vector<std::int64_t> take_key(std::string_view name);
    std::int64_t take_number(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most);
    /// A type that stands after the shapes ("cast f32 64 i8").
    std::optional<DType> take_type();
    bool take_word(std::string_view word);
    std::optional<std::string> take_next_word();

    /// Throws Error(usage): the line, then the sentence.
    [[noreturn]] void fail(const std::string& what) const;
    void finish() const;

private:
    enum class Kind { shape, list, key, type, word };
    struct Token {
        std::string text;
        Kind kind = Kind::word;
        std::string name;                   ///< of a key
        std::vector<std::int64_t> numbers;  ///< of a shape, list or key
        DType type = DType::fp32;
        bool taken = false;
    };

    Token parse(const std::string& word) const;
    Token* next(Kind kind);

    std::string text_, op_;
    DType type_ = DType::fp32, weight_ = DType::fp32;
    std::vector<Token> tokens_;
};

/// "f32" -> fp32; also the specification's own spelling.
std::optional<DType> problem_type(std::string_view word);
std::string_view problem_type_name(DType type);  ///< the inverse: "f32", "e4m3", ...

}  // namespace tosavk
