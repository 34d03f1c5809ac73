// Data movement: hand-computed values, inverse pairs, GATHER and SCATTER, error graphs, and for every view operator the
// agreement of its index map with its reference on random shapes.
#include "support/one_node.hpp"

#include <cstring>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

Attributes with_axis(std::int32_t axis) {
    Attributes a;
    a.axis = axis;
    return a;
}

Attributes with_perms(std::vector<std::int32_t> perms) {
    Attributes a;
    a.perms = std::move(perms);
    return a;
}

/// Where element `flat` of the map's index space lies; -1 outside lo/hi.
std::int64_t address(const IndexMap& map, std::int64_t flat) {
    std::int64_t at = map.base;
    for (std::size_t d = map.dims.size(); d-- > 0;) {
        const std::int64_t c = flat % map.dims[d];
        flat /= map.dims[d];
        if (!map.lo.empty() && (c < map.lo[d] || c >= map.hi[d])) return -1;
        at += c * map.strides[d];
    }
    return at;
}

/// The node's output, made by its ViewDef alone.
Bytes by_view(const OneNode& node) {
    const NodeView view = node.view();
    const ViewDef def = op_def(view.node().op).view(view);
    const std::size_t size = size_of(view.out().type);
    Bytes out(static_cast<std::size_t>(element_count(view.out().shape)) * size, std::byte{0xee});
    const auto copy = [&](std::int64_t to, const HostTensor& from, std::int64_t at) {
        ASSERT_GE(at, 0);
        ASSERT_LT(at, from.count());
        ASSERT_GE(to, 0);
        ASSERT_LT(static_cast<std::size_t>(to) * size, out.size());
        std::memcpy(out.data() + static_cast<std::size_t>(to) * size,
                    from.bytes.data() + static_cast<std::size_t>(at) * size, size);
    };
    switch (def.kind) {
        case ViewDef::Kind::alias: return node.operands[0].bytes;
        case ViewDef::Kind::read:
            EXPECT_EQ(def.maps.size(), 1u);
            EXPECT_EQ(element_count(def.maps[0].dims), element_count(view.out().shape));
            for (std::int64_t i = 0; i < element_count(view.out().shape); ++i) {
                const std::int64_t at = address(def.maps[0], i);
                if (at >= 0) copy(i, node.operands[0], at);
                else if (def.padded) copy(i, node.operands[def.pad_operand], 0);
                else ADD_FAILURE() << "element " << i << " has no source";
            }
            return out;
        case ViewDef::Kind::write:
            EXPECT_EQ(def.maps.size(), view.input_count());
            for (std::size_t k = 0; k < def.maps.size(); ++k)
                for (std::int64_t i = 0; i < node.operands[k].count(); ++i)
                    copy(address(def.maps[k], i), node.operands[k], i);
            return out;
        case ViewDef::Kind::none: break;
    }
    ADD_FAILURE() << "no view";
    return out;
}

Shape random_shape(Dice& dice, std::int64_t min_rank, std::int64_t max_rank) {
    Shape shape(static_cast<std::size_t>(dice.roll(min_rank, max_rank)));
    for (auto& d : shape) d = dice.roll(1, 4);
    return shape;
}

OneNode random_movement(Op op, DType type, std::uint64_t seed) {
    Dice dice(seed);
    const Shape shape = random_shape(dice, op == Op::reshape || op == Op::identity ? 0 : 1, 5);
    const auto rank = static_cast<std::int64_t>(shape.size());
    const HostTensor in = random_tensor(type, shape, seed);
    std::vector<std::int64_t> a, b;
    switch (op) {
        case Op::concat: {
            const std::int64_t axis = dice.roll(0, rank - 1);
            std::vector<HostTensor> list{in};
            for (std::int64_t k = dice.roll(0, 3); k > 0; --k) {
                Shape other = shape;
                other[static_cast<std::size_t>(axis)] = dice.roll(1, 4);
                list.push_back(random_tensor(type, other, seed + static_cast<std::uint64_t>(100 * k)));
            }
            return OneNode(op, list, type, with_axis(static_cast<std::int32_t>(axis)));
        }
        case Op::pad:
            for (std::int64_t i = 0; i < 2 * rank; ++i) a.push_back(dice.roll(0, 2));
            return OneNode(op, {in, shape_values(a), random_tensor(type, {1}, seed + 1)}, type);
        case Op::reshape: return OneNode(op, {in, shape_values({element_count(shape)})}, type);
        case Op::reverse: return OneNode(op, {in}, type, with_axis(static_cast<std::int32_t>(dice.roll(0, rank - 1))));
        case Op::slice:
            for (const std::int64_t d : shape) {
                a.push_back(dice.roll(0, d - 1));
                b.push_back(dice.roll(1, d - a.back()));
            }
            return OneNode(op, {in, shape_values(a), shape_values(b)}, type);
        case Op::tile:
            for (std::int64_t i = 0; i < rank; ++i) a.push_back(dice.roll(1, 3));
            return OneNode(op, {in, shape_values(a)}, type);
        case Op::transpose: {
            std::vector<std::int32_t> perms;
            for (std::int32_t i = 0; i < rank; ++i) perms.insert(perms.begin() + dice.roll(0, i), i);
            return OneNode(op, {in}, type, with_perms(perms));
        }
        default: return OneNode(op, {in}, type);
    }
}

}  // namespace

TEST(DataLayout, IndexMapsAgreeWithReferences) {
    std::size_t views = 0;
    for (const OpDef& def : registry()) {
        if (def.view == nullptr) continue;
        ++views;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            SCOPED_TRACE(std::string(def.name) + ", seed " + std::to_string(seed));
            const DType type = def.rows[seed % def.rows.size()].types[0];
            const OneNode node = random_movement(def.op, type, seed);
            const HostTensor out = node.run();
            EXPECT_TRUE(out.bytes == by_view(node));
            EXPECT_TRUE(node.check(out).passed);
        }
    }
    EXPECT_EQ(views, 8u);
}

TEST(DataLayout, HandComputed) {
    const auto in = ints(DType::i8, {2, 3}, {1, 2, 3, 4, 5, 6});
    const auto values = [](const HostTensor& t) { return int_values(t); };
    using Ints = std::vector<std::int64_t>;
    EXPECT_EQ(values(run_op(Op::transpose, {in}, DType::i8, with_perms({1, 0}))), (Ints{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(values(run_op(Op::reverse, {in}, DType::i8, with_axis(1))), (Ints{3, 2, 1, 6, 5, 4}));
    EXPECT_EQ(values(run_op(Op::reverse, {in}, DType::i8, with_axis(0))), (Ints{4, 5, 6, 1, 2, 3}));
    EXPECT_EQ(values(run_op(Op::slice, {in, shape_values({0, 1}), shape_values({2, 2})}, DType::i8)),
              (Ints{2, 3, 5, 6}));
    EXPECT_EQ(values(run_op(Op::tile, {in, shape_values({1, 2})}, DType::i8)),
              (Ints{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    EXPECT_EQ(values(run_op(Op::concat, {in, in}, DType::i8, with_axis(1))),
              (Ints{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    EXPECT_EQ(values(run_op(Op::concat, {in}, DType::i8, with_axis(0))), (Ints{1, 2, 3, 4, 5, 6}));
    const auto padded = run_op(Op::pad, {in, shape_values({1, 0, 0, 1}), ints(DType::i8, {1}, {9})}, DType::i8);
    EXPECT_EQ(padded.shape, (Shape{3, 4}));
    EXPECT_EQ(values(padded), (Ints{9, 9, 9, 9, 1, 2, 3, 9, 4, 5, 6, 9}));
    EXPECT_EQ(run_op(Op::reshape, {in, shape_values({3, 1, 2})}, DType::i8).shape, (Shape{3, 1, 2}));
    EXPECT_EQ(run_op(Op::reshape, {floats({1}, {2}), shape_values({})}, DType::fp32).shape, Shape{});
}

TEST(DataLayout, TransposeShapesFollowNumpy) {
    const auto in = random_tensor(DType::i32, {2, 3, 4, 5}, 1);
    EXPECT_EQ(run_op(Op::transpose, {in}, DType::i32, with_perms({2, 0, 3, 1})).shape, (Shape{4, 2, 5, 3}));
}

TEST(DataLayout, InversesGiveTheInputBack) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const OneNode there = random_movement(Op::transpose, DType::i32, seed);
        const auto& perms = there.view().attrs().perms;
        std::vector<std::int32_t> inverse(perms.size());
        for (std::size_t i = 0; i < perms.size(); ++i)
            inverse[static_cast<std::size_t>(perms[i])] = static_cast<std::int32_t>(i);
        const HostTensor back = run_op(Op::transpose, {there.run()}, DType::i32, with_perms(inverse));
        EXPECT_EQ(back.shape, there.operands[0].shape);
        EXPECT_TRUE(back.bytes == there.operands[0].bytes);

        const OneNode once = random_movement(Op::reverse, DType::fp32, seed);
        const HostTensor twice = run_op(Op::reverse, {once.run()}, DType::fp32, once.view().attrs());
        EXPECT_TRUE(twice.bytes == once.operands[0].bytes);

        const OneNode pad = random_movement(Op::pad, DType::i16, seed);
        const auto padding = int_values(pad.operands[1]);
        std::vector<std::int64_t> start;
        for (std::size_t i = 0; i < padding.size(); i += 2) start.push_back(padding[i]);
        const HostTensor cut =
            run_op(Op::slice, {pad.run(), shape_values(start), shape_values(pad.operands[0].shape)}, DType::i16);
        EXPECT_TRUE(cut.bytes == pad.operands[0].bytes);
    }
}

TEST(DataLayout, TileFactorsItsAxes) {
    const OneNode node(Op::tile, {random_tensor(DType::i8, {2, 1, 3}, 1), shape_values({3, 2, 1})}, DType::i8);
    const ViewDef view = op_def(Op::tile).view(node.view());
    EXPECT_EQ(view.maps.at(0).dims, (Shape{3, 2, 2, 3}));
    EXPECT_EQ(view.maps.at(0).strides, (std::vector<std::int64_t>{0, 3, 0, 1}));
}

TEST(DataLayout, MovedNanKeepsItsBits) {
    HostTensor in(DType::fp32, {2});
    const std::uint32_t bits[2] = {0x7fc12345u, 0xff800001u};
    std::memcpy(in.bytes.data(), bits, 8);
    const OneNode node(Op::reverse, {in}, DType::fp32, with_axis(0));
    HostTensor out = node.run();
    EXPECT_EQ(out.as<std::uint32_t>()[0], bits[1]);
    EXPECT_EQ(out.as<std::uint32_t>()[1], bits[0]);
    EXPECT_TRUE(node.check(out).passed);
    out.as<std::uint32_t>()[1] ^= 1u;
    const CheckResult r = node.check(out);
    EXPECT_FALSE(r.passed);
    EXPECT_EQ(r.element, 1);
    EXPECT_NE(r.got.find("0x7fc12344"), std::string::npos) << r.got;
}

TEST(DataLayout, Errors) {
    const auto in = random_tensor(DType::i8, {2, 3}, 1);
    const auto message = [](Op op, const std::vector<HostTensor>& operands, const Attributes& a = {}) {
        return rejection(op, operands, operands[0].type, a);
    };
    EXPECT_REJECTED(message(Op::concat, {in, random_tensor(DType::i8, {3, 3}, 1)}, with_axis(1)), "outside axis 1");
    EXPECT_REJECTED(message(Op::concat, {in, random_tensor(DType::i8, {2}, 1)}, with_axis(0)), "differs");
    EXPECT_REJECTED(message(Op::concat, {in, in}, with_axis(2)), "axis 2");
    EXPECT_REJECTED(message(Op::concat, {in, random_tensor(DType::i16, {2, 3}, 1)}, with_axis(0)), "type");
    EXPECT_REJECTED(message(Op::concat, std::vector<HostTensor>(65, in), with_axis(0)), "64");
    const auto pad_const = ints(DType::i8, {1}, {0});
    EXPECT_REJECTED(message(Op::pad, {in, shape_values({0, 0, 0, -1}), pad_const}), "negative");
    EXPECT_REJECTED(message(Op::pad, {in, shape_values({0, 0}), pad_const}), "needs 4");
    EXPECT_REJECTED(message(Op::pad, {in, shape_values({0, 0, 0, 0}), ints(DType::i8, {2}, {0, 0})}), "pad_const");
    EXPECT_REJECTED(message(Op::reshape, {in, shape_values({5})}), "cannot become");
    EXPECT_REJECTED(message(Op::reshape, {in, shape_values({-1, 6})}), "less than 1");
    EXPECT_REJECTED(message(Op::reverse, {in}, with_axis(-1)), "axis -1");
    EXPECT_REJECTED(message(Op::slice, {in, shape_values({0, 2}), shape_values({2, 2})}), "do not lie inside");
    EXPECT_REJECTED(message(Op::slice, {in, shape_values({-1, 0}), shape_values({2, 2})}), "axis 0");
    EXPECT_REJECTED(message(Op::slice, {in, shape_values({0, 0}), shape_values({2, 0})}), "at least 1");
    EXPECT_REJECTED(message(Op::slice, {in, shape_values({0}), shape_values({2, 2})}), "start has 1 values");
    EXPECT_REJECTED(message(Op::slice, {in, shape_values({0, 0}), shape_values({INT64_MAX, 1})}), "do not lie inside");
    EXPECT_REJECTED(message(Op::tile, {in, shape_values({1, 0})}), "less than 1");
    EXPECT_REJECTED(message(Op::tile, {in, shape_values({1})}), "needs 2");
    EXPECT_REJECTED(message(Op::tile, {in, shape_values({1, INT64_MAX})}), "too large");
    EXPECT_REJECTED(message(Op::transpose, {in}, with_perms({0, 0})), "twice");
    EXPECT_REJECTED(message(Op::transpose, {in}, with_perms({0, 2})), "not an axis");
    EXPECT_REJECTED(message(Op::transpose, {in}, with_perms({0})), "needs 2");
}

TEST(GatherScatter, RowsAndErrors) {
    const auto values = ints(DType::i8, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
    const auto indices = ints(DType::i32, {2, 2}, {2, 0, 1, 1});
    using Ints = std::vector<std::int64_t>;
    const auto rows = run_op(Op::gather, {values, indices}, DType::i8);
    EXPECT_EQ(rows.shape, (Shape{2, 2, 2}));
    EXPECT_EQ(int_values(rows), (Ints{4, 5, 0, 1, 12, 13, 12, 13}));
    const auto input = ints(DType::i8, {2, 2, 2}, {-1, -2, -3, -4, -5, -6, -7, -8});
    const auto distinct = ints(DType::i32, {2, 2}, {2, 0, 1, 2});
    EXPECT_EQ(int_values(run_op(Op::scatter, {values, distinct, input}, DType::i8)),
              (Ints{-3, -4, 2, 3, -1, -2, 10, 11, -5, -6, -7, -8}));
    // Indices outside are harmless.
    const auto wild = ints(DType::i32, {2, 2}, {-1, 3, 2147483647, 0});
    EXPECT_EQ(int_values(run_op(Op::gather, {values, wild}, DType::i8)), (Ints{0, 0, 0, 0, 0, 0, 10, 11}));
    EXPECT_EQ(int_values(run_op(Op::scatter, {values, wild, input}, DType::i8)),
              (Ints{0, 1, 2, 3, 4, 5, -7, -8, 12, 13, 14, 15}));

    EXPECT_REJECTED(rejection(Op::gather, {values, ints(DType::i32, {1, 2}, {0, 0})}, DType::i8), "batch");
    EXPECT_REJECTED(rejection(Op::scatter, {values, indices, random_tensor(DType::i8, {2, 3, 2}, 1)}, DType::i8),
                    "input has shape");
    EXPECT_REJECTED(rejection(Op::gather, {values, random_tensor(DType::i8, {2, 2}, 1)}, DType::i8), "not supported");
}
