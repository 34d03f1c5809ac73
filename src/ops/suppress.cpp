// SUPPRESS and SUPPRESS_QUEUED: of boxes that overlap, one is taken. What "one after the other" means to the last tie
// is part of the operators.
#include "base/numerics/shader_math.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

/// What kernels count in one go.
constexpr std::int32_t largest_most = 16384;

using Boxes = std::vector<float>;

/// The area that two boxes share, as a part of what both cover.
float overlap(const Boxes& boxes, std::size_t a, std::size_t b) {
    const float *p = boxes.data() + 4 * a, *q = boxes.data() + 4 * b;
    float low_p[2], high_p[2], low_q[2], high_q[2], shared[2];
    for (std::size_t k = 0; k < 2; ++k) {
        low_p[k] = std::min(p[k], p[k + 2]);
        high_p[k] = std::max(p[k], p[k + 2]);
        low_q[k] = std::min(q[k], q[k + 2]);
        high_q[k] = std::max(q[k], q[k + 2]);
        shared[k] = std::max(std::min(high_p[k], high_q[k]) - std::max(low_p[k], low_q[k]), 0.0f);
    }
    const float area_p = (high_p[0] - low_p[0]) * (high_p[1] - low_p[1]),
                area_q = (high_q[0] - low_q[0]) * (high_q[1] - low_q[1]);
    if (area_p <= 0 || area_q <= 0) return 0;
    const float common = shared[0] * shared[1], all = area_p + area_q - common;
    return all == 0 ? 0 : common / all;
}

std::int64_t check_boxes(const NodeView& view) {
    const Shape& boxes = view.in(0).shape;
    if (boxes[1] != 4) view.fail(fmt::format("boxes have {} numbers each, but need 4", boxes[1]), view.in(0).name);
    const std::int32_t most = view.attrs().most;
    if (most < 1 || most > largest_most) view.fail(fmt::format("most {} is not in 1..{}", most, largest_most), "most");
    return boxes[0];
}

void check_limit(const NodeView& view, std::size_t k, const char* what) {
    if (view.in(k).shape != Shape{1})
        view.fail(fmt::format("{} has shape {}, but must be one number", what, to_string(view.in(k).shape)), what);
}

std::vector<Shape> suppress_infer(const NodeView& view) {
    const std::int64_t boxes = check_boxes(view);
    const Shape& order = view.in(1).shape;
    if (order[1] != boxes)
        view.fail(fmt::format("order has {} places, but there are {} boxes", order[1], boxes), view.in(1).name);
    if (view.in(2).shape != Shape{order[0]})
        view.fail(fmt::format("counts has shape {}, but there are {} orders", to_string(view.in(2).shape), order[0]),
                  view.in(2).name);
    check_limit(view, 3, "overlap_limit");
    return {{order[0], view.attrs().most}, {order[0]}};
}

void suppress_reference(RefContext& c) {
    const auto boxes = c.real<float>(0);
    const std::vector<std::int64_t> order = c.ints(1), counts = c.ints(2);
    const float limit = c.real<float>(3)[0];
    const auto count = static_cast<std::int64_t>(boxes.size() / 4), most = std::int64_t{c.attrs().most};
    std::vector<std::int64_t> taken(counts.size() * static_cast<std::size_t>(most)), numbers(counts.size());
    for (std::size_t list = 0; list < counts.size(); ++list) {
        std::vector<std::size_t> chosen;
        const std::int64_t candidates = std::clamp<std::int64_t>(counts[list], 0, count);
        for (std::int64_t i = 0; i < candidates && static_cast<std::int64_t>(chosen.size()) < most; ++i) {
            const auto box = static_cast<std::size_t>(std::clamp<std::int64_t>(
                order[list * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)], 0, count - 1));
            if (std::none_of(chosen.begin(), chosen.end(),
                             [&](std::size_t other) { return overlap(boxes, other, box) > limit; }))
                chosen.push_back(box);
        }
        for (std::size_t k = 0; k < chosen.size(); ++k)
            taken[list * static_cast<std::size_t>(most) + k] = static_cast<std::int64_t>(chosen[k]);
        numbers[list] = static_cast<std::int64_t>(chosen.size());
    }
    c.set_ints(taken);
    c.set_ints(numbers, 1);
}

std::vector<Shape> queued_infer(const NodeView& view) {
    const std::int64_t boxes = check_boxes(view);
    if (view.in(1).shape != Shape{boxes})
        view.fail(fmt::format("scores has shape {}, but there are {} boxes", to_string(view.in(1).shape), boxes),
                  view.in(1).name);
    check_limit(view, 2, "overlap_limit");
    check_limit(view, 3, "score_limit");
    const Shape list{view.attrs().most};
    return {list, list, {1}};
}

void queued_check(const NodeView& view, const Level&) {
    const double sigma = view.attrs().sigma;
    if (!(sigma >= 0) || !std::isfinite(sigma)) view.fail(fmt::format("sigma {} is not 0 or more", sigma), "sigma");
}

struct Candidate {
    float score;
    std::size_t box;
    std::size_t first;  ///< of the boxes taken, that it has not been held against
};

/// A heap whose ties are part of the operator.
class Queue {
public:
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    void push(const Candidate& entry) {
        heap_.push_back(entry);
        move_up(heap_.size() - 1, entry);
    }
    Candidate pop() {
        const Candidate top = heap_.front(), last = heap_.back();
        heap_.pop_back();
        const std::size_t size = heap_.size();
        if (size == 0) return top;
        std::size_t hole = 0;
        while (2 * hole + 1 < size) {
            const std::size_t right = 2 * hole + 2, left = right - 1;
            const std::size_t next = right == size || heap_[right].score < heap_[left].score ? left : right;
            heap_[hole] = heap_[next];
            hole = next;
        }
        move_up(hole, last);
        return top;
    }

private:
    void move_up(std::size_t hole, const Candidate& entry) {
        while (hole > 0 && heap_[(hole - 1) / 2].score < entry.score) {
            heap_[hole] = heap_[(hole - 1) / 2];
            hole = (hole - 1) / 2;
        }
        heap_[hole] = entry;
    }

    std::vector<Candidate> heap_;
};

void queued_reference(RefContext& c) {
    const auto boxes = c.real<float>(0), scores = c.real<float>(1);
    const float overlap_limit = c.real<float>(2)[0], score_limit = c.real<float>(3)[0];
    const auto sigma = static_cast<float>(c.attrs().sigma);
    const float decay = sigma > 0 ? -0.5f / sigma : 0;
    const auto most = static_cast<std::size_t>(c.attrs().most);
    Queue queue;
    for (std::size_t k = 0; k < scores.size(); ++k) {
        if (scores[k] > score_limit) queue.push({scores[k], k, 0});
    }
    const std::size_t room = std::min(queue.size(), most);
    std::vector<std::int64_t> chosen(most);
    std::vector<double> values(most);
    std::size_t taken = 0;
    while (taken < room && !queue.empty()) {
        Candidate next = queue.pop();
        const float before = next.score;
        bool suppressed = false;
        for (std::size_t j = taken; j > next.first && !suppressed && next.score > score_limit; --j) {
            const float shared = overlap(boxes, next.box, static_cast<std::size_t>(chosen[j - 1]));
            suppressed = shared >= overlap_limit;
            if (!suppressed && sigma > 0) next.score *= shader_math::exp(decay * shared * shared);
        }
        next.first = taken;
        if (suppressed) continue;
        if (next.score == before) {
            chosen[taken] = static_cast<std::int64_t>(next.box);
            values[taken] = static_cast<double>(next.score);
            ++taken;
        }
        if (next.score > score_limit) queue.push(next);
    }
    c.set_ints(chosen);
    c.set_reals(values, 1);
    const std::int64_t number = static_cast<std::int64_t>(taken);
    c.set_ints({&number, 1}, 2);
}

}  // namespace

std::vector<OpDef> suppress_ops() {
    OpDef suppress;
    suppress.op = Op::suppress;
    suppress.type_vars = {"box_t"};
    suppress.inputs = {{.name = "boxes", .type = "box_t", .min_rank = 2, .max_rank = 2},
                       {.name = "order", .type = "i32", .min_rank = 2, .max_rank = 2},
                       {.name = "counts", .type = "i32", .min_rank = 1, .max_rank = 1},
                       {.name = "overlap_limit", .type = "box_t", .min_rank = 1, .max_rank = 1}};
    suppress.outputs = {{.name = "taken", .type = "i32", .min_rank = 2, .max_rank = 2},
                        {.name = "numbers", .type = "i32", .min_rank = 1, .max_rank = 1}};
    suppress.attributes = {"most"};
    suppress.rows = own_rows({DType::fp32});
    suppress.infer = suppress_infer;
    suppress.reference = suppress_reference;

    OpDef queued = suppress;
    queued.op = Op::suppress_queued;
    queued.inputs = {{.name = "boxes", .type = "box_t", .min_rank = 2, .max_rank = 2},
                     {.name = "scores", .type = "box_t", .min_rank = 1, .max_rank = 1},
                     {.name = "overlap_limit", .type = "box_t", .min_rank = 1, .max_rank = 1},
                     {.name = "score_limit", .type = "box_t", .min_rank = 1, .max_rank = 1}};
    queued.outputs = {{.name = "taken", .type = "i32", .min_rank = 1, .max_rank = 1},
                      {.name = "taken_scores", .type = "box_t", .min_rank = 1, .max_rank = 1},
                      {.name = "number", .type = "i32", .min_rank = 1, .max_rank = 1}};
    queued.attributes = {"most", "sigma"};
    queued.infer = queued_infer;
    queued.check = queued_check;
    queued.reference = queued_reference;
    return {suppress, queued};
}

}  // namespace tosavk
