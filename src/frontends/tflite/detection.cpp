// TFLite_Detection_PostProcess, with which detectors of the SSD kind end: boxes are decoded from what the network says
// of its anchors, and of those that overlap one is taken, for each class by itself or for all classes at once.
#include "frontends/tflite/moves.hpp"

#include <flatbuffers/flexbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

constexpr double lowest_score = -std::numeric_limits<double>::infinity();

struct DetectionOptions {
    std::int64_t most = 0, classes_each = 0, classes = 0, each_class = 100;
    bool by_class = false;
    float score_limit = 0, overlap_limit = 0;
    std::array<float, 4> scale{};  ///< y, x, h, w
};

/// The options are a map in a FlexBuffer. A number that is missing is 0.
DetectionOptions detection_options(const Lowering& l) {
    const auto* bytes = l.op().table->custom_options();
    if (!bytes || bytes->size() < 3 || !flexbuffers::VerifyBuffer(bytes->data(), bytes->size()))
        l.fail("its options are no FlexBuffer");
    const flexbuffers::Reference root = flexbuffers::GetRoot(bytes->data(), bytes->size());
    if (!root.IsMap()) l.fail("its options are no map");
    const flexbuffers::Map map = root.AsMap();
    DetectionOptions o;
    o.most = map["max_detections"].AsInt32();
    o.classes_each = map["max_classes_per_detection"].AsInt32();
    o.classes = map["num_classes"].AsInt32();
    if (!map["detections_per_class"].IsNull()) o.each_class = map["detections_per_class"].AsInt32();
    if (!map["use_regular_nms"].IsNull()) o.by_class = map["use_regular_nms"].AsBool();
    o.score_limit = map["nms_score_threshold"].AsFloat();
    o.overlap_limit = map["nms_iou_threshold"].AsFloat();
    const char* scales[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    for (std::size_t k = 0; k < 4; ++k) {
        o.scale[k] = map[scales[k]].AsFloat();
        if (!(std::abs(o.scale[k]) > 0) || !std::isfinite(o.scale[k]))
            l.fail(fmt::format("its {} is {}", scales[k], o.scale[k]));
    }
    if (o.most < 1 || o.classes_each < 1 || o.each_class < 1 || o.classes < 1)
        l.fail(fmt::format("it has {} classes and finds {} boxes, {} of a class, of {} classes each", o.classes, o.most,
                           o.each_class, o.classes_each));
    if (!(o.overlap_limit > 0) || o.overlap_limit > 1)
        l.fail(fmt::format("its nms_iou_threshold is {}, not above 0 and up to 1", o.overlap_limit));
    if (!std::isfinite(o.score_limit)) l.unsupported(fmt::format("its nms_score_threshold is {}", o.score_limit));
    return o;
}

/// Input k as fp32.
ValueId detection_floats(Lowering& l, std::size_t k) {
    const ValueId x = l.value(k);
    if (l.in(k).type == tflite::TensorType::FLOAT32) return x;
    if (l.in(k).type != tflite::TensorType::UINT8)
        l.unsupported(fmt::format("{} of type {} is not supported", l.in(k).title(), name_of(l.in(k).type)));
    if (l.graph_value(x).is_constant()) return l.float_value(k);
    const Quant q = l.quant(l.in(k));
    ValueId y = l.cast(x, DType::fp32);
    if (q.zero_point != 0) y = l.add(Op::sub, {y, l.splat(y, DType::fp32, q.zero_point)}, DType::fp32);
    return l.mul(y, l.splat(y, DType::fp32, static_cast<double>(q.scale)), DType::fp32);
}

/// [boxes, 4]: y, x, y, x of two corners.
ValueId decoded_boxes(Lowering& l, const DetectionOptions& o) {
    const ValueId given = detection_floats(l, 0), anchors = detection_floats(l, 2);
    const Shape from = l.shape(given);
    if (from.size() != 3 || from[0] != 1 || from[2] < 4) l.fail(fmt::format("its boxes are {}", to_string(from)));
    if (l.in(2).type != l.in(0).type || l.shape(anchors) != Shape{from[1], 4})
        l.fail(fmt::format("anchors {} of type {} for boxes {} of type {}", to_string(l.shape(anchors)),
                           name_of(l.in(2).type), to_string(from), name_of(l.in(0).type)));
    const ValueId boxes = l.reshape(given, {from[1], from[2]});
    const auto column = [&](ValueId of, std::size_t k) { return l.slice_axis(of, 1, static_cast<std::int64_t>(k), 1); };
    const auto scaled = [&](std::size_t k) {
        const ValueId x = column(boxes, k);
        return l.add(Op::divide, {x, l.splat(x, DType::fp32, static_cast<double>(o.scale[k]))}, DType::fp32);
    };
    std::array<ValueId, 2> middle{}, half{};
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId size = column(anchors, 2 + k);
        middle[k] = l.add(Op::add, {l.mul(scaled(k), size, DType::fp32), column(anchors, k)}, DType::fp32);
        const ValueId grown = l.add(Op::exp, {scaled(2 + k)}, DType::fp32);
        half[k] = l.mul(l.mul(grown, size, DType::fp32), l.splat(size, DType::fp32, 0.5), DType::fp32);
    }
    std::vector<ValueId> corners;
    for (const Op op : {Op::sub, Op::add}) {
        for (std::size_t k = 0; k < 2; ++k) corners.push_back(l.add(op, {middle[k], half[k]}, DType::fp32));
    }
    return l.concat(std::move(corners), 1);
}

/// [rows, columns]: 0, 1, 2... in each row.
ValueId numbered(Lowering& l, std::int64_t rows, std::int64_t columns) {
    return broadcast(l, positions(l, 2, 1, columns), {rows, columns});
}

/// Elements of [n] or rows of [n, c] by [k] places.
ValueId taken_rows(Lowering& l, ValueId x, ValueId places) {
    const Shape from = l.shape(x);
    const std::int64_t row = from.size() == 2 ? from[1] : 1, count = element_count(l.shape(places));
    const ValueId rows = gather_rows_of(l, l.reshape(x, {1, from[0], row}), l.reshape(places, {1, count}));
    return l.reshape(rows, from.size() == 2 ? Shape{count, row} : Shape{count});
}

struct Taken {
    ValueId boxes = no_id;    ///< [lists, most] i32
    ValueId numbers = no_id;  ///< [lists] i32
};

/// Of scores [lists, boxes], where `allowed`: the highest first, equal ones in their order, none that overlaps one
/// before.
Taken take_best(Lowering& l, const DetectionOptions& o, ValueId boxes, ValueId scores, ValueId allowed,
                std::int64_t most) {
    const Shape shape = l.shape(scores);
    const ValueId keys = l.add(Op::select, {allowed, scores, l.splat(scores, DType::fp32, lowest_score)}, DType::fp32);
    Attributes attrs;
    attrs.axis = 1;
    const ValueId counts =
        l.reshape(l.add(Op::reduce_sum, {l.cast(allowed, DType::i32)}, DType::i32, attrs), {shape[0]});
    attrs.descending = true;
    const ValueId order = l.sort({keys, numbered(l, shape[0], shape[1])}, attrs)[1];
    const ValueId limit = l.scalar(DType::fp32, static_cast<double>(o.overlap_limit));
    Attributes suppressing;
    suppressing.most = l.narrow(most, "the number of boxes");
    const std::vector<ValueId> found =
        l.add_all(Op::suppress, {boxes, order, counts, limit}, std::array{DType::i32, DType::i32}, suppressing);
    return {found[0], found[1]};
}

/// Which of [rows, columns] places lie before the number of their row.
ValueId in_use(Lowering& l, ValueId numbers, std::int64_t columns) {
    const std::int64_t rows = element_count(l.shape(numbers));
    return l.add(Op::greater, {l.reshape(numbers, {rows, 1}), numbered(l, rows, columns)}, DType::boolean);
}

/// `boxes`, `classes` and `scores` of what is found, [found, n * 4] and [found, n], n classes of each box; zeros from
/// `number`, [1], on.
void set_detections(Lowering& l, const DetectionOptions& o, std::array<ValueId, 3> found, ValueId number) {
    const std::int64_t count = l.shape(found[1])[0], rows = o.most * o.classes_each;
    const ValueId used = l.reshape(in_use(l, number, count), {count, 1});
    for (std::size_t k = 0; k < 3; ++k) {
        const std::int64_t one = k == 0 ? 4 : 1, width = element_count(l.shape(found[k])) / count;
        ValueId x = l.reshape(found[k], {count, width});
        x = l.add(Op::select, {used, x, l.splat(x, DType::fp32, 0)}, DType::fp32);
        // Places of further classes, where there are no more, and of further boxes.
        const std::int64_t wanted = o.by_class ? one : one * o.classes_each;
        const std::vector<std::int64_t> padding{0, rows * one / wanted - count, 0, wanted - width};
        x = pad(l, x, padding, l.scalar(DType::fp32, 0));
        l.set(l.reshape(x, k == 0 ? Shape{1, rows, 4} : Shape{1, rows}), k);
    }
    l.set(l.cast(number, DType::fp32), 3);
}

ValueId reaches(Lowering& l, const DetectionOptions& o, ValueId scores) {
    return l.add(Op::greater_equal, {scores, l.splat(scores, DType::fp32, static_cast<double>(o.score_limit))},
                 DType::boolean);
}

/// The best classes of each box, [boxes, n] fp32, and their scores.
std::array<ValueId, 2> best_classes(Lowering& l, ValueId scores, std::int64_t each) {
    const std::int64_t count = l.shape(scores)[0];
    Attributes attrs;
    if (each > 1) {
        attrs.most = l.narrow(each, "the number of classes");
        const ValueId places = l.add(Op::partial_sort, {scores}, DType::i32, attrs);
        const ValueId values = gather_rows_of(l, l.reshape(scores, {count, l.shape(scores)[1], 1}), places);
        return {l.cast(places, DType::fp32), l.reshape(values, {count, each})};
    }
    attrs.axis = 1;
    attrs.nan_mode = NanMode::ignore;
    const ValueId best = l.add(Op::reduce_max, {scores}, DType::fp32, attrs);
    const ValueId place = l.add(Op::argmax, {scores}, DType::i32, attrs);
    // Nothing is larger than a NaN of the first class.
    const ValueId first = l.slice_axis(scores, 1, 0, 1);
    const ValueId is_number = l.add(Op::equal, {first, first}, DType::boolean);
    return {l.reshape(l.cast(place, DType::fp32), {count, 1}),
            l.add(Op::select, {is_number, best, first}, DType::fp32)};
}

/// Boxes are taken by the score of their best class.
void detect_at_once(Lowering& l, const DetectionOptions& o, ValueId boxes, ValueId scores) {
    const std::int64_t count = l.shape(scores)[0], each = std::min(o.classes_each, o.classes);
    const auto [classes, values] = best_classes(l, scores, each);
    const ValueId best = l.reshape(l.slice_axis(values, 1, 0, 1), {1, count});
    const Taken taken = take_best(l, o, boxes, best, reaches(l, o, best), std::min(o.most, count));
    const std::vector<ValueId> copies(static_cast<std::size_t>(each), taken_rows(l, boxes, taken.boxes));
    set_detections(l, o, {l.concat(copies, 1), taken_rows(l, classes, taken.boxes), taken_rows(l, values, taken.boxes)},
                   taken.numbers);
}

/// Boxes are taken for each class by itself, and the best of all classes are left; of equal scores the first class's.
void detect_by_class(Lowering& l, const DetectionOptions& o, ValueId boxes, ValueId scores) {
    const std::int64_t count = l.shape(scores)[0], room = std::min({o.most, o.each_class, count});
    const ValueId by_class = move_axis(l, scores, 1, 0);
    const Taken taken = take_best(l, o, boxes, by_class, reaches(l, o, by_class), room);
    const std::int64_t all = o.classes * room, most = std::min(o.most, all);
    const ValueId values = gather_rows_of(l, l.reshape(by_class, {o.classes, count, 1}), taken.boxes);
    const ValueId used = in_use(l, taken.numbers, room);
    const ValueId none = l.splat(used, DType::fp32, lowest_score);
    const ValueId keys = l.add(Op::select, {used, l.reshape(values, {o.classes, room}), none}, DType::fp32);
    Attributes attrs;
    attrs.descending = true;
    const std::vector<ValueId> sorted =
        l.sort({l.reshape(keys, {all}), l.reshape(positions(l, 1, 0, all), {all})}, attrs);
    const ValueId places = l.slice_axis(sorted[1], 0, 0, most);
    std::vector<float> classes;
    for (std::int64_t k = 0; k < all; ++k) classes.push_back(static_cast<float>(k / room));
    attrs = {};
    const ValueId sum = l.add(Op::reduce_sum, {taken.numbers}, DType::i32, attrs);
    const ValueId number = l.add(Op::minimum, {sum, l.splat(sum, DType::i32, static_cast<double>(most))}, DType::i32);
    const ValueId found = taken_rows(l, l.reshape(taken.boxes, {all}), places);
    set_detections(l, o,
                   {taken_rows(l, boxes, found), taken_rows(l, l.constant_floats("classes", {all}, classes), places),
                    l.slice_axis(sorted[0], 0, 0, most)},
                   number);
}

void lower_detection(Lowering& l) {
    if (l.input_count() != 3 || l.output_count() != 4)
        l.fail(fmt::format("it has {} inputs and {} outputs", l.input_count(), l.output_count()));
    const DetectionOptions o = detection_options(l);
    const ValueId boxes = decoded_boxes(l, o), given = detection_floats(l, 1);
    const Shape from = l.shape(given);
    const std::int64_t count = l.shape(boxes)[0];
    if (from.size() != 3 || from[0] != 1 || from[1] != count || from[2] < o.classes || from[2] > o.classes + 1)
        l.fail(fmt::format("scores {} for {} boxes and {} classes", to_string(from), count, o.classes));
    if (o.most * o.classes_each > 16384) l.unsupported(fmt::format("to find {} boxes is not supported", o.most));
    // The class before the others is the background.
    const ValueId scores = l.slice_axis(l.reshape(given, {count, from[2]}), 1, from[2] - o.classes, o.classes);
    (o.by_class ? detect_by_class : detect_at_once)(l, o, boxes, scores);
}

}  // namespace

OperatorRows detection_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::CUSTOM, lower_detection, computes, "TFLite_Detection_PostProcess"},
    };
    return rows;
}

}  // namespace tosavk
