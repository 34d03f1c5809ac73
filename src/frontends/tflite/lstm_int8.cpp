// LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16: gates in Q3.12, their functions from
// tables.
#include "frontends/tflite/fixed16.hpp"
#include "frontends/tflite/lstm.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

using T = tflite::TensorType;

constexpr std::int64_t table_size = 65536;

/// CLAMP takes no i32.
ValueId limit(Lowering& l, ValueId x, double least, double most) {
    const ValueId above = l.add(Op::maximum, {x, l.splat(x, DType::i32, least)}, DType::i32);
    return l.add(Op::minimum, {above, l.splat(x, DType::i32, most)}, DType::i32);
}

ValueId clamp16(Lowering& l, ValueId x) { return limit(l, x, -32768, 32767); }

/// x / 2^n, rounded half away from zero, for i32.
ValueId divide_by_power(Lowering& l, ValueId x, int n) {
    const double half = std::ldexp(1.0, n - 1);
    const ValueId positive = l.add(Op::greater_equal, {x, l.splat(x, DType::i32, 0)}, DType::boolean);
    const ValueId add =
        l.add(Op::select, {positive, l.splat(x, DType::i32, half), l.splat(x, DType::i32, half - 1)}, DType::i32);
    return l.add(Op::arithmetic_right_shift, {l.add(Op::add, {x, add}, DType::i32), l.splat(x, DType::i32, n)},
                 DType::i32);
}

ValueId multiply(Lowering& l, ValueId a, ValueId b) { return l.mul(a, b, DType::i32); }

/// Values of int16 read in one of several tables that lie behind each other; `bases` has one or one for each column.
ValueId look_up(Lowering& l, ValueId x, ValueId table, const std::vector<std::int64_t>& bases) {
    const Shape shape = l.shape(x);
    const ValueId offsets = l.constant_ints("offsets", DType::i32, {1, static_cast<std::int64_t>(bases.size())}, bases);
    const ValueId places = l.add(Op::add, {l.cast(x, DType::i32), offsets}, DType::i32);
    const std::int64_t count = element_count(shape);
    const ValueId read = l.add(Op::gather, {table, l.reshape(places, {1, count})}, DType::i16);
    return l.reshape(read, shape);
}

int power_of_two(Lowering& l, const TfliteTensor& tensor) {
    const double power = std::log2(static_cast<double>(l.quant(tensor).scale)), rounded = std::round(power);
    if (std::abs(power - rounded) > 1e-3)
        l.fail(fmt::format("{} has scale {}, which is no power of two", tensor.title(), l.quant(tensor).scale));
    return static_cast<int>(rounded);
}

class Int8Lstm {
public:
    Int8Lstm(Lowering& l, const LstmOperands& at, const LstmOptions& options, const Sequence& input)
        : l_(l), form_(lstm_form(l, at)) {
        check(at, options);
        const Quant state = l.quant(l.in(at.output_state));
        state_zp_ = state.zero_point;
        cell_power_ = power_of_two(l, l.in(at.cell_state));
        if (cell_power_ < -15 || cell_power_ > -9)
            l.unsupported(fmt::format("a cell state in steps of 2^{} is not supported", cell_power_));
        cell_clip_ = clip_of(options.cell_clip, l.quant(l.in(at.cell_state)).scale, 32767);
        projection_clip_ = clip_of(options.projection_clip, l.quant(l.out()).scale, 127);
        recurrent_ = Matrices(l, form_.of(at.recurrent), form_.cells, form_.outputs).values();
        recurrent_multipliers_ = multipliers(at.recurrent, state.scale);
        read_hidden(at, state);
        if (form_.peepholes) read_peepholes(at, input);
        if (form_.norms) read_norms(at);
        make_table();
    }

    /// What the inputs of all steps add to the gates.
    ValueId given(const LstmOperands& at, const Sequence& input) {
        const Quant x = l_.quant(l_.in(0));
        const ValueId rows = l_.reshape(input.value, {input.steps * input.batch, input.size});
        const Matrices weights(l_, form_.of(at.weights), form_.cells, input.size);
        const ValueId biases =
            form_.norms ? l_.scalar(DType::i32, 0)
                        : l_.reshape(join_vectors(l_, form_.of(at.biases), form_.cells, DType::i32), {width()});
        return l_.requantize_channels(matrix_product(l_, rows, weights.values(), biases, x.zero_point), DType::i16,
                                      multipliers(at.weights, x.scale), 0);
    }

    const LstmForm& form() const { return form_; }

    void step(const Given& given, ValueId& output, ValueId& cell) {
        const ValueId sums = matrix_product(l_, output, recurrent_, l_.scalar(DType::i32, 0), state_zp_);
        const ValueId added = l_.requantize_channels(sums, DType::i32, recurrent_multipliers_, 0);
        all_ = clamp16(l_, l_.add(Op::add, {l_.cast(given.take(l_), DType::i32), added}, DType::i32));
        functions_ = form_.peepholes || form_.norms ? no_id : look_up(l_, all_, table_, bases());

        const ValueId forget = gate(1, cell), candidate = gate(2, no_id);
        ValueId in = no_id;
        if (form_.coupled) {
            const ValueId wide = l_.cast(forget, DType::i32);
            in = l_.cast(l_.add(Op::sub, {l_.splat(wide, DType::i32, 32767), wide}, DType::i32), DType::i16);
        } else {
            in = gate(0, cell);
        }
        const ValueId kept = divide_by_power(l_, multiply(l_, forget, cell), 15),
                      more = divide_by_power(l_, multiply(l_, in, candidate), 30 + cell_power_);
        ValueId now = clamp16(l_, l_.add(Op::add, {kept, more}, DType::i32));
        if (cell_clip_ > 0) now = limit(l_, now, -cell_clip_, cell_clip_);
        cell = l_.cast(now, DType::i16);

        const ValueId shape = look_up(l_, cell, table_, {2 * table_size + 32768});
        const ValueId hidden = multiply(l_, gate(3, cell), shape);
        output = l_.requantize(hidden, DType::i8, hidden_multiplier_, 0, hidden_zp_);
        if (!form_.projects) return;
        output = l_.requantize(matrix_product(l_, output, projection_, projection_bias_), DType::i8,
                               projection_multiplier_, 0, state_zp_);
        if (projection_clip_ > 0) output = l_.clamp(output, -projection_clip_, projection_clip_);
    }

private:
    std::int64_t width() const { return form_.cells * static_cast<std::int64_t>(form_.gates.size()); }

    void check(const LstmOperands& at, const LstmOptions& options) const {
        if (form_.norms && form_.cells > 32768)
            l_.unsupported(fmt::format("layer normalization of {} cells in integers is not supported", form_.cells));
        const auto* list = l_.op().table->intermediates();
        if (list && list->size() != 5)
            l_.unsupported(fmt::format("the integer kernel with {} intermediates is not supported", list->size()));
        if (l_.in(at.cell_state).type != T::INT16)
            l_.unsupported(fmt::format("a cell state of type {} is not supported", name_of(l_.in(at.cell_state).type)));
        if (options.activation != tflite::ActivationFunctionType::TANH)
            l_.unsupported("the integer kernel with another activation than TANH is not supported");
        if (form_.peepholes && form_.cells < form_.outputs)
            l_.unsupported("peepholes beside a projection to more outputs than cells read other memory in TFLite");
    }

    static double clip_of(float limit, float scale, float most) {
        return limit > 0 ? std::trunc(static_cast<double>(std::min(limit / scale, most))) : 0;
    }

    /// One for each column; products of floats, as in the kernel.
    std::vector<QuantizedMultiplier> multipliers(std::size_t first, float scale) const {
        std::vector<QuantizedMultiplier> m;
        for (const std::size_t which : form_.gates) {
            const float effective = l_.quant(l_.in(first + which)).scale * scale / gate_scale(which);
            m.insert(m.end(), static_cast<std::size_t>(form_.cells),
                     quantize_multiplier(static_cast<double>(effective)));
        }
        return m;
    }

    /// Of the sums before they are normalized; else they are in Q3.12.
    float gate_scale(std::size_t which) const {
        return form_.norms ? intermediate_scale(l_.intermediate(which)) : 0x1p-12f;
    }

    float intermediate_scale(const TfliteTensor& tensor) const {
        if (tensor.scale.empty() || !(tensor.scale[0] > 0) || !std::isfinite(tensor.scale[0]))
            l_.fail(fmt::format("intermediate {} has no scale", tensor.title()));
        return tensor.scale[0];
    }

    void read_norms(const LstmOperands& at) {
        for (const std::size_t which : form_.gates) {
            const std::size_t k = at.norms + which, b = at.biases + which;
            const float scale = l_.quant(l_.in(k)).scale;
            const double least = std::trunc(static_cast<double>(10000 * scale));
            if (least > 1 << 30) l_.unsupported(fmt::format("{} has scale {}", l_.in(k).title(), scale));
            norms_[which] = {l_.cast(join_vectors(l_, std::span(&k, 1), form_.cells, DType::i16), DType::i32),
                             join_vectors(l_, std::span(&b, 1), form_.cells, DType::i32),
                             quantize_multiplier(static_cast<double>(scale)),
                             std::max<std::int64_t>(1, static_cast<std::int64_t>(least))};
        }
    }

    void read_hidden(const LstmOperands& at, const Quant& state) {
        const TfliteTensor& tensor = l_.intermediate(4);
        const float scale = intermediate_scale(tensor);
        const std::int64_t zp = tensor.zero_point.empty() ? 0 : tensor.zero_point[0];
        const auto effective = static_cast<float>(0x1p-15 / static_cast<double>(scale) * 0x1p-15);
        hidden_multiplier_ = quantize_multiplier(static_cast<double>(effective));
        hidden_zp_ = form_.projects ? -zp : zp;  // which the kernel of the projection undoes
        if (hidden_zp_ < -128 || hidden_zp_ > 127)
            l_.unsupported(fmt::format("the zero point {} of {} is not supported", zp, tensor.title()));
        if (!form_.projects) return;
        const std::size_t k = at.projection;
        const Matrices weights(l_, std::span(&k, 1), form_.outputs, form_.cells);
        projection_ = weights.values();
        std::vector<std::int64_t> bias(static_cast<std::size_t>(form_.outputs), 0);
        if (l_.has_input(at.projection_bias)) bias = l_.const_ints(at.projection_bias);
        if (bias.size() != weights.sums().size()) l_.fail("the bias of its projection has another size");
        for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += zp * weights.sums()[i];
        projection_bias_ = l_.constant_ints("projection_bias", DType::i32, {form_.outputs}, bias);
        const float product = l_.quant(l_.in(k)).scale * scale / state.scale;
        projection_multiplier_ = quantize_multiplier(static_cast<double>(product));
    }

    void read_peepholes(const LstmOperands& at, const Sequence& input) {
        for (const std::size_t which : {0u, 1u, 2u}) {  // input, forget, output
            if (which == 0 && form_.coupled) continue;
            const std::size_t k = at.peepholes + which;
            peepholes_[which] = join_vectors(l_, std::span(&k, 1), form_.cells, DType::i16);
            if (form_.cells != form_.outputs) peepholes_[which] = misplaced(k, input);
            const double effective = std::ldexp(1.0, cell_power_) * static_cast<double>(l_.quant(l_.in(k)).scale) /
                                     static_cast<double>(gate_scale(which == 2 ? 3 : which));
            peephole_multipliers_[which] = quantize_multiplier(static_cast<double>(static_cast<float>(effective)));
        }
    }

    /// TFLite's kernel takes the cells for rows of the outputs' length, and leaves the rest out: those of the whole
    /// batch, of which it takes a step at once where time is the first dimension, else those of each sequence.
    ValueId misplaced(std::size_t k, const Sequence& input) {
        const std::vector<std::int64_t> weights = l_.const_ints(k);
        const std::int64_t together = input.time_major ? input.batch : 1;
        const auto cells = static_cast<std::size_t>(together * form_.cells);
        std::vector<std::int64_t> all(static_cast<std::size_t>(input.batch * form_.cells), 0);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % cells < static_cast<std::size_t>(together * form_.outputs))
                all[i] = weights.at(i % cells % static_cast<std::size_t>(form_.outputs));
        }
        return l_.constant_ints("peepholes", DType::i16, {input.batch, form_.cells}, all);
    }

    /// The logistic function, tanh of gates, tanh of the cell.
    void make_table() {
        std::vector<std::int64_t> values;
        for (const Table16& table : {logistic_table16(), tanh_table16(3), tanh_table16(15 + cell_power_)})
            values.insert(values.end(), table.begin(), table.end());
        table_ = l_.constant_ints("functions", DType::i16, {1, 3 * table_size, 1}, values);
    }

    std::vector<std::int64_t> bases() const {
        std::vector<std::int64_t> list;
        for (const std::size_t which : form_.gates)
            list.insert(list.end(), static_cast<std::size_t>(form_.cells), 32768 + (which == 2 ? table_size : 0));
        return list;
    }

    ValueId gate(std::size_t which, ValueId cell) {
        const auto place = std::find(form_.gates.begin(), form_.gates.end(), which) - form_.gates.begin();
        const std::int64_t from = place * form_.cells;
        if (functions_ != no_id) return l_.slice_axis(functions_, 1, from, form_.cells);
        ValueId x = l_.slice_axis(all_, 1, from, form_.cells);
        if (form_.peepholes && which != 2) {
            const std::size_t k = which == 3 ? 2 : which;
            const ValueId product = multiply(l_, cell, peepholes_[k]);
            x = clamp16(l_, l_.add(Op::add, {x, l_.requantize(product, DType::i32, peephole_multipliers_[k], 0, 0)},
                                   DType::i32));
        }
        if (form_.norms) x = normalize_gate(l_, x, norms_[which]);
        return look_up(l_, x, table_, {32768 + (which == 2 ? table_size : 0)});
    }

    Lowering& l_;
    LstmForm form_;
    std::int64_t state_zp_ = 0, hidden_zp_ = 0;
    int cell_power_ = 0;
    double cell_clip_ = 0, projection_clip_ = 0;
    ValueId recurrent_ = no_id, projection_ = no_id, projection_bias_ = no_id, table_ = no_id;
    ValueId all_ = no_id, functions_ = no_id;  // of the step in hand
    std::vector<QuantizedMultiplier> recurrent_multipliers_;
    QuantizedMultiplier hidden_multiplier_, projection_multiplier_;
    std::array<ValueId, 3> peepholes_{no_id, no_id, no_id};
    std::array<QuantizedMultiplier, 3> peephole_multipliers_{};
    std::array<GateNorm, 4> norms_{};
};

}  // namespace

ValueId run_lstm_int8(Lowering& l, const LstmOperands& at, const LstmOptions& options, const Sequence& input) {
    Int8Lstm outside(l, at, options, input);
    const ValueId given = outside.given(at, input);
    std::vector<ValueId> states{read_state(l, at.output_state, {input.batch, outside.form().outputs}),
                                read_state(l, at.cell_state, {input.batch, outside.form().cells})};
    const ValueId outputs = run_steps(l, input, given, /*backward=*/false, states, [&](Lowering& r) -> Step {
        return [lstm = Int8Lstm(r, at, options, input)](const Given& x, std::vector<ValueId>& now) mutable {
            lstm.step(x, now[0], now[1]);
        };
    });
    l.set_state(at.output_state, states[0]);
    l.set_state(at.cell_state, states[1]);
    return outputs;
}

}  // namespace tosavk
