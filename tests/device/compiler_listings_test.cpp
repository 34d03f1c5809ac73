// Assembly of drivers' compilers: pieces of what they made of our kernels, shortened.
#include "device/compilers/figures.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tosavk {
namespace {

constexpr std::uint32_t radv = 3, anv = 6, turnip = 18, panvk = 20, nvk = 24;

CompilerFigures read(std::uint32_t driver, std::uint32_t subgroup_size, std::vector<CompilerStatistic> statistics,
                     std::string_view assembly) {
    DeviceCaps caps;
    caps.driver_id = driver;
    caps.device_id = 0x744c;
    caps.subgroup_size = 16;
    CompiledProgram program{"compute", subgroup_size, std::move(statistics), {{"NIR", "BB0:\nl1:\nblock 0 {"}}};
    program.texts.push_back({driver == nvk ? "NAK assembly" : "Assembly", std::string(assembly)});
    const auto figures = figures_of(caps, {{program}});
    EXPECT_TRUE(figures);
    return figures.value_or(CompilerFigures());
}

/// All but multiply-adds and instructions, in the order of the struct.
void expect_hot(const CompilerFigures& figures, const Hotspot& expected) {
    ASSERT_TRUE(figures.hot);
    EXPECT_EQ(figures.hot->multiply_adds, expected.multiply_adds);
    EXPECT_EQ(figures.hot->instructions, expected.instructions);
    EXPECT_EQ(figures.hot->matrix, expected.matrix);
    EXPECT_EQ(figures.hot->shared_loads, expected.shared_loads);
    EXPECT_EQ(figures.hot->loads, expected.loads);
    EXPECT_EQ(figures.hot->conversions, expected.conversions);
    EXPECT_EQ(figures.hot->scratch, expected.scratch);
    EXPECT_EQ(figures.hot->waits, expected.waits);
}

constexpr std::string_view ir3_text = R"(Native code for unnamed CL shader (null) with sha1 58499a09:
; num_ubos:           0
;     offset:         c0.x
@in(r0.x)	in0 (wrmask=0x7)
@const(c5.x)	0x00000001, 0x00000002, 0x00000003, 0x00000004
shps #l8
getone #l8
(rpt3)mad.f32 r0.x, (r)r1.x, r2.x, (r)r0.x
ldc.4.k.imm c[a1.x], 0, 1
(sy)(ss)shpe
l8:
(jp)shr.b r48.w, c0.x, 16
(ss)(nop3) cmps.s.lt p0.y, r48.x, 1
(rpt1)nop
br !p0.y, #l1012
l269:
(nop1) add.u r34.z, r34.z, 16
isam.v.base0 (u32)(xyzw)r36.x, r35.z, s#0, t#2
ldl.u32 r40.x, l[r37.y], 4
(sy)(rpt3)mad.f32 r28.z, (r)r28.z, r26.x, (r)r36.x
(rpt1)mul.f r31.z, (r)r31.z, r26.y
mull.u r48.x, r48.x, r49.z
cov.u32s16 hr43.x, r52.w
swz.u32u32 r1.x, r1.y, r1.y, r1.x
stp.u32 p[r1.x], r2.x, 1
br p0.y, #l924
jump #l269
l924:
(rpt3)mad.f16 hr28.z, (r)hr28.z, hr26.x, (r)hr36.x
l1012:
(sy)(ss)(jp)lock
unlock
(jp)end
nop
nop
; CL prog 18/1: 1143 instr, 109 nops
)";

TEST(CompilerListings, Ir3OfTurnip) {
    const CompilerFigures figures = read(turnip, 128,
                                         {{"Max Waves Per Core", 4},
                                          {"Registers used", 48},
                                          {"Half-registers used", 2},
                                          {"STP Count", 3},
                                          {"LDP Count", 5}},
                                         ir3_text);
    EXPECT_EQ(figures.compiler, "ir3");
    EXPECT_EQ(figures.subgroup_size, 128u);
    EXPECT_EQ(figures.registers, 48u);
    EXPECT_EQ(figures.half_registers, 2u);
    EXPECT_EQ(figures.spills, 3u);
    EXPECT_EQ(figures.fills, 5u);
    EXPECT_EQ(figures.occupancy, 4u);
    EXPECT_EQ(figures.full_occupancy, 16u);
    // The preamble and what follows the end are not counted; waits and repeated instructions are, as often.
    EXPECT_EQ(figures.instructions, 8u + 17u + 4u + 3u);
    expect_hot(figures, {.multiply_adds = 6,
                         .instructions = 17,
                         .matrix = 0,
                         .shared_loads = 1,
                         .loads = 1,
                         .conversions = 3,
                         .scratch = 1,
                         .waits = 1});
}

constexpr std::string_view brw_text = R"(Push constant ranges:
    RANGE0 (32B): Vulkan push constants and API params

and(1)          g97<1>UD        g0<0,1,0>UD     0xffffffc0UD    { align1 WE_all 1N };
sync nop(1)                     null<0,1,0>UB                   { align1 WE_all 1N I@1 };
(+f0.0) if(16)  JIP:  LABEL1          UIP:  LABEL0              { align1 1H };

LABEL1:
mul(16)         g84<1>D         g75<0,1,0>D     g70<16,8,2>UW   { align1 1H };

LABEL0:
endif(16)       JIP:  LABEL2                                    { align1 1H };

LABEL4:
cmp.l.f0.0(16)  g121<1>D        g88<1,1,0>D     128D            { align1 1H A@1 compacted };
(-f0.0) break(16) JIP:  LABEL3        UIP:  LABEL3              { align1 1H };
mad(16)         g100<1>F        g102<8,8,1>F    g72<8,8,1>F     g56<1,1,1>F { align1 1H @4 $5.dst };
mul(16)         g96<1>D         g75<0,1,0>D     g70.1<16,8,2>UW { align1 1H };
mul(16)         g102<1>F        g104<8,8,1>F    g72<8,8,1>F     { align1 1H @4 $5.dst };
mov(16)         g82<1>UD        g93<0,1,0>D                     { align1 WE_all 1Q F@2 };
mov(16)         g88<1>F         g1<8,8,1>HF                     { align1 1H };
mov(16)         g89<1>UD        g1<8,8,1>UW                     { align1 1H };
(+f0.0.any16h) send(1) g68UD    g100UD          nullUD          0x64803500                0x01000000
                            ugm MsgDesc: ( load, a32, d32, V4, L1STATE_L3MOCS dst_len = 8 bti )  BTI 1  { align1 1H $7 };
send(16)        g79UD           g77UD           nullUD          0x04803500                0x00000000
                            slm MsgDesc: ( load, a32, d32, V4, L1STATE_L3MOCS dst_len = 8 flat )  { align1 1H $9 };
send(16)        nullUD          g36UD           g4UD            0x04003504                0x00000200
                            slm MsgDesc: ( store, a32, d32, V4, L1STATE_L3MOCS dst_len = 0 flat )  { align1 1H $10 };
send(1)         g3UD            g97UD           nullUD          0x0210c500                0x00000000
                            ugm MsgDesc: ( load, a32, d32, V16, src0_len = 1, ss )  surface_state_index 0 { align1 };
send(8)         g3UD            g97UD           nullUD          0x0210c500                0x00000000
                            dp data 1 MsgDesc: (untyped surface read, Surface = 254, SIMD8, Mask = 0x0) { align1 };
send(8)         g3UD            g97UD           nullUD          0x0210c500                0x00000000
                            data MsgDesc: (DC OWORD block read, bti 253, owords = 2, aligned = 0) { align1 };

LABEL3:
while(16)       JIP:  LABEL4                                    { align1 1H };
sync allwr(1)                   null<0,1,0>UB                   { align1 WE_all 1N };
send(16)        nullUD          g126UD          nullUD          0x02000000                0x00000000
                            gateway MsgDesc: (open)  mlen 1 ex_mlen 0 rlen 0 { align1 WE_all 1H A@1 EOT };
)";

TEST(CompilerListings, BrwOfAnv) {
    const CompilerFigures figures = read(anv, 16,
                                         {{"Max live registers", 107},
                                          {"Spill Count", 7},
                                          {"Fill Count", 10},
                                          {"Scratch Memory Size", 2048},
                                          {"Workgroup Memory Size", 4096}},
                                         brw_text);
    EXPECT_EQ(figures.compiler, "brw");
    EXPECT_EQ(figures.subgroup_size, 16u);
    EXPECT_EQ(figures.registers, 54u);  // 107 of 32 bytes for 16 invocations
    EXPECT_EQ(figures.spills, 7u);
    EXPECT_EQ(figures.fills, 10u);
    EXPECT_EQ(figures.scratch_bytes, 2048u);
    EXPECT_EQ(figures.shared_bytes, 4096u);
    EXPECT_EQ(figures.occupancy, std::nullopt);
    EXPECT_EQ(figures.instructions, 4u + 15u + 2u);
    expect_hot(figures, {.multiply_adds = 2,
                         .instructions = 15,
                         .matrix = 0,
                         .shared_loads = 2,
                         .loads = 1,
                         .conversions = 2,
                         .scratch = 2,
                         .waits = 0});
}

TEST(CompilerListings, StepsOfMatrixUnitsAreCountedAlone) {
    const CompilerFigures intel = read(anv, 8, {}, R"(
mul(8)          g102<1>F        g104<8,8,1>F    g72<8,8,1>F     { align1 1Q };
mul(8)          g102<1>F        g104<8,8,1>F    g72<8,8,1>F     { align1 1Q };

LABEL4:
dpas.8x8(8)     g107<1>F        g28<1,1,0>F     g8<1,1,0>HF     g16<1,1,0>HF { align1 WE_all 1Q $3 };
mul(8)          g96<1>D         g75<0,1,0>D     g70.1<16,8,2>UW { align1 1Q };
mul(8)          g96<1>D         g75<0,1,0>D     g70.1<16,8,2>UW { align1 1Q };
while(8)        JIP:  LABEL4                                    { align1 1Q };
)");
    expect_hot(intel, {.multiply_adds = 1, .instructions = 4, .matrix = 1});
    const CompilerFigures amd = read(radv, 32, {}, R"(BB0:
	v_mul_lo_u32 v1, v2, v3 ; 00
	v_mul_lo_u32 v1, v2, v3 ; 00
BB1:
	s_waitcnt lgkmcnt(0)    ; bf89fc07
	s_delay_alu instid0(VALU_DEP_1)                             ; bf870001
	ds_load_u8_d16 v3, v1 offset:16 ; 00
	ds_load_b128 v[4:7], v1 ; 00
	v_perm_b32 v3, v4, v5, s3 ; 00
	v_cvt_f32_f16_e32 v3, v4 ; 00
	v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] ; cc
	v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] ; cc
	scratch_load_b32 v9, off, off offset:4
	global_load_b128 v[4:7], v[1:2], off
	s_cbranch_scc0 BB1 ; bf84fff9
	s_endpgm
)");
    expect_hot(amd, {.multiply_adds = 2,
                     .instructions = 11,
                     .matrix = 2,
                     .shared_loads = 2,
                     .loads = 1,
                     .conversions = 2,
                     .scratch = 1,
                     .waits = 2});
}

TEST(CompilerListings, DotProductsAreCountedWithoutTheArithmeticOfAddresses) {
    const CompilerFigures figures = read(radv, 64, {}, R"(BB0:
	v_mul_lo_u32 v1, v2, v3
	v_mul_lo_u32 v1, v2, v3
	v_dot4c_i32_i8_e32 v1, v2, v3
	v_mul_f32_e32 v1, v2, v3
	s_endpgm
)");
    expect_hot(figures, {.multiply_adds = 1, .instructions = 5});
}

TEST(CompilerListings, ProductsOfAco) {
    const auto products = [](std::string_view line) {
        const auto figures = read(radv, 64, {}, "BB0:\n\t" + std::string(line) + "\n");
        return figures.hot ? figures.hot->multiply_adds : 99;
    };
    for (const char* one :
         {"v_fma_f32 v1, v2, v3, v4", "v_fmac_f32_e32 v1, v2, v3", "v_mul_f32_e32 v1, v2, v3", "v_mac_f32_e32 v1, v2",
          "v_fma_mix_f32 v1, v2, v3, v4", "v_dot4c_i32_i8_e32 v1, v2, v3", "v_dot4_i32_iu8 v1, v2, v3, v4",
          "v_dot2_f32_f16 v1, v2, v3, v4", "v_mul_lo_u32 v1, v2, v3", "v_mul_i32_i24_e32 v1, v2, v3",
          "v_mad_u32_u24 v1, v2, v3, v4", "v_mad_i32_i24 v1, v2, v3, v4", "v_mul_i32_i24_sdwa v1, sext(v2), v3",
          "v_mad_u64_u32 v[1:2], s[0:1], v3, v4, v[5:6]", "v_dual_fmac_f32 v5, v3, v3 :: v_dual_mov_b32 v6, v3"}) {
        EXPECT_EQ(products(one), 1u) << one;
    }
    for (const char* two : {"v_pk_fma_f16 v1, v2, v3, v4", "v_pk_mul_lo_u16 v1, v2, v3",
                            "v_dual_fmac_f32 v5, v3, v3 :: v_dual_mul_f32 v6, v3, v3"}) {
        EXPECT_EQ(products(two), 2u) << two;
    }
    for (const char* none : {"v_mul_hi_u32 v1, v2, v3", "v_div_fmas_f32 v1, v2, v3, v4", "s_mul_i32 s1, s2, s3",
                             "v_add_f32_e32 v1, v2, v3", "ds_add_u32 v1, v2"}) {
        EXPECT_EQ(products(none), 0u) << none;
    }
}

constexpr std::string_view nak_text = R"(block.u 0 L3 [] -> {
      b0       = bssy b0 pT L0                                // delay=1
                 nop L0                                       // delay=1
      r20      = imad r21 c[0x0][0xc] r20                     // delay=6
      r21      = imad r21 c[0x0][0xc] r20                     // delay=6
} -> [1]
block 1 L2 [0, 3] -> {
      r0..4    = ld.shared.strong.cta.b128 [r23]              // delay=1 wr:0
      r4..8    = ld.global.a64.constant.b128 [r4..6]          // delay=6 wr:1
      r47      = ffma.ftz r60 r72 r47                         // delay=6
      r48      = fmul.ftz r60 r72                             // delay=6
      r49      = hfma2 r60 r72 r49                            // delay=6
      r0 p0    = iadd3 r0 c[0x1][0x20] rZ                     // delay=13
      r1       = prmt r0 [0x0000] rZ                          // delay=6
@!p0             st.local.b32 [r4] r1                         // delay=2 rd:0
@p1   r1       = ld.local.b32 [r4]                            // delay=2 rd:0
@!p1             bra L18                                      // delay=1 wt=001111
} -> [2, 4]
block 2 L8 [1] -> {
      r48      = idp4.i8.i8 r60 r72 r48                       // delay=6
                 bra L13                                      // delay=1
} -> [3]
block 3 L13 [2] -> {
                 bra L2                                       // delay=1
} -> [1]
block 4 L18 [1] -> {
                 exit                                         // delay=1
} -> []
)";

TEST(CompilerListings, NakOfNvk) {
    const CompilerFigures figures = read(nvk, 32, {{"Number of GPRs", 74}, {"SLM Size", 16}}, nak_text);
    EXPECT_EQ(figures.compiler, "NAK");
    EXPECT_EQ(figures.subgroup_size, 32u);
    EXPECT_EQ(figures.registers, 74u);
    EXPECT_EQ(figures.scratch_bytes, 16u);
    EXPECT_EQ(figures.spills, 1u);
    EXPECT_EQ(figures.fills, 1u);
    EXPECT_EQ(figures.instructions, 18u);
    expect_hot(figures, {.multiply_adds = 4,
                         .instructions = 13,
                         .matrix = 0,
                         .shared_loads = 1,
                         .loads = 1,
                         .conversions = 1,
                         .scratch = 2,
                         .waits = 0});
}

constexpr std::string_view valhall_text = R"(   IADD.s32 r0, ^r58, u1
   IMUL.i32 r0, ^r0, u3
   BRANCHZ.eq.reconverge ^r6.h0, offset:1

   BRANCHZ.eq.reconverge 0x0, offset:11

   LD_BUFFER.i128.unsigned.slot0.wait0 @r8:r9:r10:r11, ^r1, 0x2
   LOAD.i32.unsigned.slot1.wait1 @r1, thread_local_pointer.w0, offset:48
   FMA.f32 r12, ^r8, ^r4, ^r12
   FMA.v2f16.wait0 r13, ^r9, ^r4, ^r13
   S8_TO_S32 r5, ^r5.b0
   ICMP_OR.s32.lt.m1 r2, ^r2, r1, 0x0
   BRANCHZ.eq.reconverge ^r2.h0, offset:2

   STORE.i32.force.slot2.wait2 @r1, thread_local_pointer.w0, offset:192
   BRANCHZ.eq.reconverge 0x0, offset:-9

   IMUL.v4i8 r12, ^r8, ^r4
   STORE.i128.slot0 @r12:r13:r14:r15, ^r8, offset:0
   NOP.end 

)";

TEST(CompilerListings, ValhallOfPanvk) {
    const CompilerFigures figures = read(panvk, 8, {{"Code Size", 128}}, valhall_text);
    EXPECT_EQ(figures.compiler, "valhall");
    EXPECT_EQ(figures.subgroup_size, 16u);  // the device's
    EXPECT_EQ(figures.registers, 15u);      // r0 to r2, r4 to r6, r8 to r15, r58
    EXPECT_EQ(figures.spills, 1u);
    EXPECT_EQ(figures.fills, 1u);
    EXPECT_EQ(figures.occupancy, 2u);
    EXPECT_EQ(figures.full_occupancy, 2u);
    EXPECT_EQ(figures.instructions, 16u);
    expect_hot(figures, {.multiply_adds = 3,
                         .instructions = 9,
                         .matrix = 0,
                         .shared_loads = 0,
                         .loads = 1,
                         .conversions = 1,
                         .scratch = 2,
                         .waits = 0});
    EXPECT_EQ(read(panvk, 8, {}, "   MOV.i32 r16, ^r8\n").occupancy, 1u);
    EXPECT_EQ(read(panvk, 8, {}, "   MOV.i32 r15, r48\n").occupancy, 2u);
}

TEST(CompilerListings, ABlockBehindTheLoopThatLeadsBackIntoItBelongsToIt) {
    // The way round lies behind a loop of its own, which is no part of this one.
    const CompilerFigures figures = read(nvk, 32, {}, R"(block 0 L0 [] -> {
} -> [1]
block 1 L1 [0, 4] -> {
      r47      = ffma.ftz r60 r72 r47
      r47      = ffma.ftz r60 r72 r47
      r47      = ffma.ftz r60 r72 r47
} -> [2, 4]
block 2 L2 [1] -> {
} -> [3]
block 3 L3 [2, 3] -> {
      r47      = ffma.ftz r60 r72 r47
      r47      = ffma.ftz r60 r72 r47
} -> [3, 5]
block 4 L4 [1] -> {
                 bra L1
} -> [1]
block 5 L5 [3] -> {
                 exit
} -> []
)");
    expect_hot(figures, {.multiply_adds = 3, .instructions = 4});
}

TEST(CompilerListings, CutOrForeignTextIsNoFault) {
    constexpr std::string_view foreign =
        "(((\n(rpt\n(nop999999999999999999) \n}\n} -> [\n} -> [1,\nblock\nblock {\n@\n= \n:"
        "\nl:\nBB:\nLABEL:\nsend(\nsend(1\nmov(8)\nmad(16) <\nBRANCHZ 0x0, offset:"
        "\nBRANCHZ 0x0, offset:-99\nBRANCHZ 0x0, offset:999999999999\nFMA\n#\n#l\n\xff\xfe";
    for (const std::uint32_t driver : {radv, anv, turnip, panvk, nvk}) {
        for (const std::string_view whole : {ir3_text, brw_text, nak_text, valhall_text, foreign}) {
            for (std::size_t length = 0; length <= whole.size(); ++length) {
                const CompilerFigures figures = read(driver, 16, {}, whole.substr(0, length));
                EXPECT_EQ(figures.shared_bytes, std::nullopt);
                if (length == 0) {
                    EXPECT_FALSE(figures.hot);
                    EXPECT_EQ(figures.instructions, std::nullopt);
                    EXPECT_EQ(figures.spills, std::nullopt);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tosavk
