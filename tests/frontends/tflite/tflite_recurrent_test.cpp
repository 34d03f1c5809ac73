// LSTM, RNN and SVDF over several runs, compared with their definitions written out here, and the integer LSTM with
// what TFLite gave.
#include "support/tflite_models.hpp"

#include "frontends/tflite/fixed16.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

using Real = std::vector<double>;

Bytes float_bytes(const Real& values) { return encode_reals(DType::fp32, values); }

Real reals(const HostTensor& t) { return decode_reals(t.type, t.bytes); }

Real draw(std::size_t count) { return reals(random_f32({static_cast<std::int64_t>(count)}, 0.8)); }

TensorSpec variable(TensorSpec spec) {
    spec.is_variable = true;
    return spec;
}

/// y += W x, W [rows, x].
void add_product(Real& y, const Real& w, std::span<const double> x) {
    for (std::size_t r = 0; r < y.size(); ++r) {
        for (std::size_t i = 0; i < x.size(); ++i) y[r] += w[r * x.size() + i] * x[i];
    }
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// The outputs of several runs, which keep the variables.
std::vector<std::vector<HostTensor>> run_steps(const Bytes& model, const std::vector<HostTensor>& inputs) {
    const Graph graph = import_tflite(model, {});
    VariableState state;
    std::vector<std::vector<HostTensor>> outputs;
    for (const HostTensor& x : inputs) outputs.push_back(reference_run(graph, std::vector{x}, false, &state));
    return outputs;
}

void expect_close(const HostTensor& got, const Real& expected) {
    const Real values = reals(got);
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 2e-6) << i;
}

struct LstmSpec {
    bool coupled = false, peepholes = false, norms = false, projects = false, time_major = true;
    float cell_clip = 0, projection_clip = 0;
    bool hybrid = false;  ///< int8 weights, which the definition here knows nothing of
};

constexpr std::size_t inputs = 3, cells = 4, batch = 2, steps = 3;

/// The model and its definition, which draw the same weights.
struct Lstm {
    explicit Lstm(const LstmSpec& spec) : s(spec), outputs(spec.projects ? 2 : cells) {
        for (std::size_t g = 0; g < 4; ++g) {
            w[g] = draw(cells * inputs);
            r[g] = draw(cells * outputs);
            p[g] = draw(cells);
            bias[g] = draw(cells);
            norm[g] = draw(cells);
        }
        projection = draw(outputs * cells);
        projection_bias = draw(outputs);
        h.assign(batch, Real(outputs, 0));
        c.assign(batch, Real(cells, 0));
    }

    Bytes model(std::size_t length = steps) const {
        TfliteBuilder b;
        const auto dims = [](std::size_t a, std::size_t n) {
            return std::vector<std::int32_t>{static_cast<std::int32_t>(a), static_cast<std::int32_t>(n)};
        };
        const auto three = [&](std::size_t n) {
            std::vector<std::int32_t> shape = s.time_major ? dims(length, batch) : dims(batch, length);
            shape.push_back(static_cast<std::int32_t>(n));
            return f32(shape);
        };
        const auto gate = [&](std::size_t g, bool there, const std::vector<std::int32_t>& shape, const Real& values) {
            if (!there || (s.coupled && g == 0)) return -1;
            if (!s.hybrid || shape.size() == 1) return b.constant(f32(shape), float_bytes(values));
            Ints narrow;
            for (const double v : values) narrow.push_back(std::lround(v * 127));
            return b.constant(i8(shape, 1.0f / 127), encode_ints(DType::i8, narrow));
        };
        const std::vector<std::int32_t> vector{static_cast<std::int32_t>(cells)};
        std::vector<int> in{b.tensor(three(inputs))};
        for (std::size_t g = 0; g < 4; ++g) in.push_back(gate(g, true, dims(cells, inputs), w[g]));
        for (std::size_t g = 0; g < 4; ++g) in.push_back(gate(g, true, dims(cells, outputs), r[g]));
        for (const std::size_t g : {0u, 1u, 3u}) in.push_back(gate(g, s.peepholes, vector, p[g]));
        for (std::size_t g = 0; g < 4; ++g) in.push_back(gate(g, true, vector, bias[g]));
        in.push_back(gate(1, s.projects, dims(outputs, cells), projection));
        in.push_back(gate(1, s.projects, {static_cast<std::int32_t>(outputs)}, projection_bias));
        in.push_back(b.tensor(variable(f32(dims(batch, outputs)))));
        in.push_back(b.tensor(variable(f32(dims(batch, cells)))));
        for (std::size_t g = 0; g < 4; ++g) in.push_back(gate(g, s.norms, vector, norm[g]));
        const int y = b.tensor(three(outputs));
        b.op(B::UNIDIRECTIONAL_SEQUENCE_LSTM, in, {y}, BuiltinOptions::UnidirectionalSequenceLSTMOptions,
             CreateUnidirectionalSequenceLSTMOptions(b.fbb, Act::TANH, s.cell_clip, s.projection_clip, s.time_major)
                 .Union());
        return b.finish({in[0]}, {y});
    }

    Real gate(std::size_t g, std::span<const double> x, std::size_t row) const {
        Real v(cells, 0);
        if (!s.norms) v = bias[g];
        add_product(v, w[g], x);
        add_product(v, r[g], h[row]);
        for (std::size_t i = 0; i < cells && s.peepholes && g != 2; ++i) v[i] += p[g][i] * c[row][i];
        if (s.norms) {
            double mean = 0, variance = 0;
            for (const double e : v) mean += e / cells;
            for (const double e : v) variance += (e - mean) * (e - mean) / cells;
            for (std::size_t i = 0; i < cells; ++i)
                v[i] = (v[i] - mean) / std::sqrt(variance + 1e-8) * norm[g][i] + bias[g][i];
        }
        for (double& e : v) e = g == 2 ? std::tanh(e) : sigmoid(e);
        return v;
    }

    Real step(std::span<const double> x, std::size_t row) {
        const Real in = gate(0, x, row), forget = gate(1, x, row), candidate = gate(2, x, row);
        const auto clip = [](double v, double limit) { return limit > 0 ? std::clamp(v, -limit, limit) : v; };
        for (std::size_t i = 0; i < cells; ++i) {
            const double let = s.coupled ? 1 - forget[i] : in[i];
            c[row][i] = clip(forget[i] * c[row][i] + let * candidate[i], static_cast<double>(s.cell_clip));
        }
        const Real out = gate(3, x, row);
        Real hidden(cells);
        for (std::size_t i = 0; i < cells; ++i) hidden[i] = out[i] * std::tanh(c[row][i]);
        if (s.projects) {
            Real y = projection_bias;
            add_product(y, projection, hidden);
            for (double& v : y) v = clip(v, static_cast<double>(s.projection_clip));
            hidden = y;
        }
        return h[row] = hidden;
    }

    LstmSpec s;
    std::size_t outputs;
    std::array<Real, 4> w, r, p, bias, norm;
    Real projection, projection_bias;
    std::vector<Real> h, c;
};

TEST(TfliteRecurrent, FloatLstm) {
    std::vector<LstmSpec> specs(8);
    specs[1].coupled = true;
    specs[2].peepholes = true;
    specs[3].norms = true;
    specs[4].projects = true;
    specs[5].time_major = false;
    specs[6].cell_clip = 0.3f;
    specs[7] = {true, true, true, true, false, 0.4f, 0.2f};
    for (const LstmSpec& spec : specs) {
        Lstm lstm(spec);
        const Shape shape = spec.time_major ? Shape{steps, batch, inputs} : Shape{batch, steps, inputs};
        const std::vector<HostTensor> x{random_f32(shape, 2), random_f32(shape, 2)};
        const auto got = run_steps(lstm.model(), x);
        for (std::size_t n = 0; n < x.size(); ++n) {
            const Real values = reals(x[n]);
            Real expected(steps * batch * lstm.outputs);
            for (std::size_t t = 0; t < steps; ++t) {
                for (std::size_t b = 0; b < batch; ++b) {
                    const std::size_t place = spec.time_major ? t * batch + b : b * steps + t;
                    const Real y = lstm.step(std::span(values).subspan(place * inputs, inputs), b);
                    std::copy(y.begin(), y.end(), expected.begin() + static_cast<std::ptrdiff_t>(place * y.size()));
                }
            }
            expect_close(got[n].at(0), expected);
        }
    }
}

TEST(TfliteRecurrent, BidirectionalRnn) {
    constexpr std::size_t units = 3;
    for (const bool merged : {false, true}) {
        TfliteBuilder b;
        const int x = b.tensor(f32({3, 1, 2}));
        std::array<Real, 2> w{draw(units * 2), draw(units * 2)}, r{draw(units * units), draw(units * units)},
            bias{draw(units), draw(units)};
        std::vector<int> in{x};
        for (std::size_t d = 0; d < 2; ++d) {
            in.push_back(b.constant(f32({units, 2}), float_bytes(w[d])));
            in.push_back(b.constant(f32({units, units}), float_bytes(r[d])));
            in.push_back(b.constant(f32({units}), float_bytes(bias[d])));
            in.push_back(b.tensor(variable(f32({1, units}))));
        }
        in.insert(in.end(), {-1, -1, -1});
        std::vector<int> out{b.tensor(f32({3, 1, merged ? 6 : 3}))};
        if (!merged) out.push_back(b.tensor(f32({3, 1, units})));
        b.op(B::BIDIRECTIONAL_SEQUENCE_RNN, in, out, BuiltinOptions::BidirectionalSequenceRNNOptions,
             CreateBidirectionalSequenceRNNOptions(b.fbb, true, Act::TANH, merged).Union());
        const HostTensor input = random_f32({3, 1, 2});
        const auto got = run(b.finish({x}, out), {input});
        const Real values = reals(input);
        std::array<Real, 2> expected{Real(9), Real(9)};
        for (std::size_t d = 0; d < 2; ++d) {
            Real h(units, 0);
            for (std::size_t k = 0; k < 3; ++k) {
                const std::size_t t = d == 0 ? k : 2 - k;
                Real next = bias[d];
                add_product(next, w[d], std::span(values).subspan(t * 2, 2));
                add_product(next, r[d], h);
                for (double& v : next) v = std::tanh(v);
                h = next;
                std::copy(h.begin(), h.end(), expected[d].begin() + static_cast<std::ptrdiff_t>(t * units));
            }
        }
        if (!merged) {
            expect_close(got.at(0), expected[0]);
            expect_close(got.at(1), expected[1]);
            continue;
        }
        Real both;
        for (std::size_t t = 0; t < 3; ++t) {
            for (const Real& e : expected)
                both.insert(both.end(), e.begin() + static_cast<std::ptrdiff_t>(t * units),
                            e.begin() + static_cast<std::ptrdiff_t>((t + 1) * units));
        }
        expect_close(got.at(0), both);
    }
}

TEST(TfliteRecurrent, IntegerSvdf) {
    constexpr std::int64_t filters = 4, memory = 3, rank = 2, units = 2, size = 5;
    const HostTensor feature = random_i8({filters, size}), time = random_ints(DType::i16, {filters, memory}, -999, 999),
                     bias = random_ints(DType::i32, {units}, -100000, 100000);
    TfliteBuilder b;
    const int x = b.tensor(i8({1, size}, 0.02f, 7));
    const int wf = b.constant(i8({filters, size}, 0.01f), feature.bytes),
              wt = b.constant(i16({filters, memory}, 0.001f), time.bytes),
              c = b.constant({{units}, TensorType::INT32}, bias.bytes),
              state = b.tensor(variable(i16({1, filters * memory}, 0.005f))), y = b.tensor(i8({1, units}, 0.05f, -3));
    b.op(B::SVDF, {x, wf, wt, c, state}, {y}, BuiltinOptions::SVDFOptions,
         CreateSVDFOptions(b.fbb, rank, Act::RELU).Union());
    const std::vector<HostTensor> in{random_i8({1, size}), random_i8({1, size}), random_i8({1, size})};
    const auto got = run_steps(b.finish({x}, {y}), in);
    const Scaled first(static_cast<double>(0.02f) * 0.01f / 0.005f),
        second(static_cast<double>(0.005f) * 0.001f / 0.05f);
    Ints kept(static_cast<std::size_t>(filters * memory), 0);
    const Ints wfv = ints(feature), wtv = ints(time), bv = ints(bias);
    for (std::size_t n = 0; n < in.size(); ++n) {
        const Ints xv = ints(in[n]);
        Ints sums = bv;
        for (std::size_t f = 0; f < filters; ++f) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < size; ++i) sum += wfv[f * size + i] * (xv[i] - 7);
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(f * memory));
            kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(f * memory + memory - 1),
                        clip16(scale_by(sum, first, Rounding::double_round)));
            for (std::size_t m = 0; m < memory; ++m) sums[f / rank] += kept[f * memory + m] * wtv[f * memory + m];
        }
        for (std::size_t u = 0; u < units; ++u)
            EXPECT_EQ(ints(got[n].at(0))[u], clip8(scale_by(sums[u], second, Rounding::double_round) - 3)) << n;
    }
}

/// (i a + b) modulo the size of the range.
HostTensor ramp(DType type, const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t low, std::int64_t high) {
    HostTensor t(type, shape);
    Ints values(static_cast<std::size_t>(t.count()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (static_cast<std::int64_t>(i) * a + b) % (high - low + 1) + low;
    t.bytes = encode_ints(type, values);
    return t;
}

Bytes int8_lstm(bool coupled, bool peepholes, bool projects, std::int32_t length = 3, bool norms = false) {
    const std::int32_t n = projects ? 4 : 5;
    TfliteBuilder b;
    std::int64_t drawn = 0;
    const auto constant = [&](std::vector<std::int32_t> shape, TensorType type, DType of, std::int64_t limit,
                              float scale) {
        ++drawn;
        const Shape dims(shape.begin(), shape.end());
        return b.constant({std::move(shape), type, {scale}, {0}},
                          ramp(of, dims, 37 + 2 * drawn, 11 * drawn, -limit, limit).bytes);
    };
    const auto weights = [&](std::int32_t columns, float scale) {
        return constant({5, columns}, TensorType::INT8, DType::i8, 127, scale);
    };
    std::vector<int> in{b.tensor(i8({length, 2, 3}, 0.02f, 5))};
    const auto absent = [&](int g) { return coupled && g == 0; };
    for (int g = 0; g < 4; ++g) in.push_back(absent(g) ? -1 : weights(3, 0.02f));
    for (int g = 0; g < 4; ++g) in.push_back(absent(g) ? -1 : weights(n, 0.015f));
    for (const int g : {0, 1, 3})
        in.push_back(absent(g) || !peepholes ? -1 : constant({5}, TensorType::INT16, DType::i16, 32767, 2e-5f));
    for (int g = 0; g < 4; ++g)
        in.push_back(absent(g) ? -1 : constant({5}, TensorType::INT32, DType::i32, 3000, 4e-4f));
    in.push_back(projects ? constant({n, 5}, TensorType::INT8, DType::i8, 127, 0.01f) : -1);
    in.push_back(projects ? constant({n}, TensorType::INT32, DType::i32, 500, 8e-5f) : -1);
    in.push_back(b.tensor(variable(i8({2, n}, 0.008f, -9))));
    in.push_back(b.tensor(variable(i16({2, 5}, 0x1p-11f))));
    for (int g = 0; g < 4 && norms; ++g)
        in.push_back(absent(g) ? -1 : constant({5}, TensorType::INT16, DType::i16, 32767, 6e-5f));
    const int y = b.tensor(i8({length, 2, n}, 0.008f, -9));
    for (int g = 0; g < 4; ++g) b.next_intermediates.push_back(b.tensor(i16({1}, norms ? 5e-4f : 1)));
    b.next_intermediates.push_back(b.tensor(projects ? i8({1}, 0.007f, 13) : i8({1}, 0.008f, -9)));
    b.op(B::UNIDIRECTIONAL_SEQUENCE_LSTM, in, {y}, BuiltinOptions::UnidirectionalSequenceLSTMOptions,
         CreateUnidirectionalSequenceLSTMOptions(b.fbb, Act::TANH, 0, 0, true).Union());
    return b.finish({in[0]}, {y});
}

// The results are those of ai-edge-litert 2.3.0's reference kernels on the same models.
TEST(TfliteRecurrent, IntegerLstm) {
    const std::vector<HostTensor> x{ramp(DType::i8, {3, 2, 3}, 29, 0, -128, 127),
                                    ramp(DType::i8, {3, 2, 3}, 29, 50, -128, 127)};
    const auto projected = run_steps(int8_lstm(false, false, true), x);
    EXPECT_EQ(ints(projected[0].at(0)), (Ints{-12, 92, -128, -88, -8, 23, -65, -34, -12, -13, -6, -22,
                                              -42, 95, -128, -84, 6,  12, -40, -31, -11, -15, -7, -23}));
    EXPECT_EQ(ints(projected[1].at(0)), (Ints{3,  74, -128, -77, -11, -20, -5, -25, -18, -6,  -2, -7,
                                              -2, 60, -127, -65, -10, -19, -6, -22, -12, -23, 9,  -1}));
    const auto coupled = run_steps(int8_lstm(true, true, false), x);
    EXPECT_EQ(ints(coupled[0].at(0)), (Ints{-9, -9, 75, -9, 21, 5,   -24, 40, -21, 41, -11, -101, -14, -65, -14,
                                            12, -9, 85, -9, 82, -62, -32, 20, -13, 40, -10, -102, -16, -77, -15}));
    EXPECT_EQ(ints(coupled[1].at(0)), (Ints{-85,  -12, 83, -12, 83, -20, -90, -24, 18,  -33, -9,  -45, -10, -88, -11,
                                            -102, -11, 42, -11, 56, -16, -34, -18, -67, -24, -28, -9,  14,  -9,  16}));
    // Four outputs of five cells: the kernel reads peepholes and cells in rows of four.
    const auto normalized = run_steps(int8_lstm(true, true, true, 3, true), x);
    EXPECT_EQ(ints(normalized[0].at(0)), (Ints{-31, -10, -35, 32, -20, 37, -54, 35, -17, -57, -94,  73,
                                               -30, 36,  -64, 53, -31, 7,  -44, 46, -16, -59, -101, 79}));
    EXPECT_EQ(ints(normalized[1].at(0)), (Ints{-28, 34,  -63, 52,  13, -12, -27, -34, 66,  -69, -29, -10,
                                               -9,  -61, -15, -10, 65, -63, 0,   -36, -25, -36, -24, -2}));
}

/// Of a sequence in time-major order.
HostTensor part_of(const HostTensor& all, std::int64_t from, std::int64_t length) {
    HostTensor part(all.type, {length, all.shape[1], all.shape[2]});
    const std::size_t row = all.bytes.size() / static_cast<std::size_t>(all.shape[0]);
    const auto begin = all.bytes.begin() + static_cast<std::ptrdiff_t>(row) * from;
    part.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(row) * length);
    return part;
}

HostTensor turned(const HostTensor& all) {
    HostTensor back(all.type, all.shape);
    back.bytes.clear();
    for (std::int64_t t = all.shape[0]; t-- > 0;) {
        const Bytes step = part_of(all, t, 1).bytes;
        back.bytes.insert(back.bytes.end(), step.begin(), step.end());
    }
    return back;
}

/// A sequence of several lengths, whose graph is a loop, and its parts one after the other, whose graphs are not, have
/// the same bits: the state goes on from run to run.
void expect_same_in_parts(const std::function<Bytes(std::int64_t)>& model, const std::function<HostTensor(Shape)>& draw,
                          std::int64_t each) {
    for (const std::int64_t parts : {3, 70}) {
        const HostTensor x = draw({parts * each, batch, inputs});
        std::vector<HostTensor> pieces;
        for (std::int64_t k = 0; k < parts; ++k) pieces.push_back(part_of(x, k * each, each));
        const auto expected = run_steps(model(each), pieces);
        const Graph graph = import_tflite(model(parts * each), {});
        EXPECT_LT(graph.nodes.size(), 2000u);
        EXPECT_TRUE(std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                [](const Node& node) { return node.op == Op::while_loop; }));
        VariableState state;
        const HostTensor got = reference_run(graph, std::vector{x}, false, &state).at(0);
        for (std::int64_t k = 0; k < parts; ++k) {
            const Bytes& one = expected[static_cast<std::size_t>(k)].at(0).bytes;
            ASSERT_EQ(part_of(got, k * each, each).bytes, one) << "part " << k << " of " << parts;
        }
        // The state that is left is that of the last part.
        const auto next = reference_run(graph, std::vector{x}, false, &state).at(0);
        pieces.push_back(pieces[0]);
        EXPECT_EQ(part_of(next, 0, each).bytes,
                  run_steps(model(each), pieces)[static_cast<std::size_t>(parts)][0].bytes);
    }
}

TEST(TfliteRecurrent, LongFloatLstm) {
    std::vector<LstmSpec> specs(3);
    specs[1] = {true, true, true, true, true, 0.4f, 0.2f};
    specs[2].hybrid = true;
    for (const LstmSpec& spec : specs) {
        const Lstm lstm(spec);
        expect_same_in_parts([&](std::int64_t n) { return lstm.model(static_cast<std::size_t>(n)); },
                             [](const Shape& shape) { return random_f32(shape, 2); }, 37);
    }
}

TEST(TfliteRecurrent, LongIntegerLstm) {
    for (const bool projects : {false, true}) {
        expect_same_in_parts(
            [&](std::int64_t n) { return int8_lstm(!projects, !projects, projects, static_cast<std::int32_t>(n)); },
            random_i8, 32);
    }
}

TEST(TfliteRecurrent, LongSequencesBatchFirst) {
    LstmSpec spec;
    Lstm lstm(spec);
    const HostTensor x = random_f32({100, batch, inputs});
    const auto expected = run_steps(lstm.model(100), {x}).at(0).at(0);
    lstm.s.time_major = false;
    const std::size_t row = inputs * sizeof(float), out = cells * sizeof(float);
    HostTensor by_batch(DType::fp32, {batch, 100, inputs});
    for (std::size_t t = 0; t < 100; ++t) {
        for (std::size_t n = 0; n < batch; ++n)
            std::copy_n(x.bytes.data() + (t * batch + n) * row, row, by_batch.bytes.data() + (n * 100 + t) * row);
    }
    const auto got = run_steps(lstm.model(100), {by_batch}).at(0).at(0);
    for (std::size_t t = 0; t < 100; ++t) {
        for (std::size_t n = 0; n < batch; ++n) {
            EXPECT_TRUE(std::equal(got.bytes.data() + (n * 100 + t) * out, got.bytes.data() + (n * 100 + t + 1) * out,
                                   expected.bytes.data() + (t * batch + n) * out));
        }
    }
}

// With equal weights one direction does to a sequence what the other one does to the same sequence turned.
TEST(TfliteRecurrent, LongSequencesBackward) {
    for (const bool hybrid : {false, true}) {
        for (const std::int32_t length : {60, 120, 2100}) {
            TfliteBuilder b;
            const int x = b.tensor(f32({1, length, 2}));
            const auto matrix = [&](std::int32_t columns) {
                const HostTensor narrow = ramp(DType::i8, {3, columns}, 37, 11, -127, 127);
                if (hybrid) return b.constant(i8({3, columns}, 0.005f), narrow.bytes);
                return b.constant(f32({3, columns}), random_f32({3, columns}, 0.5).bytes);
            };
            const int w = matrix(2), r = matrix(3), c = b.constant(f32({3}), random_f32({3}).bytes);
            const int ahead = b.tensor(variable(f32({1, 3}))), back = b.tensor(variable(f32({1, 3})));
            const int y = b.tensor(f32({1, length, 3})), z = b.tensor(f32({1, length, 3}));
            b.op(B::BIDIRECTIONAL_SEQUENCE_RNN, {x, w, r, c, ahead, w, r, c, back, -1, -1, -1}, {y, z},
                 BuiltinOptions::BidirectionalSequenceRNNOptions,
                 CreateBidirectionalSequenceRNNOptions(b.fbb, false, Act::TANH, false).Union());
            const Bytes model = b.finish({x}, {y, z});
            const auto given = [](HostTensor t) {  // the batch of one in either order
                t.shape = {t.shape[1], t.shape[0], t.shape[2]};
                return t;
            };
            const HostTensor one = random_f32({length, 1, 2}), two = random_f32({length, 1, 2});
            const auto got = run_steps(model, {given(one), given(two)}),
                       other = run_steps(model, {given(turned(one)), given(turned(two))});
            for (std::size_t run = 0; run < 2; ++run) {
                EXPECT_EQ(turned(given(got[run].at(1))).bytes, other[run].at(0).bytes);
                EXPECT_EQ(turned(given(got[run].at(0))).bytes, other[run].at(1).bytes);
            }
        }
    }
}

TEST(TfliteRecurrent, FunctionsInFixedPointAreNearTheirDefinitions) {
    const Table16 logistic = logistic_table16(), tanh3 = tanh_table16(3), tanh0 = tanh_table16(0);
    for (std::size_t i = 0; i < logistic.size(); ++i) {
        const double x = static_cast<double>(i) - 32768;
        EXPECT_NEAR(logistic[i], 32768 * sigmoid(x / 4096), 10) << x;
        EXPECT_NEAR(tanh3[i], 32768 * std::tanh(x / 4096), 20) << x;
        EXPECT_NEAR(tanh0[i], 32768 * std::tanh(x / 32768), 20) << x;
    }
}

TEST(TfliteRecurrent, Refusals) {
    const auto model = [](const TensorSpec& state, bool constant) {
        TfliteBuilder b;
        const int x = b.tensor(f32({1, 2})), y = b.tensor(f32({1, 2}));
        const int w = b.constant(f32({2, 2}), Bytes(16)), c = b.constant(f32({2}), Bytes(8));
        const int s = constant ? b.constant(state, Bytes(8)) : b.tensor(state);
        b.op(B::RNN, {x, w, w, c, s}, {y}, BuiltinOptions::RNNOptions, CreateRNNOptions(b.fbb, Act::TANH).Union());
        return b.finish({x}, {y});
    };
    EXPECT_EQ(import_tflite(model(variable(f32({1, 2})), false), {}).variables.size(), 1u);
    expect_error(model(f32({1, 2}), false), ErrorCode::bad_model, "must be a variable");
    expect_error(model(variable(f32({1, 3})), false), ErrorCode::bad_model, "has shape 1x3");
    expect_error(model(variable(f32({1, 2})), true), ErrorCode::bad_model, "is a variable, but has constant data");
    LstmSpec spec;
    Lstm lstm(spec);
    lstm.w[1].resize(4);
    expect_error(lstm.model(), ErrorCode::bad_model, "needs 48 bytes");
}

}  // namespace
}  // namespace tosavk
