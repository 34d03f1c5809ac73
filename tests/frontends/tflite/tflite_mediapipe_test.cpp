// MediaPipe's custom operators: small models run by the reference, compared with plain loops.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tosavk {
namespace {

using namespace tosavk::test;

std::vector<std::uint8_t> words(const std::vector<int>& values) {
    std::vector<std::uint8_t> bytes;
    for (const int v : values) {
        for (int b = 0; b < 4; ++b) bytes.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(v) >> (8 * b)));
    }
    return bytes;
}

Bytes custom(const std::string& name, const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
             const std::vector<int>& options) {
    TfliteBuilder t;
    std::vector<int> in, out;
    for (const Shape& s : inputs) in.push_back(t.tensor(f32(dims(s))));
    for (const Shape& s : outputs) out.push_back(t.tensor(f32(dims(s))));
    t.custom(name, in, out, words(options));
    return t.finish(in, out);
}

double real_at(const HostTensor& t, const Shape& place) {
    const std::vector<std::int64_t> strides = row_major_strides(t.shape);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < place.size(); ++d) offset += place[d] * strides[d];
    return reals(t).at(static_cast<std::size_t>(offset));
}

TEST(TfliteMediapipe, MaximaAndTheirPlaces) {
    struct Case {
        Shape from;
        std::int64_t window, stride;
        bool same;
    };
    for (const Case& c :
         {Case{{2, 4, 6, 2}, 2, 2, true}, Case{{1, 5, 7, 2}, 2, 2, true}, Case{{1, 5, 7, 2}, 2, 2, false},
          Case{{1, 5, 5, 1}, 3, 1, true}, Case{{1, 7, 5, 1}, 2, 3, false}}) {
        HostTensor x = random_f32(c.from, 3);
        for (float& v : x.as<float>()) v = std::round(v);  // with equal ones
        x.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
        Shape to = c.from;
        std::int64_t before[2]{};
        for (std::size_t i = 0; i < 2; ++i) {
            const std::int64_t size = c.from[1 + i];
            to[1 + i] = c.same ? (size + c.stride - 1) / c.stride : (size - c.window + c.stride) / c.stride;
            if (c.same) before[i] = std::max<std::int64_t>((to[1 + i] - 1) * c.stride + c.window - size, 0) / 2;
        }
        const auto w = static_cast<int>(c.window), s = static_cast<int>(c.stride);
        const auto got =
            run(custom("MaxPoolingWithArgmax2D", {c.from}, {to, to}, {c.same ? 1 : 2, s, s, w, w, 0}), {x});
        by_place(to, [&](const Shape& p) {
            double best = -static_cast<double>(std::numeric_limits<float>::max());
            std::int64_t place = 0;
            for (std::int64_t k = 0; k < c.window * c.window; ++k) {
                const std::int64_t y = p[1] * c.stride - before[0] + k / c.window,
                                   at_x = p[2] * c.stride - before[1] + k % c.window;
                if (y < 0 || y >= c.from[1] || at_x < 0 || at_x >= c.from[2]) continue;
                const double v = real_at(x, {p[0], y, at_x, p[3]});
                if (v > best) best = v, place = k;
            }
            EXPECT_EQ(real_at(got.at(0), p), best);
            EXPECT_EQ(real_at(got.at(1), p), static_cast<double>(static_cast<float>(place) + 0.1f));
            return 0;
        });
    }
    const auto bad = [](const std::vector<int>& options) {
        return custom("MaxPoolingWithArgmax2D", {{1, 4, 4, 1}}, {{1, 2, 2, 1}, {1, 2, 2, 1}}, options);
    };
    expect_error(bad({1, 2, 2, 2, 2}), ErrorCode::bad_model, "its options have 20 bytes, not 24");
    expect_error(bad({0, 2, 2, 2, 2, 0}), ErrorCode::bad_model, "its padding is 0");
    expect_error(bad({1, 0, 2, 2, 2, 0}), ErrorCode::bad_model, "must be at least 1");
    expect_error(bad({1, 2, 2, 9999, 9999, 0}), ErrorCode::unsupported, "too large");
}

TEST(TfliteMediapipe, PutsMaximaBack) {
    const Shape from{2, 2, 3, 2}, to{2, 4, 9, 2};  // windows of 2 x 3
    const HostTensor x = random_f32(from);
    HostTensor places = random_f32(from);
    for (float& v : places.as<float>()) v = static_cast<float>(random_source()() % 6) + 0.1f;
    const HostTensor got = run(custom("MaxUnpooling2D", {from, from}, {to}, {1, 3, 2, 3, 2, 0}), {x, places}).at(0);
    EXPECT_EQ(got.shape, to);
    by_place(to, [&](const Shape& p) {
        const Shape source{p[0], p[1] / 2, p[2] / 3, p[3]};
        const bool here = std::floor(real_at(places, source)) == static_cast<double>(p[1] % 2 * 3 + p[2] % 3);
        EXPECT_EQ(real_at(got, p), here ? real_at(x, source) : 0);
        return 0;
    });
    expect_error(custom("MaxUnpooling2D", {from, from}, {to}, {1, 1, 1, 3, 2, 0}), ErrorCode::unsupported,
                 "strides other than the window are not supported");
}

TEST(TfliteMediapipe, TransposedConvolutionWithBias) {
    struct Case {
        Shape from, filter;
        std::int64_t stride;
        bool same;
    };
    for (const Case& c : {Case{{1, 3, 4, 2}, {3, 2, 2, 2}, 2, true}, Case{{2, 3, 2, 1}, {2, 3, 3, 1}, 2, true},
                          Case{{1, 2, 2, 1}, {1, 3, 2, 1}, 1, false}}) {
        const HostTensor x = random_f32(c.from), filter = random_f32(c.filter), bias = random_f32({c.filter[0]});
        Shape to{c.from[0], 0, 0, c.filter[0]};
        std::int64_t cut[2]{};
        for (std::size_t i = 0; i < 2; ++i) {
            if (c.same) cut[i] = std::max<std::int64_t>(0, c.filter[1 + i] - (c.from[1 + i] - 1) % c.stride - 1);
            to[1 + i] = c.stride * (c.from[1 + i] - 1) + c.filter[1 + i] - cut[i];
        }
        const auto s = static_cast<int>(c.stride);
        const Bytes model =
            custom("Convolution2DTransposeBias", {c.from, c.filter, {c.filter[0]}}, {to}, {c.same ? 1 : 2, s, s});
        const HostTensor got = run(model, {x, filter, bias}).at(0);
        EXPECT_EQ(got.shape, to);
        by_place(to, [&](const Shape& p) {
            double sum = real_at(bias, {p[3]});
            for (std::int64_t y = 0; y < c.from[1]; ++y)
                for (std::int64_t z = 0; z < c.from[2]; ++z)
                    for (std::int64_t k = 0; k < c.from[3]; ++k) {
                        const std::int64_t fy = p[1] - y * c.stride + cut[0] / 2, fx = p[2] - z * c.stride + cut[1] / 2;
                        if (fy < 0 || fy >= c.filter[1] || fx < 0 || fx >= c.filter[2]) continue;
                        sum += real_at(x, {p[0], y, z, k}) * real_at(filter, {p[3], fy, fx, k});
                    }
            EXPECT_NEAR(real_at(got, p), sum, 1e-5);
            return 0;
        });
    }
    expect_error(custom("Convolution2DTransposeBias", {{1, 2, 2, 1}, {1, 2, 2, 3}, {1}}, {{1, 4, 4, 1}}, {1, 2, 2}),
                 ErrorCode::bad_model, "a filter 1x2x2x3 and a bias 1 for 1x2x2x1");
}

}  // namespace
}  // namespace tosavk
