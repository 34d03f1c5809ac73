// Type rows that many operators share.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

/// Appends the rows of the three float types that most operators take; `types_of` gives one row's types.
template <class F> std::vector<TypeRow> with_floats(std::vector<TypeRow> rows, F types_of) {
    rows.push_back({types_of(DType::fp16), "PRO-FP"});
    rows.push_back({types_of(DType::fp32), "PRO-FP"});
    rows.push_back({types_of(DType::bf16), "EXT-BF16"});
    return rows;
}
inline std::vector<TypeRow> with_floats(std::vector<TypeRow> rows = {}) {
    return with_floats(std::move(rows), [](DType t) { return std::vector<DType>{t}; });
}

/// Appends the two fp8 types, which data movement takes.
template <class F> std::vector<TypeRow> with_fp8(std::vector<TypeRow> rows, F types_of) {
    rows.push_back({types_of(DType::fp8e4m3), "EXT-FP8E4M3"});
    rows.push_back({types_of(DType::fp8e5m2), "EXT-FP8E5M2"});
    return rows;
}
inline std::vector<TypeRow> with_fp8(std::vector<TypeRow> rows) {
    return with_fp8(std::move(rows), [](DType t) { return std::vector<DType>{t}; });
}

/// Rows of one type each, of an operator of our own.
inline std::vector<TypeRow> own_rows(std::initializer_list<DType> types) {
    std::vector<TypeRow> rows;
    for (const DType type : types) rows.push_back({{type}, own_domain.data()});
    return rows;
}
/// The same of every type that operators of our own move.
inline std::vector<TypeRow> own_moved_rows() {
    return own_rows({DType::boolean, DType::i8, DType::i16, DType::i32, DType::fp8e4m3, DType::fp8e5m2, DType::fp16,
                     DType::bf16, DType::fp32});
}

}  // namespace tosavk
