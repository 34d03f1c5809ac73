// The header is a Python dictionary literal; only the three keys that the format defines are accepted, and nothing in
// it is trusted.
#include "base/npy.hpp"

#include "base/error.hpp"
#include "base/files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

namespace tosavk {

static_assert(std::endian::native == std::endian::little, "elements are passed to .npy files in host byte order");

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header_bytes = 65536;
constexpr std::size_t max_rank = 8;

struct NpyType {
    NpyKind kind;
    std::size_t item_size;
    const char* name;
};
constexpr std::array npy_types = {
    NpyType{NpyKind::boolean, 1, "bool"},   NpyType{NpyKind::integer, 1, "int8"},
    NpyType{NpyKind::integer, 2, "int16"},  NpyType{NpyKind::integer, 4, "int32"},
    NpyType{NpyKind::integer, 8, "int64"},  NpyType{NpyKind::natural, 1, "uint8"},
    NpyType{NpyKind::natural, 2, "uint16"}, NpyType{NpyKind::natural, 4, "uint32"},
    NpyType{NpyKind::natural, 8, "uint64"}, NpyType{NpyKind::real, 1, "float8_e5m2"},
    NpyType{NpyKind::real, 2, "float16"},   NpyType{NpyKind::real, 4, "float32"},
    NpyType{NpyKind::opaque, 1, "void8"},   NpyType{NpyKind::opaque, 2, "void16"},
};

[[noreturn]] void bad(const std::string& origin, const std::string& what) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", origin, what));
}

struct Header {
    std::string descr;
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
};

/// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }".
class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

    Header parse() {
        Header header;
        bool seen_descr = false, seen_order = false, seen_shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !seen_descr) {
                seen_descr = true;
                skip_space();
                if (position_ < text_.size() && text_[position_] == '[')
                    bad(origin_, "structured .npy arrays are not supported");
                header.descr = quoted();
            } else if (key == "fortran_order" && !seen_order) {
                seen_order = true;
                header.fortran_order = boolean();
            } else if (key == "shape" && !seen_shape) {
                seen_shape = true;
                header.shape = tuple();
            } else {
                fail();
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (position_ != text_.size() || !seen_descr || !seen_order || !seen_shape) fail();
        return header;
    }

private:
    [[noreturn]] void fail() { bad(origin_, fmt::format("the .npy header is malformed at character {}", position_)); }

    void skip_space() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
    }
    bool accept(char c) {
        skip_space();
        if (position_ >= text_.size() || text_[position_] != c) return false;
        ++position_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail();
    }
    std::string quoted() {
        skip_space();
        const char quote = position_ < text_.size() ? text_[position_] : '\0';
        if (quote != '\'' && quote != '"') fail();
        const std::size_t end = text_.find(quote, position_ + 1);
        if (end == std::string_view::npos) fail();
        std::string result(text_.substr(position_ + 1, end - position_ - 1));
        position_ = end + 1;
        return result;
    }
    bool boolean() {
        skip_space();
        for (const bool value : {true, false}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(position_, word.size()) == word) {
                position_ += word.size();
                return value;
            }
        }
        fail();
    }
    std::vector<std::int64_t> tuple() {
        std::vector<std::int64_t> shape;
        expect('(');
        while (!accept(')')) {
            shape.push_back(number());
            if (shape.size() > max_rank) bad(origin_, fmt::format("the array has more than {} dimensions", max_rank));
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return shape;
    }
    std::int64_t number() {
        skip_space();
        const std::size_t begin = position_;
        std::int64_t value = 0;
        while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
            if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) fail();
            value = value * 10 + (text_[position_++] - '0');
        }
        if (position_ == begin) fail();
        return value;
    }

    std::string_view text_;
    const std::string& origin_;
    std::size_t position_ = 0;
};

/// "<f4" and its like. A byte has no order: '<i1', '=i1' and '|i1' say the same; of bytes without a meaning so do '<V2'
/// and '|V2'.
const NpyType& type_of(const std::string& descr, const std::string& origin) {
    for (const NpyType& type : npy_types) {
        const std::string ending = fmt::format("{}{}", static_cast<char>(type.kind), type.item_size);
        const bool any_order = type.item_size == 1 || type.kind == NpyKind::opaque;
        if (descr == '<' + ending || (any_order && descr.size() == 3 && descr.substr(1) == ending)) return type;
    }
    if (!descr.empty() && descr[0] == '>')
        bad(origin, fmt::format("big-endian arrays ('{}') are not supported", descr));
    if (descr == "|O" || descr == "O") bad(origin, "arrays of Python objects are not supported");
    if (descr == "<f8")
        bad(origin, "elements of float64 ('<f8') are not supported; save it with astype(numpy.float32)");
    bad(origin,
        fmt::format("element type '{}' is not one of bool, int8 to int64, uint8 to uint64, float16, float32, and "
                    "bfloat16 and float8 as ml_dtypes stores them ('<V2', '|V1')",
                    descr));
}

std::string shape_text(std::span<const std::int64_t> shape) {
    return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace

const char* numpy_name(NpyKind kind, std::size_t item_size) {
    for (const NpyType& type : npy_types) {
        if (type.kind == kind && type.item_size == item_size) return type.name;
    }
    return "?";
}

NpyArray parse_npy(std::span<const std::byte> file, const std::string& origin) {
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (text.substr(0, magic.size()) != magic) bad(origin, "not a .npy file");
    const auto byte = [&](std::size_t k) { return static_cast<std::size_t>(static_cast<unsigned char>(text[k])); };
    if (file.size() < 10) bad(origin, "the .npy file is truncated inside its header");
    const std::size_t major = byte(6);
    if (major < 1 || major > 3)
        bad(origin, fmt::format("version {}.{} of the .npy format is not supported", major, byte(7)));
    const std::size_t prefix = major == 1 ? 10 : 12;
    if (file.size() < prefix) bad(origin, "the .npy file is truncated inside its header");
    std::size_t header_bytes = byte(8) | byte(9) << 8;
    if (major > 1) header_bytes |= byte(10) << 16 | byte(11) << 24;
    if (header_bytes > max_header_bytes) {
        bad(origin, fmt::format("the .npy header claims {} bytes, more than the {} that are accepted", header_bytes,
                                max_header_bytes));
    }
    if (header_bytes > file.size() - prefix) bad(origin, "the .npy file is truncated inside its header");

    Header header = HeaderParser(text.substr(prefix, header_bytes), origin).parse();
    const NpyType& type = type_of(header.descr, origin);
    if (header.fortran_order)
        bad(origin, "arrays in Fortran order are not supported; save it with numpy.ascontiguousarray");

    // By division, so that no product of hostile dimensions can overflow.
    const std::size_t data_bytes = file.size() - prefix - header_bytes;
    const bool is_empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
    std::size_t elements = is_empty ? 0 : 1;
    bool mismatch = false;
    for (const std::int64_t dim : header.shape) {
        if (is_empty) break;
        const auto wide = static_cast<std::size_t>(dim);
        if (wide > data_bytes / type.item_size / elements) {
            mismatch = true;
            break;
        }
        elements *= wide;
    }
    if (mismatch || elements * type.item_size != data_bytes) {
        bad(origin, fmt::format("an array of {} elements '{}' does not match the {} bytes of data that the file holds",
                                shape_text(header.shape), header.descr, data_bytes));
    }
    NpyArray array{type.kind, type.item_size, std::move(header.shape), Bytes(data_bytes)};
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(prefix + header_bytes), data_bytes, array.data.begin());
    if (type.kind == NpyKind::boolean) {
        const auto wrong = std::find_if(array.data.begin(), array.data.end(),
                                        [](std::byte value) { return std::to_integer<unsigned>(value) > 1; });
        if (wrong != array.data.end()) {
            bad(origin, fmt::format("element {} of type bool is {}, neither 0 nor 1", wrong - array.data.begin(),
                                    std::to_integer<unsigned>(*wrong)));
        }
    }
    return array;
}

NpyArray read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }

void write_npy(const std::filesystem::path& path, NpyKind kind, std::size_t item_size,
               std::span<const std::int64_t> shape, std::span<const std::byte> data) {
    std::string dims;
    for (const std::int64_t dim : shape) dims += fmt::format("{}, ", dim);
    if (shape.size() > 1) dims.resize(dims.size() - 2);
    if (shape.size() == 1) dims.pop_back();
    std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                     item_size == 1 ? '|' : '<', static_cast<char>(kind), item_size, dims);
    // The format asks that data begin at a multiple of 64 and that the header end in a newline.
    header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::string prefix(magic);
    prefix += '\x01';
    prefix += '\0';
    prefix += static_cast<char>(header.size() & 0xff);
    prefix += static_cast<char>(header.size() >> 8);

    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(prefix)), std::as_bytes(std::span(header)),
                                                 data};
    write_file(path, pieces);
}

}  // namespace tosavk
