#include "frontends/problems/line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tosavk {

namespace {

constexpr std::pair<std::string_view, DType> types[] = {
    {"bool", DType::boolean}, {"i4", DType::i4},           {"i8", DType::i8},           {"i16", DType::i16},
    {"i32", DType::i32},      {"i48", DType::i48},         {"f32", DType::fp32},        {"f16", DType::fp16},
    {"bf16", DType::bf16},    {"e4m3", DType::fp8e4m3},    {"e5m2", DType::fp8e5m2},    {"fp32", DType::fp32},
    {"fp16", DType::fp16},    {"fp8e4m3", DType::fp8e4m3}, {"fp8e5m2", DType::fp8e5m2},
};
constexpr std::string_view keys[] = {"s", "p", "d", "axis", "seed", "batch", "size", "keys", "values", "lists"};

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (blank) words.emplace_back();
        else if (words.empty()) words.emplace_back(1, c);
        else words.back() += c;
    }
    std::erase(words, "");
    return words;
}

/// Whole numbers of 32 bits between `separator`s, so that products of two stay exact; nothing when the text is anything
/// else.
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text, char separator) {
    std::vector<std::int64_t> numbers;
    for (;;) {
        const std::size_t end = std::min(text.find(separator), text.size());
        std::int32_t value = 0;
        const auto [at, failure] = std::from_chars(text.data(), text.data() + end, value);
        if (failure != std::errc() || at != text.data() + end) return std::nullopt;
        numbers.push_back(value);
        if (end == text.size()) return numbers;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::optional<DType> problem_type(std::string_view word) {
    for (const auto& [name, type] : types)
        if (name == word) return type;
    return std::nullopt;
}

std::string_view problem_type_name(DType type) {
    for (const auto& [name, known] : types)
        if (known == type) return name;
    return "?";
}

Line::Line(std::string_view text) {
    const std::vector<std::string> words = words_of(text);
    for (const std::string& word : words) text_ += (text_.empty() ? "" : " ") + word;
    if (words.empty()) throw Error(ErrorCode::usage, "a problem line is empty; write OPERATOR TYPE SHAPE...");
    op_ = words[0];
    std::size_t first = 1;
    // "network NAME TYPE": the name goes before the type and is a word like any other.
    if (op_ == "network") {
        if (words.size() < 2) fail("the name of the network is missing");
        tokens_.push_back({.text = words[1], .kind = Kind::word, .name = {}, .numbers = {}});
        first = 2;
    }
    if (words.size() <= first) fail(fmt::format("the type after '{}' is missing", words[first - 1]));
    const std::string& type = words[first];
    if (type == "16x8") {
        type_ = DType::i16;
        weight_ = DType::i8;
    } else if (const auto known = problem_type(type)) {
        type_ = weight_ = *known;
        const bool has_weights =
            op_.find("conv") != std::string::npos || op_ == "depthwise" || op_ == "fully_connected";
        if (type_ == DType::i4 && has_weights) type_ = DType::i8;
    } else {
        fail(fmt::format("'{}' is no type; types are bool i4 i8 i16 i32 i48 f32 f16 bf16 e4m3 e5m2 and 16x8", type));
    }
    for (std::size_t k = first + 1; k < words.size(); ++k) tokens_.push_back(parse(words[k]));
}

Line::Token Line::parse(const std::string& word) const {
    Token token;
    token.text = word;
    if (const auto type = problem_type(word)) {
        token.kind = Kind::type;
        token.type = *type;
        return token;
    }
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (is_digit(word[0]) || word[0] == '-') {
        const bool list = word.find(',') != std::string::npos;
        const auto numbers = numbers_of(word, list ? ',' : 'x');
        if (!numbers)
            fail(fmt::format("'{}' is neither a shape such as 1x56x56x64 nor a list such as 1,0 of 32-bit numbers",
                             word));
        token.kind = list ? Kind::list : Kind::shape;
        token.numbers = *numbers;
        if (list) return token;
        for (const std::int64_t n : *numbers)
            if (n < 1) fail(fmt::format("the shape {} has a dimension of {}", word, n));
        return token;
    }
    const std::size_t digits = word.find_first_of("-0123456789");
    const std::string name = word.substr(0, digits);
    if (digits == std::string::npos || std::find(std::begin(keys), std::end(keys), name) == std::end(keys))
        return token;
    const std::string rest = word.substr(digits);
    const auto numbers = numbers_of(rest, rest.find(',') != std::string::npos ? ',' : 'x');
    if (!numbers) fail(fmt::format("the numbers of '{}' are not whole numbers of 32 bits", word));
    token.kind = Kind::key;
    token.name = name;
    token.numbers = *numbers;
    return token;
}

Line::Token* Line::next(Kind kind) {
    for (Token& token : tokens_) {
        if (token.kind != kind || token.taken) continue;
        token.taken = true;
        return &token;
    }
    return nullptr;
}

std::optional<Shape> Line::take_shape_if_any() {
    const Token* token = next(Kind::shape);
    if (!token) return std::nullopt;
    return token->numbers;
}

Shape Line::take_shape(const char* what, std::optional<std::size_t> rank) {
    const std::optional<Shape> shape = take_shape_if_any();
    if (!shape) fail(fmt::format("the {} is missing", what));
    if (rank && shape->size() != *rank)
        fail(fmt::format("the {} {} has {} numbers, but needs {}", what, to_string(*shape), shape->size(), *rank));
    return *shape;
}

std::vector<std::int64_t> Line::take_list(const char* what, std::size_t count) {
    const Token* token = next(Kind::list);
    if (!token) {
        // A list of one number looks like a shape.
        token = count == 1 ? next(Kind::shape) : nullptr;
        if (!token) fail(fmt::format("the {} ({} numbers with commas) is missing", what, count));
    }
    if (token->numbers.size() != count)
        fail(fmt::format("the {} {} has {} numbers, but needs {}", what, token->text, token->numbers.size(), count));
    return token->numbers;
}

std::vector<std::int64_t> Line::take_key(std::string_view name) {
    for (Token& token : tokens_) {
        if (token.kind != Kind::key || token.name != name) continue;
        if (token.taken) continue;
        token.taken = true;
        return token.numbers;
    }
    return {};
}

std::int64_t Line::take_number(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most) {
    const std::vector<std::int64_t> numbers = take_key(name);
    if (numbers.empty()) return fallback;
    if (numbers.size() != 1 || numbers[0] < least || numbers[0] > most)
        fail(fmt::format("{} takes one number from {} to {}", name, least, most));
    return numbers[0];
}

std::optional<DType> Line::take_type() {
    const Token* token = next(Kind::type);
    if (!token) return std::nullopt;
    return token->type;
}

bool Line::take_word(std::string_view word) {
    for (Token& token : tokens_) {
        if (token.kind != Kind::word || token.taken || token.text != word) continue;
        token.taken = true;
        return true;
    }
    return false;
}

std::optional<std::string> Line::take_next_word() {
    const Token* token = next(Kind::word);
    if (!token) return std::nullopt;
    return token->text;
}

void Line::fail(const std::string& what) const {
    throw Error(ErrorCode::usage, fmt::format("problem line '{}': {}", text_, what));
}

void Line::finish() const {
    for (const Token& token : tokens_) {
        if (!token.taken) fail(fmt::format("'{}' means nothing for {}", token.text, op_));
    }
}

}  // namespace tosavk
