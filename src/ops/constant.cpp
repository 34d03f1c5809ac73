#include "ops/constant.hpp"

#include "ops/rows.hpp"

namespace tosavk {

namespace {

std::vector<OpDef> make_constant_ops() {
    constexpr const char* any_profile = "PRO-INT|PRO-FP";
    OpDef values;
    values.op = Op::constant;
    values.name = name_of(values.op).data();
    values.type_vars = {"out_t"};
    values.outputs = {{"output", "out_t"}};
    values.rows = with_fp8(with_floats({{{DType::boolean}, any_profile},
                                        {{DType::i4}, "EXT-INT4"},
                                        {{DType::i8}, any_profile},
                                        {{DType::i16}, any_profile},
                                        {{DType::i32}, any_profile},
                                        {{DType::i48}, "EXT-INT16"}}));
    OpDef shape;
    shape.op = Op::const_shape;
    shape.name = name_of(shape.op).data();
    shape.outputs = {{"output", "shape"}};
    shape.rows = {{{}, any_profile}};
    return {values, shape};
}

}  // namespace

const std::vector<OpDef>& constant_ops() {
    static const std::vector<OpDef> all = make_constant_ops();
    return all;
}

}  // namespace tosavk
