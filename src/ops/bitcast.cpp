// BITCAST: the same bits as elements of another type.
#include "ops/rows.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

std::vector<Shape> bitcast_infer(const NodeView& view) {
    const auto from = static_cast<std::int64_t>(size_of(view.in(0).type)),
               to = static_cast<std::int64_t>(size_of(view.out().type));
    Shape shape = view.in(0).shape;
    if (from > to) shape.push_back(from / to);
    if (from < to) {
        if (shape.empty() || shape.back() != to / from)
            view.fail(fmt::format("{} of {} make one {}, but the last dimension of {} is another", to / from,
                                  name_of(view.in(0).type), name_of(view.out().type), to_string(shape)),
                      view.in(0).name);
        shape.pop_back();
    }
    return {shape};
}

void bitcast_reference(RefContext& ctx) { ctx.set_bytes(ctx.inputs[0]->bytes); }

}  // namespace

std::vector<OpDef> bitcast_ops() {
    OpDef bitcast;
    bitcast.op = Op::bitcast;
    bitcast.type_vars = {"in_t", "out_t"};
    bitcast.inputs = {{"input", "in_t"}};
    bitcast.outputs = {{"output", "out_t"}};
    const auto types = {DType::i8, DType::i16, DType::i32, DType::fp16, DType::fp32};
    for (const DType from : types) {
        for (const DType to : types)
            if (from != to) bitcast.rows.push_back({{from, to}, own_domain.data()});
    }
    bitcast.infer = bitcast_infer;
    bitcast.reference = bitcast_reference;
    return {bitcast};
}

}  // namespace tosavk
