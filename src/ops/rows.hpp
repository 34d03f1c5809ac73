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

}  // namespace tosavk
