// TOSA 0.30: the table of rows against the specification's text where that is at hand, and operators whose meaning
// changed against 0.30's own definition, on random cases. TOSAVK_TEST_SEED and TOSAVK_TEST_SEEDS choose the cases.
// Longer than 500 lines: one small case after another.
#include "reference/reference.hpp"
#include "support/corpus.hpp"
#include "support/environment.hpp"
#include "support/require.hpp"
#include "verify/conformance/random_node_0_30.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

namespace tosavk {
namespace {

using conformance::RandomOperator030;
using v0_30::Attributes;
using v0_30::Builder;
using v0_30::OpInfo;
using v0_30::Row;
using v0_30::Type;

// ---- the table ----------------------------------------------------------------------------------------------------

/// "int8_t" as "i8", "float_t" as itself.
std::string our_name(std::string name) {
    if (name.ends_with("_t")) name.resize(name.size() - 2);
    if (const auto at = name.find("int"); at != std::string::npos) name.replace(at, 3, at == 0 ? "i" : "");
    return name;
}

std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells;
    std::string rest = line;
    for (std::size_t tab = 0; tab != std::string::npos;) {
        tab = rest.find('\t');
        cells.push_back(rest.substr(0, tab));
        if (tab != std::string::npos) rest.erase(0, tab + 1);
    }
    return cells;
}

struct PrintedRow {
    std::string profiles;
    std::vector<std::string> types;
};

std::map<std::string, std::vector<PrintedRow>> printed_rows(std::ifstream& text) {
    std::map<std::string, std::vector<PrintedRow>> tables;
    std::string line, op;
    std::size_t skipped = SIZE_MAX;  // the column TABLE_SIZE
    bool in_table = false;
    while (std::getline(text, line)) {
        // "2.3.1. ARGMAX" begins an operator.
        const auto space = line.find(". ");
        if (space != std::string::npos && line.starts_with("2.") && line.find('\t') == std::string::npos) {
            op = line.substr(space + 2);
            in_table = false;
        }
        const auto cells = split(line);
        if (cells.size() > 2 && cells[0] == "Profile" && !op.empty()) {
            in_table = true;
            const auto found = std::find(cells.begin(), cells.end(), "TABLE_SIZE");
            skipped = found == cells.end() ? SIZE_MAX : static_cast<std::size_t>(found - cells.begin());
        } else if (in_table && cells.size() > 2) {
            PrintedRow row{cells[0], {}};
            for (std::size_t c = 2; c < cells.size(); ++c) {
                // SELECT's float rows have two columns in the wrong order: profile, cmp_t, mode, type.
                const std::string& cell = op == "SELECT" && cells[0] != "Any" && c == 2 ? cells[1] : cells[c];
                if (c != skipped) row.types.push_back(our_name(cell));
            }
            tables[op].push_back(std::move(row));
        } else {
            in_table = false;
        }
    }
    return tables;
}

TEST(Table030, HasTheNumbersOfRowsThatTheSpecificationPrints) {
    std::size_t operators = 0, rows = 0;
    for (const OpInfo& info : v0_30::operators()) {
        operators += info.rows.empty() ? 0 : 1;
        rows += info.rows.size();
    }
    EXPECT_EQ(operators, 66u);
    EXPECT_EQ(rows, 322u);
    for (const Op op : {Op::custom, Op::cond_if, Op::while_loop}) EXPECT_NE(v0_30::find_info(op), nullptr);
    EXPECT_EQ(v0_30::find_info(Op::erf), nullptr);
}

TEST(Table030, AgreesWithTheSpecificationRowByRow) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    std::filesystem::path seed;
    for (const auto& entry : std::filesystem::directory_iterator(root / "spec" / "seeds")) {
        if (entry.path().filename().string().starts_with("000")) seed = entry.path();
    }
    std::ifstream text(seed);
    ASSERT_TRUE(text) << "there is no text of TOSA 0.30";
    auto tables = printed_rows(text);
    std::size_t printed = 0, expanded = 0;
    for (const auto& [name, rows] : tables) printed += rows.size();
    EXPECT_EQ(printed, 316u);
    EXPECT_EQ(tables.size(), 66u);
    for (const OpInfo& info : v0_30::operators()) {
        if (info.rows.empty()) continue;
        const std::string name(v0_30::op_name(info.op));
        // Rows of any float type stand for three.
        std::vector<PrintedRow> wanted;
        for (const PrintedRow& row : tables[name]) {
            if (row.types.back() != "float") {
                wanted.push_back(row);
                continue;
            }
            for (const char* type : {"fp16", "bf16", "fp32"}) {
                wanted.push_back(row);
                wanted.back().types.back() = type;
            }
        }
        expanded += wanted.size();
        ASSERT_EQ(wanted.size(), info.rows.size()) << name;
        for (std::size_t r = 0; r < wanted.size(); ++r) {
            std::vector<std::string> types;
            for (const Type type : info.rows[r].types) types.push_back(v0_30::type_name(type));
            EXPECT_EQ(types, wanted[r].types) << name << " row " << r;
            EXPECT_EQ(std::string(info.rows[r].profiles), wanted[r].profiles == "Any" ? "BI|MI|MT" : "MI|MT") << name;
        }
    }
    EXPECT_EQ(expanded, 322u);
}

// ---- 0.30's own definitions, as plain loops -------------------------------------------------------------------------

/// Elements by position; every operand and result is held in double, which is exact for all types.
struct Tensor {
    Shape shape;
    std::vector<double> v;

    double at(std::initializer_list<std::int64_t> index) const {
        std::int64_t flat = 0;
        auto i = index.begin();
        for (const std::int64_t size : shape) flat = flat * size + *i++;
        return v[static_cast<std::size_t>(flat)];
    }
};

Tensor operand(const RandomOperator030& drawn, std::size_t k) {
    Tensor t{drawn.operands[k].shape, decode_reals(drawn.operands[k].type, drawn.operands[k].bytes)};
    if (drawn.types[k].is_unsigned) {
        for (double& value : t.v) value += value < 0 ? (drawn.types[k].type == DType::i8 ? 256 : 65536) : 0;
    }
    return t;
}

std::vector<double> fully_connected(const RandomOperator030& d) {
    const Tensor x = operand(d, 0), w = operand(d, 1), b = operand(d, 2);
    std::vector<double> out;
    for (std::int64_t n = 0; n < x.shape[0]; ++n) {
        for (std::int64_t oc = 0; oc < w.shape[0]; ++oc) {
            double acc = 0;
            for (std::int64_t ic = 0; ic < x.shape[1]; ++ic) {
                acc += (x.at({n, ic}) - static_cast<double>(d.attributes.input_zp)) *
                       (w.at({oc, ic}) - static_cast<double>(d.attributes.weight_zp));
            }
            out.push_back(acc + b.at({oc}));
        }
    }
    return out;
}

std::vector<double> transpose_conv(const RandomOperator030& d) {
    const Tensor x = operand(d, 0), w = operand(d, 1), b = operand(d, 2);
    const auto& pad = d.attributes.out_pad;
    const auto& stride = d.attributes.stride;
    const std::int64_t oh = (x.shape[1] - 1) * stride[0] - pad[0] - pad[1] + w.shape[1];
    const std::int64_t ow = (x.shape[2] - 1) * stride[1] - pad[2] - pad[3] + w.shape[2];
    const std::int64_t channels = w.shape[0];
    std::vector<double> out(static_cast<std::size_t>(x.shape[0] * oh * ow * channels));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = b.v[i % static_cast<std::size_t>(channels)];
    for (std::int64_t n = 0; n < x.shape[0]; ++n)
        for (std::int64_t iy = 0; iy < x.shape[1]; ++iy)
            for (std::int64_t ix = 0; ix < x.shape[2]; ++ix)
                for (std::int64_t oc = 0; oc < channels; ++oc)
                    for (std::int64_t ky = 0; ky < w.shape[1]; ++ky)
                        for (std::int64_t kx = 0; kx < w.shape[2]; ++kx) {
                            const std::int64_t oy = iy * stride[0] - pad[0] + ky, ox = ix * stride[1] - pad[2] + kx;
                            if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
                            for (std::int64_t ic = 0; ic < x.shape[3]; ++ic) {
                                out[static_cast<std::size_t>(((n * oh + oy) * ow + ox) * channels + oc)] +=
                                    (x.at({n, iy, ix, ic}) - static_cast<double>(d.attributes.input_zp)) *
                                    (w.at({oc, ky, kx, ic}) - static_cast<double>(d.attributes.weight_zp));
                            }
                        }
    return out;
}

std::vector<double> resize(const RandomOperator030& d) {
    const Tensor in = operand(d, 0);
    const Attributes& a = d.attributes;
    const bool real = is_float(d.types[0].type);
    const std::int64_t ih = in.shape[1], iw = in.shape[2];
    const double unit = real ? 1 : 1 << a.shift;
    const auto place = [&](std::size_t axis, std::int64_t o, std::int64_t size, std::int64_t& i0, std::int64_t& i1) {
        double p = static_cast<double>(o) * a.resize_stride[axis] + a.resize_offset[axis];
        if (real)
            p = static_cast<float>(o) * static_cast<float>(a.resize_stride[axis]) +
                static_cast<float>(a.resize_offset[axis]);
        const double i = std::floor(p / unit);
        i0 = std::max<std::int64_t>(static_cast<std::int64_t>(i), 0);
        i1 = std::min<std::int64_t>(static_cast<std::int64_t>(i) + 1, size - 1);
        EXPECT_LE(i0, i1) << "the case is unpredictable";
        return p - i * unit;
    };
    std::vector<double> out;
    for (std::int64_t n = 0; n < in.shape[0]; ++n)
        for (std::int64_t oy = 0; oy < a.output_size[0]; ++oy)
            for (std::int64_t ox = 0; ox < a.output_size[1]; ++ox) {
                std::int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
                const double dy = place(0, oy, ih, y0, y1), dx = place(1, ox, iw, x0, x1);
                for (std::int64_t c = 0; c < in.shape[3]; ++c) {
                    if (a.mode == ResizeMode::nearest) {
                        out.push_back(in.at({n, dy >= unit / 2 ? y1 : y0, dx >= unit / 2 ? x1 : x0, c}));
                    } else {
                        out.push_back(in.at({n, y0, x0, c}) * (unit - dy) * (unit - dx) +
                                      in.at({n, y0, x1, c}) * (unit - dy) * dx +
                                      in.at({n, y1, x0, c}) * dy * (unit - dx) + in.at({n, y1, x1, c}) * dy * dx);
                    }
                }
            }
    return out;
}

/// apply_scale_32 and apply_scale_16 of 0.30, in the widest integers there are.
std::vector<double> rescale(const RandomOperator030& d) {
    const Tensor in = operand(d, 0);
    const Attributes& a = d.attributes;
    const Type type = d.results[0];
    const std::int64_t lo = type.is_unsigned ? 0 : min_of(type.type);
    const std::int64_t hi = type.is_unsigned ? max_of(type.type) - min_of(type.type) : max_of(type.type);
    std::vector<double> out;
    for (std::size_t i = 0; i < in.v.size(); ++i) {
        const std::size_t c = a.per_channel ? i % static_cast<std::size_t>(in.shape.back()) : 0;
        const auto value = static_cast<std::int64_t>(in.v[i]) - a.input_zp;
        const std::int64_t shift = a.rescale_shift[c];
        __int128 round = __int128{1} << (shift - 1);
        if (a.double_round && shift > 31) round += value >= 0 ? __int128{1} << 30 : -(__int128{1} << 30);
        const auto scaled =
            static_cast<std::int64_t>((static_cast<__int128>(value) * a.multiplier[c] + round) >> shift);
        out.push_back(static_cast<double>(std::clamp(scaled + a.output_zp, lo, hi)));
    }
    return out;
}

std::vector<double> shift(const RandomOperator030& d) {
    const Tensor x = operand(d, 0), s = operand(d, 1);
    Shape shape;
    EXPECT_TRUE(broadcast_shape(x.shape, s.shape, shape));
    if (d.shape) shape = *d.shape;
    const int width = static_cast<int>(size_of(d.types[0].type)) * 8;
    std::vector<double> out;
    for (std::int64_t flat = 0; flat < element_count(shape); ++flat) {
        std::int64_t rest = flat, ix = 0, is = 0, step_x = 1, step_s = 1;
        for (std::size_t k = shape.size(); k-- > 0;) {
            const std::int64_t at = rest % shape[k];
            rest /= shape[k];
            ix += (x.shape[k] == 1 ? 0 : at) * step_x;
            is += (s.shape[k] == 1 ? 0 : at) * step_s;
            step_x *= x.shape[k];
            step_s *= s.shape[k];
        }
        const auto value = static_cast<std::int64_t>(x.v[static_cast<std::size_t>(ix)]);
        const auto by = static_cast<std::int64_t>(s.v[static_cast<std::size_t>(is)]);
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1, bits = static_cast<std::uint64_t>(value) & mask;
        const std::uint64_t shifted = (d.op == Op::logical_left_shift ? bits << by : bits >> by) & mask;
        out.push_back(static_cast<double>(shifted) - (shifted >> (width - 1) ? std::ldexp(1, width) : 0));
    }
    return out;
}

std::vector<double> argmax(const RandomOperator030& d) {
    const Tensor x = operand(d, 0);
    const auto axis = static_cast<std::size_t>(d.attributes.axis);
    std::int64_t inner = 1, outer = 1;
    for (std::size_t k = 0; k < x.shape.size(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : x.shape[k];
    const DType type = d.types[0].type;
    std::vector<double> out;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i < inner; ++i) {
            double best = is_float(type) ? -INFINITY : static_cast<double>(min_of(type));
            std::int64_t index = 0;
            for (std::int64_t k = 0; k < x.shape[axis]; ++k) {
                const double value = x.v[static_cast<std::size_t>((o * x.shape[axis] + k) * inner + i)];
                if (value > best) best = value, index = k;
            }
            out.push_back(static_cast<double>(index));
        }
    return out;
}

/// Real and imaginary parts, one after the other.
std::vector<double> rfft(const RandomOperator030& d) {
    const Tensor in = operand(d, 0);
    const std::int64_t h = in.shape[1], w = in.shape[2];
    std::vector<double> parts[2];
    for (std::int64_t n = 0; n < in.shape[0]; ++n)
        for (std::int64_t oy = 0; oy <= h / 2; ++oy)
            for (std::int64_t ox = 0; ox <= w / 2; ++ox) {
                long double re = 0, im = 0;
                for (std::int64_t iy = 0; iy < h; ++iy)
                    for (std::int64_t ix = 0; ix < w; ++ix) {
                        const long double turn = static_cast<long double>(iy * oy % h) / static_cast<long double>(h) +
                                                 static_cast<long double>(ix * ox % w) / static_cast<long double>(w);
                        const long double angle = 2 * 3.14159265358979323846264338L * turn;
                        re += static_cast<long double>(in.at({n, iy, ix})) * std::cos(angle);
                        im -= static_cast<long double>(in.at({n, iy, ix})) * std::sin(angle);
                    }
                parts[0].push_back(static_cast<double>(re));
                parts[1].push_back(static_cast<double>(im));
            }
    parts[0].insert(parts[0].end(), parts[1].begin(), parts[1].end());
    return parts[0];
}

/// How far a float result may be off, as a share of the largest magnitude in the operands times the terms per result.
double allowance(DType type) {
    switch (type) {
        case DType::fp16: return 0x1p-9;
        case DType::bf16: return 0x1p-6;
        case DType::fp32: return 0x1p-18;
        default: return 0;
    }
}

using Definition = std::vector<double> (*)(const RandomOperator030&);

/// Compares the upgraded graph's reference run with the definition on random cases of every row of the operator.
void compare(Op op, Definition definition) {
    const OpInfo& info = *v0_30::find_info(op);
    const std::uint64_t first = test::number_from_environment("TOSAVK_TEST_SEED", 1),
                        seeds = 3 * test::number_from_environment("TOSAVK_TEST_SEEDS", 20);
    for (const Row& row : info.rows) {
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
            SCOPED_TRACE(std::string(v0_30::op_name(op)) + " (" + conformance::row_text(row) +
                         ") TOSAVK_TEST_SEED=" + std::to_string(seed));
            std::mt19937_64 random(seed);
            const RandomOperator030 drawn = conformance::random_operator_0_30(info, row, random);
            const conformance::RandomCase made = conformance::upgraded_case(drawn);
            const std::vector<double> want = definition(drawn);
            std::vector<double> got;
            const auto results = reference_run(made.graph, made.inputs);
            for (std::size_t k = 0; k < results.size(); ++k) {
                RandomOperator030 as_operand;
                as_operand.operands = {results[k]};
                as_operand.types = {drawn.results[k]};
                const Tensor tensor = operand(as_operand, 0);
                got.insert(got.end(), tensor.v.begin(), tensor.v.end());
            }
            ASSERT_EQ(got.size(), want.size()) << conformance::describe(made);
            double scale = 1;
            for (std::size_t k = 0; k < drawn.operands.size(); ++k) {
                double largest = 1;
                for (const double v : operand(drawn, k).v)
                    largest = std::max(largest, std::isfinite(v) ? std::fabs(v) : 1);
                scale *= largest;
            }
            const double bound = allowance(drawn.results[0].type) * scale * 64;
            const DType type = drawn.results[0].type;
            const bool too_large = is_float(type) && scale * 64 > (type == DType::fp16 ? 3e4 : 1e38);
            for (std::size_t i = 0; i < want.size(); ++i) {
                // Sums that meet infinities, or become too large on the way, may do so in another order.
                if (!std::isfinite(want[i]) || too_large) continue;
                ASSERT_LE(std::fabs(got[i] - want[i]), bound)
                    << "element " << i << ": " << got[i] << " is not " << want[i] << "\n"
                    << conformance::describe(made);
            }
        }
    }
}

TEST(Upgrade030, FullyConnected) { compare(v0_30::fully_connected, fully_connected); }
TEST(Upgrade030, TransposeConv2dTakesAway) { compare(Op::transpose_conv2d, transpose_conv); }
TEST(Upgrade030, Resize) { compare(Op::resize, resize); }
TEST(Upgrade030, RescaleWithUnsignedTypes) { compare(Op::rescale, rescale); }
TEST(Upgrade030, LogicalLeftShift) { compare(Op::logical_left_shift, shift); }
TEST(Upgrade030, LogicalRightShift) { compare(Op::logical_right_shift, shift); }
TEST(Upgrade030, ArgmaxPassesOverNan) { compare(Op::argmax, argmax); }
TEST(Upgrade030, Rfft2dKeepsHalfOfTheRows) { compare(Op::rfft2d, rfft); }

// ---- single graphs --------------------------------------------------------------------------------------------------

std::vector<double> run(const Graph& graph, const std::vector<std::vector<double>>& inputs) {
    std::vector<HostTensor> tensors;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const Value& v = graph.value(graph.inputs.at(k));
        tensors.emplace_back(v.type, v.shape);
        tensors.back().bytes = encode_reals(v.type, inputs[k]);
    }
    const HostTensor out = reference_run(graph, tensors).at(0);
    return decode_reals(out.type, out.bytes);
}

constexpr Type i8{DType::i8}, i32{DType::i32}, fp32{DType::fp32}, u8{DType::i8, true};

/// One elementwise operator of these inputs, with the output's shape given.
Graph pointwise(Op op, Type type, const std::vector<Shape>& shapes, Type out, const Shape& shape, Attributes a = {}) {
    Builder b;
    std::vector<ValueId> ids;
    for (const Shape& s : shapes) ids.push_back(b.input("x" + std::to_string(ids.size()), type, s));
    b.output(b.add1(op, ids, out, a, "y", shape));
    return b.finish();
}

TEST(Upgrade030, BothInputsBroadcast) {
    EXPECT_EQ(run(pointwise(Op::add, i32, {{1, 1}, {1, 2}}, i32, {3, 2}), {{10}, {1, 2}}),
              (std::vector<double>{11, 12, 11, 12, 11, 12}));
    EXPECT_EQ(run(pointwise(Op::add, i32, {{3, 1}, {1, 2}}, i32, {3, 2}), {{10, 20, 30}, {1, 2}}),
              (std::vector<double>{11, 12, 21, 22, 31, 32}));
}

TEST(Upgrade030, PowOfNegativeBasesIsThatOfC) {
    const auto y = run(pointwise(Op::pow, fp32, {{5}, {5}}, fp32, {5}), {{-2, -2, -2, 2, 0}, {3, 2, 0.5, 0.5, 0}});
    EXPECT_EQ(y[0], -8);
    EXPECT_EQ(y[1], 4);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_NEAR(y[3], std::sqrt(2), 1e-6);
    EXPECT_EQ(y[4], 1);
}

TEST(Upgrade030, ResizeOfTheSpecificationsExamples) {
    // [OH-1] = 2 [IH-1]: shift 1, stride 1; and the full area doubled: shift 2, stride 2, offset -1, border 1.
    Attributes a;
    a.resize_stride = {1, 1};
    a.resize_offset = {0, 0};
    a.border = {0, 0};
    a.shift = 1;
    a.mode = ResizeMode::bilinear;
    Builder b;
    b.output(b.add1(Op::resize, {b.input("x", i8, {1, 1, 2, 1})}, i32, a, "y"));
    const Graph corners = b.finish();
    EXPECT_EQ(corners.value(corners.outputs[0]).shape, (Shape{1, 1, 3, 1}));
    EXPECT_EQ(run(corners, {{3, 5}}), (std::vector<double>{12, 16, 20}));
    a.resize_stride = {2, 2};
    a.resize_offset = {-1, -1};
    a.border = {1, 1};
    a.shift = 2;
    Builder c;
    c.output(c.add1(Op::resize, {c.input("x", i8, {1, 1, 2, 1})}, i32, a, "y"));
    const Graph area = c.finish();
    EXPECT_EQ(area.value(area.outputs[0]).shape, (Shape{1, 2, 4, 1}));
    EXPECT_EQ(run(area, {{0, 16}}), (std::vector<double>{0, 64, 192, 256, 0, 64, 192, 256}));
}

TEST(Upgrade030, ResizeFindsFractionsAndDoesWithout) {
    const auto nodes = [](float stride, float offset, std::int64_t out, ResizeMode mode) {
        Attributes a;
        a.output_size = {1, out};
        a.resize_stride = {1, static_cast<double>(stride)};
        a.resize_offset = {0, static_cast<double>(offset)};
        a.mode = mode;
        Builder b;
        b.output(b.add1(Op::resize, {b.input("x", fp32, {1, 1, 7, 1})}, fp32, a, "y"));
        return b.finish();
    };
    EXPECT_EQ(nodes(6.0F / 10, 0, 11, ResizeMode::bilinear).nodes.size(), 1u) << "corners that meet";
    EXPECT_EQ(nodes(7.0F / 13, 7.0F / 26 - 0.5F, 13, ResizeMode::bilinear).nodes.size(), 1u) << "half-pixel centres";
    const Graph odd = nodes(0.71828183F, 0.1234567F, 8, ResizeMode::bilinear);
    EXPECT_GT(odd.nodes.size(), 1u) << "there is no fraction";
    EXPECT_TRUE(std::none_of(odd.nodes.begin(), odd.nodes.end(), [](const Node& n) { return n.op == Op::resize; }));
}

TEST(Upgrade030, AttributesThatTrainingGraphsComputeAreOperands) {
    Builder b;
    const Type i16{DType::i16};
    const auto constant = [&](const char* name, Type type, std::vector<std::int64_t> values) {
        return b.constant(name, type, {static_cast<std::int64_t>(values.size())}, encode_ints(type.type, values));
    };
    const ValueId x = b.input("x", i32, {2});
    const ValueId product = b.add1(Op::mul, {x, x, constant("shift", i8, {1})}, i32, {}, "product");
    const ValueId scaled =
        b.add1(Op::rescale, {product, constant("m", i32, {1 << 30}), constant("s", i8, {31})}, i16, {}, "scaled");
    std::vector<std::int64_t> entries;
    for (int i = 0; i < 513; ++i) entries.push_back(i - 256);
    b.output(b.add1(Op::table, {scaled, constant("t", i16, entries)}, i32, {}, "y"));
    // (16 * 16 + 1) >> 1, halved, and the identity in 1/128.
    EXPECT_EQ(run(b.finish(), {{16, -32}}), (std::vector<double>{64, 256}));
}

TEST(Upgrade030, WideningLeavesWeightsConstant) {
    Builder b;
    const Type fp16{DType::fp16};
    const auto reals = [](DType type, std::vector<double> values) { return encode_reals(type, values); };
    const ValueId weight = b.constant("w", fp16, {1, 2}, reals(DType::fp16, {256, 0.5}));
    const ValueId bias = b.constant("b", fp32, {1}, reals(DType::fp32, {0.25}));
    b.output(b.add1(v0_30::fully_connected, {b.input("x", fp16, {1, 2}), weight, bias}, fp32, {}, "y"));
    const Graph graph = b.finish();
    // 65536 does not fit fp16.
    EXPECT_EQ(run(graph, {{256, 4}}), (std::vector<double>{65538.25}));
    for (const Node& node : graph.nodes) {
        EXPECT_TRUE(node.op != Op::conv2d || graph.value(node.inputs[1]).is_constant());
    }
}

TEST(Upgrade030, ResizeThatANegativeBorderCutsShort) {
    Attributes a;
    a.shift = 1;
    a.resize_stride = {1, 1};
    a.resize_offset = {0, 0};
    a.border = {0, -58};
    a.mode = ResizeMode::bilinear;
    Builder b;
    b.output(b.add1(Op::resize, {b.input("x", i8, {1, 1, 30, 1})}, i32, a, "y"));
    const Graph graph = b.finish();
    std::vector<double> x(30, 7);
    x[0] = 3;
    EXPECT_EQ(run(graph, {x}), (std::vector<double>{12}));
    EXPECT_EQ(graph.nodes.size(), 2u) << "SLICE and RESIZE";
}

TEST(Upgrade030, TransposeConv2dThatShowsItsGapsOnly) {
    Attributes a;
    a.stride = {3, 3};
    a.out_pad = {1, 1, 0, 0};
    a.input_zp = 5;
    Builder b;
    b.output(b.add1(Op::transpose_conv2d,
                    {b.input("x", i8, {1, 2, 1, 1}), b.input("w", i8, {2, 1, 1, 1}), b.input("b", i32, {2})}, i32, a,
                    "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{1, 2, 1, 2}));
    EXPECT_EQ(run(graph, {{9, 9}, {1, 1}, {70, -7}}), (std::vector<double>{70, -7, 70, -7}));
}

std::string refusal(const std::function<void(Builder&)>& build) {
    Builder b;
    try {
        build(b);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_model) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return {};
}

TEST(Upgrade030, ErrorsSpeakOf0_30) {
    const auto expect = [](const std::string& part, const std::function<void(Builder&)>& build) {
        const std::string message = refusal(build);
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    Attributes a;
    expect("shift is 3, but must be 0 for type i8", [&](Builder& b) {
        Attributes m;
        m.shift = 3;
        b.add1(Op::mul, {b.input("x", i8, {2}), b.input("y", i8, {2})}, i32, m, "m");
    });
    expect("TOSA 0.30 has no combination of types in_out_t=u8",
           [&](Builder& b) { b.add1(Op::reverse, {b.input("x", u8, {2})}, u8, a, "r"); });
    expect("FULLY_CONNECTED 'f': bias has shape 2, but needs 3", [&](Builder& b) {
        b.add1(v0_30::fully_connected, {b.input("x", i8, {1, 4}), b.input("w", i8, {3, 4}), b.input("b", i32, {2})},
               i32, a, "f");
    });
    expect("input has 4 channels, but weight has 5", [&](Builder& b) {
        b.add1(v0_30::fully_connected, {b.input("x", i8, {1, 4}), b.input("w", i8, {3, 5}), b.input("b", i32, {3})},
               i32, a, "f");
    });
    expect("input_zp 300 is not in -128..127", [&](Builder& b) {
        Attributes f;
        f.input_zp = 300;
        b.add1(v0_30::fully_connected, {b.input("x", i8, {1, 4}), b.input("w", i8, {3, 4}), b.input("b", i32, {3})},
               i32, f, "f");
    });
    const auto resize = [&](const std::function<void(Attributes&)>& change) {
        return [change](Builder& b) {
            Attributes r;
            r.resize_stride = {4, 4};
            r.resize_offset = {0, 0};
            r.border = {0, 0};
            r.shift = 2;
            change(r);
            b.add1(Op::resize, {b.input("x", i8, {1, 4, 4, 1})}, i8, r, "r");
        };
    };
    expect("shift 12 is not in 1..11", resize([](Attributes& r) { r.shift = 12; }));
    expect("stride_y 0 is not above 0", resize([](Attributes& r) { r.resize_stride[0] = 0; }));
    expect("stride_x 64 is not below 64", resize([](Attributes& r) { r.resize_stride[1] = 64; }));
    expect("offset_x -64 is not between", resize([](Attributes& r) { r.resize_offset[1] = -64; }));
    expect("samples the input at -2", resize([](Attributes& r) { r.resize_offset[0] = -8; }));
    expect("output_size 3 along y is not 4", resize([](Attributes& r) { r.output_size = {3, 4}; }));
    expect("mode BILINEAR does not give i8 from i8", resize([](Attributes& r) { r.mode = ResizeMode::bilinear; }));
    expect("out_pad -1 is negative", [&](Builder& b) {
        Attributes t;
        t.stride = {1, 1};
        t.out_pad = {-1, 0, 0, 0};
        b.add1(Op::transpose_conv2d,
               {b.input("x", i8, {1, 2, 2, 1}), b.input("w", i8, {1, 2, 2, 1}), b.input("b", i32, {1})}, i32, t, "t");
    });
    expect("double_round needs scale32", [&](Builder& b) {
        Attributes s;
        s.scale32 = false;
        s.double_round = true;
        s.multiplier = {1};
        s.rescale_shift = {30};
        b.add1(Op::rescale, {b.input("x", i8, {2})}, i8, s, "s");
    });
}

// Every row: the reference runs random cases of it.
TEST(Upgrade030, EveryRowRuns) {
    for (const OpInfo& info : v0_30::operators()) {
        for (const Row& row : info.rows) {
            for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                std::mt19937_64 random(seed * 7919 + static_cast<std::uint64_t>(&row - info.rows.data()));
                SCOPED_TRACE(std::string(v0_30::op_name(info.op)) + " (" + conformance::row_text(row) + ") seed " +
                             std::to_string(seed));
                try {
                    const auto made = conformance::random_case_0_30(info, row, random);
                    EXPECT_FALSE(reference_run(made.graph, made.inputs).empty());
                } catch (const Error& error) {
                    ADD_FAILURE() << error.what();
                }
            }
        }
    }
}

}  // namespace
}  // namespace tosavk
