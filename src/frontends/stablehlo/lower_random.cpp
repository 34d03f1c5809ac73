// Random bits: Threefry and Philox, bit by bit those of XLA.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <algorithm>
#include <array>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Id added_32(Lowering& l, Id a, Id b) { return l.binary(Op::add, a, b, DType::i32); }
Id mixed(Lowering& l, Id a, Id b) { return l.binary(Op::bitwise_xor, a, b, DType::i32); }
Id rotated(Lowering& l, Id x, int by) {
    return l.binary(Op::bitwise_or, l.shift_left(x, by), l.shift_right(x, 32 - by), DType::i32);
}
Id word_splat(Lowering& l, Id like, std::uint32_t v) {
    return l.splat_int(like, static_cast<std::int64_t>(static_cast<std::int32_t>(v)));
}

using Block = std::array<Id, 4>;

std::array<Id, 2> threefry(Lowering& l, Words key, Words counter) {
    constexpr int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const Id parity = mixed(l, mixed(l, key.low, key.high), word_splat(l, key.low, 0x1bd11bda));
    const std::array<Id, 3> keys{key.low, key.high, parity};
    Id x = added_32(l, counter.low, keys[0]), y = added_32(l, counter.high, keys[1]);
    for (std::size_t i = 0; i < 5; ++i) {
        for (const int turn : turns[i % 2]) {
            x = added_32(l, x, y);
            y = mixed(l, rotated(l, y, turn), x);
        }
        x = added_32(l, x, keys[(i + 1) % 3]);
        y = added_32(l, y, added_32(l, keys[(i + 2) % 3], l.splat_int(y, static_cast<std::int64_t>(i) + 1)));
    }
    return {x, y};
}

Block philox(Lowering& l, Words key, Block x) {
    for (int round = 0; round < 10; ++round) {
        const Id first = word_splat(l, x[0], 0xd2511f53), second = word_splat(l, x[2], 0xcd9e8d57);
        const Words a{multiply(l, x[0], first), upper_product(l, x[0], first)};
        const Words b{multiply(l, x[2], second), upper_product(l, x[2], second)};
        x = {mixed(l, mixed(l, b.high, x[1]), key.low), b.low, mixed(l, mixed(l, a.high, x[3]), key.high), a.low};
        key.low = added_32(l, key.low, word_splat(l, key.low, 0x9e3779b9));
        key.high = added_32(l, key.high, word_splat(l, key.high, 0xbb67ae85));
    }
    return x;
}

/// The state's numbers of 64 bits, each [1].
std::vector<Words> state_of(Lowering& l, const Tensor& state) {
    const Shape shape = l.shape(state.id);
    if (shape.size() != 1) l.unsupported("its state is supported as a vector");
    const std::int64_t count = state.element == Element::u64 ? shape[0]
                             : state.element == Element::u32 ? shape[0] / 2
                                                             : 0;
    if (count < 2 || count > 3) l.unsupported("its state is supported as two or three 64-bit numbers");
    std::vector<Words> numbers;
    if (state.element == Element::u64) {
        const Tensor pair = l.as_pair(state);
        for (std::int64_t k = 0; k < shape[0]; ++k)
            numbers.push_back({l.slice_axis(pair.id, 0, k, 1), l.slice_axis(pair.other, 0, k, 1)});
    } else {
        for (std::int64_t k = 0; k + 1 < shape[0]; k += 2)
            numbers.push_back({l.slice_axis(state.id, 0, k, 1), l.slice_axis(state.id, 0, k + 1, 1)});
    }
    return numbers;
}

void set_state(Lowering& l, const std::vector<Words>& numbers, Element element) {
    std::vector<Id> low, high, all;
    for (const Words& w : numbers) {
        low.push_back(w.low), high.push_back(w.high);
        all.insert(all.end(), {w.low, w.high});
    }
    if (element == Element::u32) return l.set({element, l.concat(all, 0), no_id, whole_range(element)});
    l.set({element, l.concat(low, 0), l.concat(high, 0), pair_range(element)});
}

Id counters(Lowering& l, std::int64_t count) { return l.constant_i32({count}, l.counted(count)); }

Words advanced(Lowering& l, Words counter, std::int64_t by) {
    return sum_of_words(l, counter, words_of_number(l, counter.low, static_cast<std::uint64_t>(by)));
}

/// 32 random bits as an integer of any width up to that.
void set_bits(Lowering& l, Id bits, Element element) {
    l.set(l.narrow(l.reshape(bits, l.result_shape(1)), element), 1);
}

void lower_threefry(Lowering& l, std::vector<Words> state, Element to, Element of_state) {
    const Shape shape = l.result_shape(1);
    const std::int64_t count = tosavk::element_count(shape);
    const auto bits_at = [&](std::int64_t n) {
        const Id numbers = counters(l, n);
        return threefry(l, state[0], sum_of_words(l, {numbers, l.splat_int(numbers, 0)}, state[1]));
    };
    if (bits_of(to) == 64) {
        const auto [low, high] = bits_at(count);
        l.set({to, l.reshape(low, shape), l.reshape(high, shape), pair_range(to)}, 1);
        state[1] = advanced(l, state[1], count);
    } else if (shape.empty()) {
        set_bits(l, bits_at(1)[0], to);
        state[1] = advanced(l, state[1], 1);
    } else {
        // Each counter gives two numbers, side by side along one dimension.
        auto split = std::find_if(shape.begin(), shape.end(), [](std::int64_t d) { return d % 2 == 0; });
        if (split == shape.end()) split = std::max_element(shape.begin(), shape.end());
        const auto axis = static_cast<std::size_t>(split - shape.begin());
        Shape half = shape;
        half[axis] = (shape[axis] + 1) / 2;
        const std::int64_t drawn = tosavk::element_count(half);
        const auto both = bits_at(drawn);
        Shape joined = half;
        joined[axis] *= 2;
        const AxisSplit parts = split_at(half, axis);
        const Shape flat{parts.outer * parts.axis, 1, parts.inner};
        const Id pairs = l.concat({l.reshape(both[0], flat), l.reshape(both[1], flat)}, 1);
        set_bits(l, l.slice_axis(l.reshape(pairs, joined), axis, 0, shape[axis]), to);
        state[1] = advanced(l, state[1], drawn);
    }
    set_state(l, state, of_state);
}

void lower_philox(Lowering& l, std::vector<Words> state, Element to, Element of_state) {
    const Shape shape = l.result_shape(1);
    const std::int64_t count = tosavk::element_count(shape), each = bits_of(to) == 64 ? 2 : 4;
    const std::int64_t blocks = (count + each - 1) / each;
    const Id numbers = counters(l, blocks), zero = l.splat_int(numbers, 0);
    const Words low = sum_of_words(l, {numbers, zero}, state[1]);
    const Id carry = words_below(l, low, state[1], false);
    const Words upper = state.size() == 3 ? state[2] : state[0];
    const Words one{l.select(carry, l.splat_int(numbers, 1), zero), zero};
    const Words high = sum_of_words(l, one, upper);
    const Block made = philox(l, state[0], {low.low, low.high, high.low, high.high});
    const auto drawn = [&](const std::vector<Id>& parts) {
        std::vector<Id> columns;
        for (const Id part : parts) columns.push_back(l.reshape(part, {blocks, 1}));
        return l.slice_axis(l.reshape(l.concat(columns, 1), {blocks * each}), 0, 0, count);
    };
    if (each == 2) {
        const Id lower = drawn({made[0], made[2]}), higher = drawn({made[1], made[3]});
        l.set({to, l.reshape(lower, shape), l.reshape(higher, shape), pair_range(to)}, 1);
    } else {
        set_bits(l, drawn({made.begin(), made.end()}), to);
    }
    const Words before = state[1];
    state[1] = advanced(l, before, blocks);
    if (state.size() == 3) {
        const Id over = words_below(l, state[1], before, false);
        const Id more = l.select(over, l.splat_int(before.low, 1), l.splat_int(before.low, 0));
        state[2] = sum_of_words(l, state[2], {more, l.splat_int(more, 0)});
    }
    set_state(l, state, of_state);
}

void lower_rng_bit_generator(Lowering& l) {
    const Tensor state = l.given(0);
    const Element to = l.result_type(1).element;
    if (!is_integer_element(to) || bits_of(to) < 8)
        l.unsupported("its bits are supported as integers of 8 bits and more");
    const std::string algorithm = l.keyword("rng_algorithm");
    const std::vector<Words> numbers = state_of(l, state);
    if (algorithm == "THREE_FRY") lower_threefry(l, numbers, to, state.element);
    else lower_philox(l, numbers, to, state.element);
}

}  // namespace

std::span<const LoweringRow> random_rows() {
    static constexpr LoweringRow rows[] = {
        {"rng_bit_generator", lower_rng_bit_generator},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
