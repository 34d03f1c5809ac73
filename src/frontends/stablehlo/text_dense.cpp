// Dense constants of text: dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, dense<"0x..."> and dense_resource<name>.
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/text_values.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace tosavk::stablehlo {

namespace {

void append_bits(std::uint64_t bits, std::size_t size, Bytes& out) {
    for (std::size_t k = 0; k < size; ++k) out.push_back(static_cast<std::byte>(bits >> (8 * k)));
}

unsigned hexadecimal_digit(char c) {
    return static_cast<unsigned>(c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0');
}

bool is_hexadecimal_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

void append_element(Scanner& in, Element element, Bytes& out) {
    const std::size_t size = bytes_of(element);
    const std::size_t at = in.at();
    const auto misfit = [&](std::string_view text) {
        in.fail_at(at, fmt::format("'{}' is no {}", printable(text), name_of(element)));
    };
    if (element == Element::c64 || element == Element::c128) {
        const Element part = element == Element::c64 ? Element::f32 : Element::f64;
        in.expect("(");
        append_element(in, part, out);
        in.expect(",");
        append_element(in, part, out);
        in.expect(")");
        return;
    }
    if (element == Element::pred) {
        if (const std::string_view word = in.peek_word(); word == "true" || word == "false") {
            in.word();
            append_bits(word == "true", size, out);
            return;
        }
    }
    const std::string_view text = in.number();
    const std::string_view unsigned_text = text.substr(text[0] == '+' || text[0] == '-' ? 1 : 0);
    const bool is_negative = text[0] == '-', is_hexadecimal = unsigned_text.starts_with("0x");
    const char* const end = text.data() + text.size();
    std::uint64_t magnitude = 0;
    if (is_hexadecimal) {
        const auto read = std::from_chars(unsigned_text.data() + 2, end, magnitude, 16);
        if (read.ec != std::errc()) misfit(text);
    }
    const int bits = element == Element::pred ? 1 : bits_of(element);
    if (is_real(element)) {
        if (is_hexadecimal) {
            if (is_negative || (bits < 64 && magnitude >> bits != 0)) misfit(text);
            append_bits(magnitude, size, out);
            return;
        }
        double value = 0;
        const auto read = std::from_chars(text.data() + (text[0] == '+'), end, value);
        // What is too large or too small for a double has lost its value: the library leaves it as it was.
        if (read.ec != std::errc() || read.ptr != end) misfit(text);
        const auto encoded = bits_from_real(element, value);
        if (!encoded) misfit(text);
        append_bits(*encoded, size, out);
        return;
    }
    if (!is_hexadecimal) {
        const auto read = std::from_chars(unsigned_text.data(), end, magnitude);
        if (read.ec != std::errc() || read.ptr != end) misfit(text);
    }
    const std::uint64_t all_ones = ~std::uint64_t{0} >> (64 - bits);
    const bool fits = is_negative
                        ? (is_signed_integer(element) || element == Element::index) && magnitude <= all_ones / 2 + 1
                        : magnitude <= all_ones;
    if (!fits) misfit(text);
    append_bits((is_negative ? ~magnitude + 1 : magnitude) & all_ones, size, out);
}

Bytes TextValues::hexadecimal_bytes(std::size_t at, std::string_view text) const {
    if (!text.starts_with("0x") || text.size() % 2 != 0) in_.fail_at(at, "a string of bytes does not begin with 0x");
    Bytes out(text.size() / 2 - 1);
    for (std::size_t k = 0; k < out.size(); ++k) {
        const char high = text[2 * k + 2], low = text[2 * k + 3];
        if (!is_hexadecimal_digit(high) || !is_hexadecimal_digit(low))
            in_.fail_at(at, "a string of bytes has other signs");
        out[k] = static_cast<std::byte>(hexadecimal_digit(high) << 4 | hexadecimal_digit(low));
    }
    return out;
}

AttributePointer TextValues::dense(std::size_t depth) {
    in_.expect_word("dense");
    in_.expect("<");
    // The type stands behind what it is the type of.
    const std::size_t begin = in_.at();
    if (in_.peek() == '"') in_.raw_string();
    const std::size_t close = in_.text().find('>', in_.at());
    if (close == std::string_view::npos) in_.fail_at(begin, "a constant has no end");
    in_.move_to(close + 1);
    in_.expect(":");
    const TypePointer given = type(depth + 1);
    const std::size_t end = in_.at();
    if (given->kind != Type::Kind::tensor || given->quantization || !element_count(given->dims) ||
        bytes_of(given->element) == 0) {
        in_.fail_at(begin, "a constant cannot have the type " + to_string(*given));
    }
    in_.move_to(begin);
    AttributePointer made = elements_here(given);
    in_.expect(">");
    if (in_.at() != close + 1) in_.fail("a constant goes on");
    in_.move_to(end);
    return made;
}

AttributePointer TextValues::elements_here(const TypePointer& type) {
    const std::size_t begin = in_.at();
    Bytes bytes;
    if (in_.peek() == '"') {
        bytes = hexadecimal_bytes(begin, in_.raw_string());
    } else if (in_.peek() == '[') {
        // Lists of lists: how many stand in each that is open, outermost first.
        std::vector<std::int64_t> counts;
        const std::vector<std::int64_t>& dims = type->dims;
        if (dims.empty()) in_.fail("a constant of one number is a list");
        for (bool is_done = false; !is_done;) {
            while (counts.size() < dims.size() && in_.accept("[")) counts.push_back(0);
            if (counts.size() < dims.size()) {
                in_.fail("a constant is not nested as deep as its type has dimensions");
            }
            if (dims.back() != 0) append_element(in_, type->element, bytes);
            if (dims.back() != 0) ++counts.back();
            while (!in_.accept(",")) {
                in_.expect("]");
                if (counts.back() != dims[counts.size() - 1]) {
                    in_.fail(fmt::format("a constant has {} parts where its type has {}", counts.back(),
                                         dims[counts.size() - 1]));
                }
                counts.pop_back();
                is_done = counts.empty();
                if (is_done) break;
                ++counts.back();
            }
        }
    } else if (in_.peek() != '>') {
        append_element(in_, type->element, bytes);
        // A splat of flags is told from packed ones by its bits.
        if (type->element == Element::pred) {
            Elements splat{type, SharedBytes(std::move(bytes)), true};
            if (*element_count(type->dims) == 0) splat = {type, SharedBytes(Bytes()), false};
            return stablehlo::attribute(std::move(splat));
        }
    } else if (*element_count(type->dims) != 0) {
        in_.fail("a constant has no elements");
    }
    DenseResult made = dense_from_bytes(type, std::move(bytes));
    if (!made.problem.empty()) in_.fail_at(begin, made.problem);
    return stablehlo::attribute(std::move(made.elements));
}

AttributePointer TextValues::dense_resource(std::size_t depth) {
    const std::size_t at = in_.at();
    in_.expect_word("dense_resource");
    in_.expect("<");
    const std::string name = in_.peek() == '"' ? in_.string() : std::string(in_.word());
    in_.expect(">");
    in_.expect(":");
    const TypePointer given = type(depth + 1);
    const auto found = resources_.find(name);
    if (found == resources_.end()) in_.fail_at(at, fmt::format("there is no resource '{}'", printable(name)));
    AttributePointer& known = resource_constants_[name + " : " + to_string(*given)];
    if (known) return known;
    const std::size_t back = in_.at();
    in_.move_to(found->second);
    Bytes bytes = hexadecimal_bytes(found->second, in_.raw_string());
    in_.move_to(back);
    // The first four bytes are the alignment.
    if (bytes.size() < 4) in_.fail_at(found->second, "a resource has no alignment");
    bytes.erase(bytes.begin(), bytes.begin() + 4);
    DenseResult made = dense_from_bytes(given, std::move(bytes));
    if (!made.problem.empty()) in_.fail_at(at, made.problem);
    return known = stablehlo::attribute(std::move(made.elements));
}

}  // namespace tosavk::stablehlo
