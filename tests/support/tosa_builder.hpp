// Makes .tosa files of the old generations: 0.80 (regions) or 0.30 (blocks), with further blocks for control flow.
#pragma once

#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"

#include "tosa_0_80_generated.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace tosavk::test {

using FileBuilder = flatbuffers::FlatBufferBuilder;

struct OldAttribute {
    unsigned kind = 0;
    std::function<flatbuffers::Offset<void>(FileBuilder&)> make;
};

/// Zero points apart from the attributes, as the earliest files have them; kind 0: none.
struct OldQuantInfo {
    unsigned kind = 0;
    int first = 0, second = 0;
};

struct OldOp {
    std::string op;  ///< a name, or a number for what has none
    std::vector<std::string> inputs, outputs;
    OldAttribute attribute;
    OldQuantInfo quant;
};

class OldFile {
public:
    explicit OldFile(bool regions) : regions_(regions) { block("main"); }

    /// Begins another block, which what follows belongs to. It has a region of its own, but for in_main_region().
    OldFile& block(const std::string& name) { return blocks_.push_back({name, {}, {}, {}, {}}), *this; }
    /// The first files with regions had all their blocks in one.
    OldFile& in_main_region() { return one_region_ = true, *this; }

    OldFile& tensor(const std::string& name, const std::string& type, const Shape& shape) {
        blocks_.back().tensors.push_back({name, type, shape, {}});
        return *this;
    }
    OldFile& constant(const std::string& name, const std::string& type, const Shape& shape,
                      const std::vector<std::int64_t>& values) {
        blocks_.back().tensors.push_back(
            {name, type, shape, encode_ints(type == "INT8" ? DType::i8 : DType::i32, values)});
        return add({"CONST", {}, {name}, {}, {}});
    }
    OldFile& input(const std::string& name) { return blocks_.back().inputs.push_back(name), *this; }
    OldFile& output(const std::string& name) { return blocks_.back().outputs.push_back(name), *this; }
    OldFile& add(OldOp op) { return blocks_.back().ops.push_back(std::move(op)), *this; }
    OldFile& version(int major, int minor) { return major_ = major, minor_ = minor, *this; }

    // Attributes, in the form of this file's generation.
    using Ints = std::vector<std::int32_t>;
    OldAttribute pool(Ints kernel, Ints stride, Ints pad, int in_zp, int out_zp) const {
        return {1, [=](FileBuilder& b) {
                    const auto p = b.CreateVector(pad), k = b.CreateVector(kernel), s = b.CreateVector(stride);
                    return tosa080::CreatePoolAttribute(b, p, k, s, in_zp, out_zp).Union();
                }};
    }
    OldAttribute transpose_conv(Ints out_pad, Ints stride, Ints shape) const {
        return {3, [=](FileBuilder& b) {
                    const auto p = b.CreateVector(out_pad), s = b.CreateVector(stride), o = b.CreateVector(shape);
                    return tosa080::CreateTransposeConvAttribute(b, p, s, o).Union();
                }};
    }
    OldAttribute pad(Ints padding, int value) const {
        return {4, [=, regions = regions_](FileBuilder& b) {
                    const auto p = b.CreateVector(padding);
                    return regions ? tosa080::CreatePadAttribute(b, p, value).Union()
                                   : tosa030::CreatePadAttribute(b, p, value).Union();
                }};
    }
    OldAttribute axis(int axis) const {
        return {5, [=](FileBuilder& b) { return tosa080::CreateAxisAttribute(b, axis).Union(); }};
    }
    OldAttribute reshape(Ints shape) const {
        return {6, [=](FileBuilder& b) { return tosa080::CreateReshapeAttribute(b, b.CreateVector(shape)).Union(); }};
    }
    OldAttribute slice(Ints start, Ints size) const {
        return {7, [=](FileBuilder& b) {
                    const auto s = b.CreateVector(start), n = b.CreateVector(size);
                    return tosa080::CreateSliceAttribute(b, s, n).Union();
                }};
    }
    OldAttribute tile(Ints multiples) const {
        return {8, [=](FileBuilder& b) { return tosa080::CreateTileAttribute(b, b.CreateVector(multiples)).Union(); }};
    }
    /// As from 0.40 on: y_n, y_d, x_n, x_d; y, x; y, x; mode 1 is NEAREST, 2 BILINEAR.
    OldAttribute resize(std::vector<std::int16_t> scale, std::vector<std::int16_t> offset,
                        std::vector<std::int16_t> border, unsigned mode) const {
        return {9, [=](FileBuilder& b) {
                    const auto s = b.CreateVector(scale), o = b.CreateVector(offset), r = b.CreateVector(border);
                    return tosa080::CreateResizeAttribute(b, s, o, r, mode).Union();
                }};
    }
    /// As in 0.30.
    OldAttribute early_resize(Ints size, Ints stride, Ints offset, int shift, std::vector<float> stride_fp,
                              std::vector<float> offset_fp, unsigned mode) const {
        return {9, [=](FileBuilder& b) {
                    const auto z = b.CreateVector(size), s = b.CreateVector(stride), o = b.CreateVector(offset);
                    const auto sf = b.CreateVector(stride_fp), of = b.CreateVector(offset_fp);
                    return tosa030::CreateResizeAttribute(b, z, s, o, shift, sf, of, mode).Union();
                }};
    }
    OldAttribute clamp(int min_int, int max_int, float min_fp, float max_fp) const {
        return {10, [=, regions = regions_](FileBuilder& b) {
                    if (!regions) return tosa030::CreateClampAttribute(b, min_int, max_int, min_fp, max_fp).Union();
                    const auto lo = fp32(b, min_fp), hi = fp32(b, max_fp);
                    return tosa080::CreateClampAttribute(b, min_int, max_int, lo, hi).Union();
                }};
    }
    OldAttribute rescale(int in_zp, int out_zp, Ints multiplier, Ints shift, bool scale32, bool double_round,
                         bool per_channel) const {
        return {11, [=](FileBuilder& b) {
                    const auto m = b.CreateVector(multiplier), s = b.CreateVector(shift);
                    return tosa080::CreateRescaleAttribute(b, in_zp, out_zp, m, s, scale32, double_round, per_channel)
                        .Union();
                }};
    }
    OldAttribute mul(int shift) const {
        return {12, [=](FileBuilder& b) { return tosa080::CreateMulAttribute(b, shift).Union(); }};
    }
    OldAttribute cond_if(const std::string& then_branch, const std::string& else_branch) const {
        return {14, [=](FileBuilder& b) {
                    const auto t = b.CreateString(then_branch), e = b.CreateString(else_branch);
                    return tosa080::CreateCondIfAttribute(b, t, e).Union();
                }};
    }
    OldAttribute while_loop(const std::string& cond_branch, const std::string& body_branch) const {
        return {15, [=](FileBuilder& b) {
                    const auto c = b.CreateString(cond_branch), d = b.CreateString(body_branch);
                    return tosa080::CreateWhileLoopAttribute(b, c, d).Union();
                }};
    }
    OldAttribute transpose(Ints perms) const {
        return {16,
                [=](FileBuilder& b) { return tosa080::CreateTransposeAttribute(b, b.CreateVector(perms)).Union(); }};
    }
    OldAttribute table(std::vector<std::int16_t> entries) const {
        return {17, [=](FileBuilder& b) { return tosa080::CreateTableAttribute(b, b.CreateVector(entries)).Union(); }};
    }
    /// 32-bit entries, of the earliest layout.
    OldAttribute wide_table(Ints entries) const {
        return {17,
                [=](FileBuilder& b) { return tosa030::CreateWideTableAttribute(b, b.CreateVector(entries)).Union(); }};
    }
    OldAttribute fft(bool inverse) const {
        return {22, [=](FileBuilder& b) { return tosa080::CreateFFTAttribute(b, inverse).Union(); }};
    }
    OldAttribute rfft() const {
        return {23, [](FileBuilder& b) { return tosa080::CreateRFFTAttribute(b).Union(); }};
    }
    OldAttribute matmul(int a_zp, int b_zp) const {
        return {18, [=](FileBuilder& b) { return tosa080::CreateMatMulAttribute(b, a_zp, b_zp).Union(); }};
    }
    OldAttribute fully_connected(int input_zp, int weight_zp) const {
        return {19,
                [=](FileBuilder& b) { return tosa080::CreateFullyConnectedAttribute(b, input_zp, weight_zp).Union(); }};
    }
    OldAttribute negate(int in_zp, int out_zp) const {
        return {20, [=](FileBuilder& b) { return tosa080::CreateNegateAttribute(b, in_zp, out_zp).Union(); }};
    }

    Bytes bytes() const {
        FileBuilder b;
        const auto version = regions_ ? tosa080::CreateVersion(b, major_, minor_, major_ < 0 ? -1 : 0, major_ < 0)
                                      : tosa080::CreateVersion(b);
        if (regions_) {
            std::vector<flatbuffers::Offset<tosa080::TosaRegion>> regions;
            std::vector<flatbuffers::Offset<tosa080::TosaBasicBlock>> blocks;
            for (const Block& block : blocks_) {
                const bool is_main = &block == &blocks_.front();
                blocks.push_back(made_block(b, block, is_main || one_region_ ? block.name : block.name + "_bb0"));
                if (one_region_ && &block != &blocks_.back()) continue;
                const auto name = b.CreateString(one_region_ ? blocks_.front().name : block.name);
                regions.push_back(tosa080::CreateTosaRegion(b, name, b.CreateVector(blocks)));
                blocks.clear();
            }
            b.Finish(tosa080::CreateTosaGraph(b, version, b.CreateVector(regions)), "TOSA");
        } else {
            std::vector<flatbuffers::Offset<tosa030::TosaBasicBlock>> blocks;
            for (const Block& block : blocks_) blocks.push_back(made_early_block(b, block));
            b.Finish(tosa030::CreateTosaGraph(b, version, b.CreateVector(blocks)));
        }
        const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
        return Bytes(begin, begin + b.GetSize());
    }

private:
    struct Tensor {
        std::string name, type;
        Shape shape;
        Bytes data;
    };
    struct Block {
        std::string name;
        std::vector<Tensor> tensors;
        std::vector<std::string> inputs, outputs;
        std::vector<OldOp> ops;
    };

    static flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<tosa080::TosaTensor>>> made_tensors(
        FileBuilder& b, const Block& block) {
        std::vector<flatbuffers::Offset<tosa080::TosaTensor>> tensors;
        for (const Tensor& t : block.tensors) {
            const auto name = b.CreateString(t.name);
            const auto shape = b.CreateVector(Ints(t.shape.begin(), t.shape.end()));
            const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(t.data.data()), t.data.size());
            const std::uint32_t type = number(t.type, tosa080::EnumNamesDType());
            tensors.push_back(tosa080::CreateTosaTensor(b, name, shape, type, data));
        }
        return b.CreateVector(tensors);
    }
    static flatbuffers::Offset<tosa080::TosaBasicBlock> made_block(FileBuilder& b, const Block& block,
                                                                   const std::string& title) {
        std::vector<flatbuffers::Offset<tosa080::TosaOperator>> ops;
        for (const OldOp& op : block.ops) {
            const auto in = b.CreateVectorOfStrings(op.inputs), out = b.CreateVectorOfStrings(op.outputs);
            const auto attribute = made(b, op);
            ops.push_back(tosa080::CreateTosaOperator(b, number(op.op, tosa080::EnumNamesOp()),
                                                      static_cast<tosa080::Attribute>(op.attribute.kind), attribute, in,
                                                      out));
        }
        const auto name = b.CreateString(title);
        const auto list = b.CreateVector(ops);
        const auto tensors = made_tensors(b, block);
        const auto inputs = b.CreateVectorOfStrings(block.inputs), outputs = b.CreateVectorOfStrings(block.outputs);
        return tosa080::CreateTosaBasicBlock(b, name, list, tensors, inputs, outputs);
    }
    static flatbuffers::Offset<tosa030::TosaBasicBlock> made_early_block(FileBuilder& b, const Block& block) {
        std::vector<flatbuffers::Offset<tosa030::TosaOperator>> ops;
        for (const OldOp& op : block.ops) {
            const auto in = b.CreateVectorOfStrings(op.inputs), out = b.CreateVectorOfStrings(op.outputs);
            const auto attribute = made(b, op);
            flatbuffers::Offset<void> quant;
            if (op.quant.kind) quant = tosa030::CreateZeroPoints(b, op.quant.first, op.quant.second).Union();
            ops.push_back(tosa030::CreateTosaOperator(b, number(op.op, tosa080::EnumNamesOp()),
                                                      static_cast<tosa030::Attribute>(op.attribute.kind), attribute, in,
                                                      out, static_cast<tosa030::QuantInfo>(op.quant.kind), quant));
        }
        const auto name = b.CreateString(block.name);
        const auto list = b.CreateVector(ops);
        const auto tensors = made_tensors(b, block);
        const auto inputs = b.CreateVectorOfStrings(block.inputs), outputs = b.CreateVectorOfStrings(block.outputs);
        return tosa030::CreateTosaBasicBlock(b, name, list, tensors, inputs, outputs);
    }

    static flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> fp32(FileBuilder& b, float value) {
        std::uint8_t bytes[4];
        std::memcpy(bytes, &value, 4);
        b.ForceVectorAlignment(4, 1, 8);
        return b.CreateVector(bytes, 4);
    }
    static flatbuffers::Offset<void> made(FileBuilder& b, const OldOp& op) {
        return op.attribute.make ? op.attribute.make(b) : flatbuffers::Offset<void>();
    }
    static std::uint32_t number(const std::string& name, const char* const* names) {
        for (std::uint32_t k = 0; names[k]; ++k) {
            if (name == names[k]) return k;
        }
        return static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
    }

    bool regions_, one_region_ = false;
    int major_ = 0, minor_ = 80;
    std::vector<Block> blocks_;
};

/// Output 0 of a graph of integers, by the reference.
inline std::vector<std::int64_t> run_ints(const Graph& graph, const std::vector<std::vector<std::int64_t>>& inputs) {
    std::vector<HostTensor> tensors;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const Value& v = graph.value(graph.inputs.at(k));
        tensors.emplace_back(v.type, v.shape);
        tensors.back().bytes = encode_ints(v.type, inputs[k]);
    }
    const HostTensor out = reference_run(graph, tensors).at(0);
    return decode_ints(out.type, out.bytes);
}

}  // namespace tosavk::test
