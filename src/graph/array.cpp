// Reads and writes .npy files. The header is a Python dictionary literal; only the three keys that the format defines
// are accepted, and nothing in it is trusted.
#include "graph/array.hpp"

#include "base/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace tosavk {

static_assert(std::endian::native == std::endian::little, "tensors are passed to .npy files in host byte order");

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header_bytes = 65536;
constexpr std::size_t max_rank = 8;

struct NpyType {
    DType type;
    std::string_view descr;
    std::string_view name;
};
constexpr std::array npy_types = {
    NpyType{DType::boolean, "|b1", "bool"}, NpyType{DType::i8, "|i1", "int8"},   NpyType{DType::i16, "<i2", "int16"},
    NpyType{DType::i32, "<i4", "int32"},    NpyType{DType::i48, "<i8", "int64"}, NpyType{DType::fp16, "<f2", "float16"},
    NpyType{DType::fp32, "<f4", "float32"},
};

[[noreturn]] void bad(const std::string& origin, const std::string& what) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", origin, what));
}

struct Header {
    std::string descr;
    bool fortran_order = false;
    Shape shape;
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
    Shape tuple() {
        Shape shape;
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

DType type_of(const std::string& descr, const std::string& origin) {
    for (const NpyType& type : npy_types) {
        // A byte has no order: '<i1', '=i1' and '|i1' say the same.
        const bool one_byte = size_of(type.type) == 1;
        if (descr == type.descr || (one_byte && descr.size() == 3 && descr.substr(1) == type.descr.substr(1)))
            return type.type;
    }
    if (!descr.empty() && descr[0] == '>')
        bad(origin, fmt::format("big-endian arrays ('{}') are not supported", descr));
    if (descr == "|O" || descr == "O") bad(origin, "arrays of Python objects are not supported");
    bad(origin,
        fmt::format("element type '{}' is not one of bool, int8, int16, int32, int64, float16 and float32", descr));
}

}  // namespace

HostTensor parse_npy(std::span<const std::byte> file, const std::string& origin) {
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

    const Header header = HeaderParser(text.substr(prefix, header_bytes), origin).parse();
    const DType type = type_of(header.descr, origin);
    if (header.fortran_order)
        bad(origin, "arrays in Fortran order are not supported; save it with numpy.ascontiguousarray");

    // By division, so that no product of hostile dimensions can overflow.
    const std::size_t data_bytes = file.size() - prefix - header_bytes;
    std::size_t elements = 1;
    bool mismatch = false;
    for (const std::int64_t dim : header.shape) {
        if (dim == 0) bad(origin, fmt::format("the array of shape {} has no elements", to_string(header.shape)));
        const auto wide = static_cast<std::size_t>(dim);
        if (wide > data_bytes / size_of(type) / elements) {
            mismatch = true;
            break;
        }
        elements *= wide;
    }
    if (mismatch || elements * size_of(type) != data_bytes) {
        bad(origin, fmt::format("an array of {} elements '{}' does not match the {} bytes of data that the file holds",
                                to_string(header.shape), header.descr, data_bytes));
    }
    HostTensor tensor(type, header.shape);
    std::memcpy(tensor.bytes.data(), file.data() + prefix + header_bytes, data_bytes);
    if (type == DType::i48) {
        for (const std::int64_t value : tensor.as<std::int64_t>()) {
            if (value < min_of(DType::i48) || value > max_of(DType::i48)) {
                bad(origin, fmt::format("the int64 element {} does not fit 48 bits", value));
            }
        }
    } else if (type == DType::boolean) {
        for (const std::byte value : tensor.bytes) {
            if (std::to_integer<unsigned>(value) > 1) bad(origin, "a bool element is neither 0 nor 1");
        }
    }
    return tensor;
}

HostTensor load_npy(const std::filesystem::path& path) {
    const Bytes file = read_file(path);
    return parse_npy(file, path.string());
}

void save_npy(const std::filesystem::path& path, DType type, const Shape& shape, std::span<const std::byte> bytes) {
    if (bytes.size() != static_cast<std::size_t>(element_count(shape)) * size_of(type)) {
        throw Error(ErrorCode::bad_input, fmt::format("{}: {} bytes are not an array of {} elements {}", path.string(),
                                                      bytes.size(), to_string(shape), name_of(type)));
    }
    Bytes converted;
    DType stored = type;
    if (type == DType::i4) stored = DType::i8;
    if (type == DType::bf16 || type == DType::fp8e4m3 || type == DType::fp8e5m2) {
        stored = DType::fp32;
        converted = encode_reals(stored, decode_reals(type, bytes));
        bytes = converted;
    }
    const auto entry =
        std::find_if(npy_types.begin(), npy_types.end(), [&](const NpyType& t) { return t.type == stored; });
    if (entry == npy_types.end()) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: .npy files cannot hold elements of type {}", path.string(), name_of(type)));
    }
    std::string dims;
    for (const std::int64_t dim : shape) dims += fmt::format("{}, ", dim);
    if (shape.size() > 1) dims.resize(dims.size() - 2);
    if (shape.size() == 1) dims.pop_back();
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", entry->descr, dims);
    // The format asks that data begin at a multiple of 64 and that the header end in a newline.
    header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::string prefix(magic);
    prefix += '\x01';
    prefix += '\0';
    prefix += static_cast<char>(header.size() & 0xff);
    prefix += static_cast<char>(header.size() >> 8);

    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(prefix)), std::as_bytes(std::span(header)),
                                                 bytes};
    write_file(path, pieces);
}

HostTensor convert_array(const HostTensor& array, DType type, const std::string& origin) {
    if (array.type == type) return array;
    HostTensor result;
    result.type = type;
    result.shape = array.shape;
    if (type == DType::i4 && array.type == DType::i8) {
        for (const std::int8_t value : array.as<std::int8_t>()) {
            if (value < min_of(type) || value > max_of(type)) {
                bad(origin, fmt::format("the element {} does not fit type i4", static_cast<int>(value)));
            }
        }
        result.bytes = array.bytes;
        return result;
    }
    const bool narrow = type == DType::bf16 || type == DType::fp8e4m3 || type == DType::fp8e5m2;
    if (!narrow || array.type != DType::fp32) {
        bad(origin, fmt::format("elements of type {} cannot stand for type {}", name_of(array.type), name_of(type)));
    }
    const std::vector<double> wide = decode_reals(array.type, array.bytes);
    result.bytes = encode_reals(type, wide);
    const std::vector<double> back = decode_reals(type, result.bytes);
    for (std::size_t k = 0; k < wide.size(); ++k) {
        if (back[k] != wide[k] && !(std::isnan(back[k]) && std::isnan(wide[k]))) {
            bad(origin, fmt::format("the element {} is not a value of type {}", wide[k], name_of(type)));
        }
    }
    return result;
}

}  // namespace tosavk
