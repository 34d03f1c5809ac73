// Names, sizes and shape arithmetic of graph/types.hpp.
#include "graph/types.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tosavk {

namespace {

struct TypeInfo {
    std::string_view name;
    std::size_t size;
    std::int64_t min, max;  // of integer types
};

// In the order of DType.
constexpr std::array<TypeInfo, 12> type_table{{
    {"bool", 1, 0, 1},
    {"i4", 1, -7, 7},
    {"i8", 1, -128, 127},
    {"i16", 2, -32768, 32767},
    {"i32", 4, -2147483648LL, 2147483647LL},
    {"i48", 8, -(1LL << 47), (1LL << 47) - 1},
    {"fp8e4m3", 1, 0, 0},
    {"fp8e5m2", 1, 0, 0},
    {"fp16", 2, 0, 0},
    {"bf16", 2, 0, 0},
    {"fp32", 4, 0, 0},
    {"shape", 8, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()},
}};

const TypeInfo& info(DType type) {
    const auto index = static_cast<std::size_t>(type);
    if (index >= type_table.size()) throw Error(ErrorCode::internal, "invalid element type " + std::to_string(index));
    return type_table[index];
}

const TypeInfo& integer_info(DType type) {
    const TypeInfo& i = info(type);
    if (is_float(type)) throw Error(ErrorCode::internal, "integer range asked of type " + std::string(i.name));
    return i;
}

}  // namespace

std::string_view name_of(DType type) { return info(type).name; }
std::size_t size_of(DType type) { return info(type).size; }
std::int64_t min_of(DType type) { return integer_info(type).min; }
std::int64_t max_of(DType type) { return integer_info(type).max; }

std::int64_t element_count(const Shape& shape) {
    constexpr std::int64_t limit = std::int64_t{1} << 40;
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t d : shape) {
        if (d < 0) throw Error(ErrorCode::bad_model, "shape " + to_string(shape) + " has a negative dimension");
        if (d == 0) empty = true;
        else if (d > limit / count)
            throw Error(ErrorCode::bad_model, "shape " + to_string(shape) + " has too many elements");
        else count *= d;
    }
    return empty ? 0 : count;
}

AxisSplit split_at(const Shape& shape, std::size_t axis) {
    AxisSplit s;
    for (std::size_t d = 0; d < axis; ++d) s.outer *= shape[d];
    s.axis = shape[axis];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) s.inner *= shape[d];
    return s;
}

std::string to_string(const Shape& shape) {
    if (shape.empty()) return "scalar";
    std::string text;
    for (const std::int64_t d : shape) {
        if (!text.empty()) text += 'x';
        text += std::to_string(d);
    }
    return text;
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step *= shape[i];
    }
    return strides;
}

bool broadcast_shape(const Shape& a, const Shape& b, Shape& out) {
    if (a.size() != b.size()) return false;
    Shape result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return false;
        result[i] = a[i] == 1 ? b[i] : a[i];
    }
    out = std::move(result);
    return true;
}

const Level level_none{"none", 32, 2147483647, 2147483647, 2048, 63, 256, 256};
const Level level_8k{"8K", 6, 8192, 8192, 256, 31, 6, 64};

const Level& with_empty(const Level& level) {
    const auto made = [](Level like) {
        like.empty_tensors = true;
        return like;
    };
    static const Level none = [&] {
        Level carries_more = made(level_none);
        carries_more.max_carried = 65536;
        return carries_more;
    }();
    static const Level eight_k = made(level_8k);
    return level.max_rank == level_none.max_rank ? none : eight_k;
}

bool has_no_elements(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

bool fits(const Level& level, DType type, const Shape& shape) {
    const std::int64_t limit =
        level.max_log2_size >= 62 ? std::int64_t{1} << 62 : std::int64_t{1} << level.max_log2_size;
    std::int64_t room = (limit - 1) / static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t d : shape) room = d == 0 ? room : room / d;
    return room >= 1;
}

}  // namespace tosavk
