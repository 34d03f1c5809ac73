// SELECT, SELECT_V2.
#include "frontends/tflite/elementwise.hpp"

namespace tosavk {

namespace {

using namespace elementwise;
using tflite::BuiltinOperator;
using Type = tflite::TensorType;

void lower_select(Lowering& l) {
    if (l.in(0).type != Type::BOOL || l.in(1).type != l.out().type || l.in(2).type != l.out().type) refuse_types(l);
    ValueId condition = l.value(0), a = l.value(1), b = l.value(2);
    // SELECT's condition of rank 1 chooses rows.
    const std::size_t rank = l.shape(a).size();
    if (l.op().code == BuiltinOperator::SELECT && l.shape(condition).size() == 1 && rank > 1) {
        Shape rows(rank, 1);
        rows[0] = l.shape(condition)[0];
        condition = l.reshape(condition, rows);
    }
    l.match_ranks(a, b);
    l.match_ranks(condition, a);
    l.match_ranks(a, b);
    l.set(l.add(Op::select, {condition, a, b}, l.type(a)));
}

}  // namespace

OperatorRows select_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::SELECT, lower_select},
        {B::SELECT_V2, lower_select},
    };
    return rows;
}

}  // namespace tosavk
