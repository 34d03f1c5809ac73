// TFLite_Detection_PostProcess: small models run by the reference, and options that are refused.
#include "support/environment.hpp"
#include "support/tflite_operands.hpp"

#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <random>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

using Reals = std::vector<double>;
using Extra = std::function<void(flexbuffers::Builder&)>;

struct Settings {
    int most = 3, classes_each = 1, classes = 2;
    double score = 0.1, overlap = 0.5, y_scale = 2;
    bool by_class = false;
};

std::vector<std::uint8_t> options(const Settings& s, const Extra& extra = {}) {
    flexbuffers::Builder b;
    b.Map([&] {
        b.Int("max_detections", s.most);
        b.Int("max_classes_per_detection", s.classes_each);
        b.Int("num_classes", s.classes);
        b.Double("nms_score_threshold", s.score);
        b.Double("nms_iou_threshold", s.overlap);
        b.Double("y_scale", s.y_scale);
        b.Double("x_scale", 2);
        b.Double("h_scale", 4);
        b.Double("w_scale", 4);
        b.Bool("use_regular_nms", s.by_class);
        if (extra) extra(b);
    });
    b.Finish();
    return b.GetBuffer();
}

/// Three boxes of width and height 1 at 0, 0.25 and 4, 4, moved by what the input says.
Bytes detector(const std::vector<std::uint8_t>& bytes, const Shape& scores = {1, 3, 3},
               const Shape& boxes = {1, 3, 4}) {
    TfliteBuilder t;
    const int encoded = t.tensor(f32(dims(boxes))), given = t.tensor(f32(dims(scores)));
    const int anchors =
        t.constant(f32({3, 4}), encode_reals(DType::fp32, Reals{0.5, 0.5, 1, 1, 0.5, 0.75, 1, 1, 4.5, 4.5, 1, 1}));
    std::vector<int> out;
    for (int k = 0; k < 4; ++k) out.push_back(t.tensor(f32({})));
    t.custom("TFLite_Detection_PostProcess", {encoded, given, anchors}, out, bytes);
    return t.finish({encoded, given}, out);
}

const HostTensor as_they_are = tensor_of({1, 3, 4}, Reals(12, 0.0));
// The background, and two classes.
const HostTensor some_scores = tensor_of({1, 3, 3}, {0, 0.5, 0.25, 0, 0.75, 0.5, 0.9, 0.05, 0.5});

TEST(TfliteDetection, TakesEachBoxByItsBestClass) {
    const auto got = run(detector(options({})), {as_they_are, some_scores});
    EXPECT_EQ(reals(got.at(0)), (Reals{0, 0.25, 1, 1.25, 4, 4, 5, 5, 0, 0, 0, 0}));  // box 0 overlaps box 1
    EXPECT_EQ(reals(got.at(1)), (Reals{0, 1, 0}));
    EXPECT_EQ(reals(got.at(2)), (Reals{0.75, 0.5, 0}));
    EXPECT_EQ(reals(got.at(3)), Reals{2});
    EXPECT_EQ(got.at(0).shape, (Shape{1, 3, 4}));
    EXPECT_EQ(got.at(3).shape, Shape{1});
}

TEST(TfliteDetection, TellsSeveralClassesOfABox) {
    Settings s;
    s.classes_each = 3;  // there are two
    const auto got = run(detector(options(s)), {as_they_are, some_scores});
    EXPECT_EQ(reals(got.at(1)), (Reals{0, 1, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(reals(got.at(2)), (Reals{0.75, 0.5, 0, 0.5, 0.05f, 0, 0, 0, 0}));
    EXPECT_EQ(got.at(0).shape, (Shape{1, 9, 4}));
    const Reals boxes = reals(got.at(0));
    EXPECT_EQ(Reals(boxes.begin() + 4, boxes.begin() + 12), (Reals{0, 0.25, 1, 1.25, 0, 0, 0, 0}));
    EXPECT_EQ(reals(got.at(3)), Reals{2});
}

TEST(TfliteDetection, TakesBoxesOfEachClass) {
    Settings s;
    s.by_class = true;
    s.most = 5;
    const auto got = run(detector(options(s)), {as_they_are, some_scores});
    // Of class 0 box 1, of class 1 boxes 1 and 2.
    EXPECT_EQ(reals(got.at(1)), (Reals{0, 1, 1, 0, 0}));
    EXPECT_EQ(reals(got.at(2)), (Reals{0.75, 0.5, 0.5, 0, 0}));
    EXPECT_EQ(reals(got.at(3)), Reals{3});
    s.most = 2;
    EXPECT_EQ(reals(run(detector(options(s)), {as_they_are, some_scores}).at(3)), Reals{2});
    s.most = 5;
    const Extra one_each = [](flexbuffers::Builder& b) { b.Int("detections_per_class", 1); };
    EXPECT_EQ(reals(run(detector(options(s, one_each)), {as_they_are, some_scores}).at(3)), Reals{2});
}

TEST(TfliteDetection, DecodesBoxes) {
    Settings s;
    s.most = 1;
    const HostTensor encoded = tensor_of({1, 3, 5}, {1, -2, 4, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9});
    const auto got =
        run(detector(options(s), {1, 3, 2}, {1, 3, 5}), {encoded, tensor_of({1, 3, 2}, {1, 0, 0, 0, 0, 0})});
    const Reals box = reals(got.at(0));
    const double half = std::exp(1.0) / 2;
    EXPECT_NEAR(box.at(0), 1 - half, 1e-6);
    EXPECT_NEAR(box.at(1), -1, 1e-6);
    EXPECT_NEAR(box.at(2), 1 + half, 1e-6);
    EXPECT_NEAR(box.at(3), 0, 1e-6);
}

TEST(TfliteDetection, WhatIsRefused) {
    const auto with = [](const std::function<void(Settings&)>& change) {
        Settings s;
        change(s);
        return detector(options(s));
    };
    expect_error(with([](Settings& s) { s.most = 0; }), ErrorCode::bad_model, "finds 0 boxes");
    expect_error(with([](Settings& s) { s.most = 1 << 20; }), ErrorCode::unsupported, "to find 1048576 boxes");
    expect_error(with([](Settings& s) { s.overlap = 0; }), ErrorCode::bad_model, "nms_iou_threshold is 0");
    expect_error(with([](Settings& s) { s.y_scale = 0; }), ErrorCode::bad_model, "y_scale is 0");
    expect_error(with([](Settings& s) { s.classes = 4; }), ErrorCode::bad_model, "scores 1x3x3 for 3 boxes");
    expect_error(detector({}), ErrorCode::bad_model, "no FlexBuffer");
    expect_error(detector({1, 4, 1}), ErrorCode::bad_model, "no map");
    expect_error(detector(options({}), {1, 2, 3}), ErrorCode::bad_model, "scores 1x2x3");
    expect_error(detector(options({}), {1, 3, 3}, {1, 3, 3}), ErrorCode::bad_model, "its boxes are 1x3x3");
}

/// Whatever its bytes, the map is read or refused.
TEST(TfliteDetection, DamagedOptions) {
    const std::uint64_t seed = number_from_environment("TOSAVK_TEST_SEED", 1);
    std::cout << "seed " << seed << "\n";
    std::mt19937_64 random(seed);
    const std::vector<std::uint8_t> good = options({});
    int refused = 0;
    for (int k = 0; k < 2000; ++k) {
        std::vector<std::uint8_t> bytes = good;
        if (k % 4 == 0) bytes.resize(random() % good.size());
        for (int changes = 0; changes < 1 + k % 3 && !bytes.empty(); ++changes)
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        try {
            import_tflite(detector(bytes), ImportOptions());
        } catch (const Error& e) {
            ++refused;
            EXPECT_TRUE(e.code() == ErrorCode::bad_model || e.code() == ErrorCode::unsupported) << e.what();
        }
    }
    EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tosavk
