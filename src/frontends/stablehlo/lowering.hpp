// The state of one lowering and what every operation's lowering is written with. Messages name the operation in hand,
// the type it is of and where its author wrote it.
#pragma once

#include "frontends/common/emitter.hpp"
#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"
#include "frontends/stablehlo/program.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace tosavk::stablehlo {

using Id = tosavk::ValueId;  ///< of the graph
using tosavk::to_string;

/// What the numbers of an integer tensor lie between, as far as is known.
struct Range {
    std::int64_t least = 0, most = 0;
    bool operator==(const Range&) const = default;
    bool holds(const Range& other) const { return least <= other.least && other.most <= most; }
    Range joined(const Range& other) const { return {std::min(least, other.least), std::max(most, other.most)}; }
};

bool is_integer_element(Element element);  ///< with or without a sign, any width; not pred
bool is_complex_element(Element element);
/// Narrow floats that the graph does not have: their codes are moved, and become other floats, but nothing more.
bool is_coded_element(Element element);

/// A value of the program in the graph. Unsigned integers are the bits of signed ones of their width; what is narrower
/// than 8 bits is an i8 of the same number; i64 and u64 are an i32 of the same number where `range` allows it, else a
/// pair of 32-bit words.
struct Tensor {
    Element element = Element::f32;
    Id id = no_id;     ///< of a complex number the real part, of a pair the lower word; no_id for a token
    Id other = no_id;  ///< of a complex number the imaginary part, of a pair the upper word
    Range range = {};  ///< of integers; what a u64 may have beyond that of int64 is not told

    bool has_two() const { return other != no_id; }
    bool is_pair() const { return has_two() && is_integer_element(element); }
    bool is_complex() const { return has_two() && !is_integer_element(element); }
};

/// In bits of `element`; of i64 and u64 what one i32 of the graph can hold.
Range whole_range(Element element);
/// Of i64 and u64 all that a pair can hold; of others as above.
Range pair_range(Element element);
/// Both bounded by those of int64 instead of overflowing.
std::int64_t saturated_sum(std::int64_t a, std::int64_t b);
std::int64_t saturated_difference(std::int64_t a, std::int64_t b);
std::int64_t saturated_product(std::int64_t a, std::int64_t b);
/// Whether a u64 may be beyond int64, so that `range.most` bounds nothing.
bool is_unbounded(const Tensor& tensor);

class Lowering : public Emitter {
public:
    Lowering(const Program& program, const ImportOptions& options, Probe* probe = nullptr);
    Graph run();
    /// Lowers each operation for itself and tells the Probe; what reads the result of a refused one finds an input.
    void probe();

    // ---- the operation in hand ------------------------------------------------------------------------------------
    const Operation& op() const { return *op_; }
    std::size_t operand_count() const { return op_->operands.size(); }
    std::size_t result_count() const { return op_->results.size(); }
    const Type& operand_type(std::size_t k) const;
    const Type& result_type(std::size_t k = 0) const;
    Tensor in(std::size_t k);     ///< one that is computed with as it is; pairs and codes are refused
    Tensor given(std::size_t k);  ///< any
    std::vector<Tensor> all_given();
    [[noreturn]] void refuse_codes(Element element) const;
    void set(const Tensor& tensor, std::size_t k = 0);
    const Region& region(std::size_t k) const;
    const Type& type_of(stablehlo::ValueId id) const;  ///< of any value of the function in hand
    bool has_quantized() const;  ///< among its operands and results, whose types are told as those of floats
    /// The operation of a block that makes a value of it; null where none does.
    static const Operation* maker(const Region& region, stablehlo::ValueId id);

    std::int64_t integer(std::string_view name) const;
    std::vector<std::int64_t> numbers(std::string_view name) const;
    /// None beyond 2^31, so that sums of products of two, or of one and a dimension, stay within 64 bits.
    std::vector<std::int64_t> small_numbers(std::string_view name) const;
    void refuse_large(std::span<const std::int64_t> numbers) const;  ///< those beyond 2^31
    bool flag(std::string_view name) const;
    std::string keyword(std::string_view name) const;  ///< empty where the attribute says nothing
    double real(std::string_view name) const;
    std::string text(std::string_view name) const;
    /// Of an operand of integers; nothing where it is not known here.
    std::optional<std::vector<std::int64_t>> known(std::size_t k);
    /// first, first + 1, ..., `count` of them, as a constant is made of them; refuses more than 2^28.
    std::vector<std::int64_t> counted(std::int64_t count, std::int64_t first = 0) const;

    // ---- types ----------------------------------------------------------------------------------------------------
    DType dtype(Element element) const;  ///< of the graph's value; refuses what there is none for
    Shape static_shape(const Type& type) const;
    Shape result_shape(std::size_t k = 0) const { return static_shape(result_type(k)); }
    /// Integers as i32 of the same number (u32: of the same bits), fp8 as fp32; others as they are.
    Id wide(const Tensor& tensor);
    static DType wide_type(DType type);
    /// The reverse: integers modulo 2 to the width. `range` is that of the numbers before.
    Tensor narrow(Id id, Element element, Range range);
    Tensor narrow(Id id, Element element) { return narrow(id, element, whole_range(element)); }
    /// As it is, with a range that its type and the graph can hold; refuses 64-bit integers that may need more.
    Tensor ranged(Id id, Element element, Range range) const;
    /// Integers of 64 bits as a pair; others as they are.
    Tensor as_pair(const Tensor& tensor);
    void make_alike(Tensor& a, Tensor& b);  ///< both pairs where one is
    bool f64_as_f32() const;

    // ---- nodes ----------------------------------------------------------------------------------------------------
    Id splat_int(Id like, std::int64_t v) { return splat(like, DType::i32, static_cast<double>(v)); }
    /// Of one element and rank 0, or of the rank that regions are lifted to.
    Tensor number(Element element, double v);
    /// A tensor of rank 0 beside one of any: with as many dimensions of 1.
    Id with_rank_of(Id id, Id like);
    Id binary(Op op, Id a, Id b, DType output);
    Id unary(Op op, Id a) { return add(op, {a}, type(a)); }
    Id negated(Id a);  ///< of floats; NEGATE saturates integers
    Id select(Id condition, Id a, Id b);
    Id logical_not(Id a) { return add(Op::logical_not, {a}, DType::boolean); }
    Id bits_and(Id a, std::int64_t mask);
    Id bits_xor(Id a, std::int64_t mask);
    Id shift_left(Id a, int amount);
    Id shift_right(Id a, int amount, bool arithmetic = false);
    Id transpose(Id id, std::span<const std::int64_t> order);
    Id tile_to(Id id, Shape shape);  ///< dimensions of 1 become those
    Id broadcast(Id id, Shape shape, std::span<const std::int64_t> dims);
    Id pad(Id id, Id value, std::span<const std::int64_t> low, std::span<const std::int64_t> high);
    /// With elements between those that there are, and amounts below 0, which take away.
    Id pad(Id id, Id value, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
           std::span<const std::int64_t> between);
    Id strided_slice(Id id, std::span<const std::int64_t> start, std::span<const std::int64_t> limit,
                     std::span<const std::int64_t> stride);
    Id bitcast(Id id, DType to);  ///< of the same width, bf16 too
    Id zeros(DType type, Shape shape);
    Id constant_i32(const Shape& shape, std::span<const std::int64_t> values);
    /// Real and imaginary part, or both words, each for itself.
    Tensor move(const Tensor& tensor, const std::function<Id(Id)>& step);

    // ---- regions --------------------------------------------------------------------------------------------------
    /// The operations of a region that takes numbers, on whole tensors of one shape each instead: what it makes of
    /// them, element by element. With `until`, those before that operation, and what its operands are.
    std::vector<Tensor> lifted(const Region& region, const std::vector<Tensor>& arguments, const Shape& shape,
                               const Operation* until = nullptr);
    bool is_lifted() const { return lift_.has_value(); }
    /// The operation of the function in hand, outside of regions, that makes a value; null where none does.
    const Operation* maker(stablehlo::ValueId id) const;
    /// The operations of a region or a function's body in place.
    std::vector<Tensor> inlined(const Region& region, const std::vector<Tensor>& arguments);
    void call(std::string_view function);
    /// `step` with a function's body, where the function in hand is that one.
    void within(std::string_view function, const std::function<void(const Region&)>& step);
    struct Made {
        Graph graph;
        std::vector<Tensor> results;
    };
    /// A region that stands for itself. What it reads from around becomes inputs behind its own, and is told. Results
    /// for which `pairs` says so are pairs.
    Made made(const Region& region, const std::vector<Tensor>& arguments, std::vector<stablehlo::ValueId>& captured,
              bool hands_on, const std::vector<bool>& pairs = {});
    /// One of the same inputs that hands `arguments` on.
    Made passed_on(const std::vector<Tensor>& arguments, const std::vector<stablehlo::ValueId>& captured);
    /// A loop of our own: `goes_on` makes one i1, `turn` what is carried, in the same form.
    using Step = std::function<std::vector<Tensor>(Lowering&, std::vector<Tensor>)>;
    std::vector<Tensor> loop(const std::vector<Tensor>& carried, const Step& goes_on, const Step& turn);
    /// What a loop carries, once its turn stays within it. Where the loop around it is lowered again it begins so.
    struct Carried {
        Range range;
        bool is_pair = false;
    };
    std::map<const Operation*, std::vector<Carried>>& loops() { return loops_; }
    bool is_within_region() const { return depth_ > 0; }
    Tensor value(stablehlo::ValueId id);  ///< of the function in hand
    GraphBuilder& builder() { return builder_; }

protected:
    std::string title() const override;
    std::vector<Id> append(Op op, std::vector<Id> inputs, Attributes attrs, std::span<const DType> output_types,
                           const std::string& name) override;

private:
    struct Frame {
        const Function* function = nullptr;
        std::vector<std::optional<Tensor>> values;
        bool sees_around = false;
    };
    Lowering(Lowering& around, std::string name);

    const Function& function_named(std::string_view name) const;
    void add_inputs(const Function& main);
    void add_input(const Function& main, std::size_t k, UniqueNames& names);
    void add_outputs(const Function& main, const std::vector<Tensor>& results);
    Tensor capture(stablehlo::ValueId id);
    Tensor taken(const Lowering& around, Tensor tensor, std::size_t& count);  ///< as inputs
    std::vector<Tensor> lower_block(const Region& region, const Operation* until);
    void lower_operation(const Operation& operation);
    void lower_step(const Operation& operation);  ///< within what lower_operation() sets and puts back
    // While probing (probe.cpp):
    void probe_operation(const Operation& operation);
    void declare_refused(const Operation& operation);
    void add_inputs_apart(const Function& main);
    std::string title_of(const Region& region) const;
    /// Error(bad_model) where an attribute of the operation in hand does not fit its tensors.
    void check_attributes() const;
    void check_regions() const;  ///< the same of regions: how many, what they take and return, of which operands
    void check_call(const Region& body) const;  ///< the same of a function's body, which is of the frame in hand
    const std::vector<stablehlo::ValueId>& returned_by(const Region& region) const;
    void check_numbers() const;  ///< Error(unsupported) where a region of numbers has tensors
    void check_alike(std::size_t first, std::size_t count) const;  ///< the same of operands that have one shape
    // Of quantized types (quantized.cpp):
    const Type& expressed(const TypePointer& type) const;  ///< of floats where it is quantized and computed here
    [[noreturn]] void refuse_quantized(const Quantization& q) const;
    Id quantized_steps(Id x, const Quantization& q);  ///< as i32
    Id floats_of_steps(Id steps, const Quantization& q);
    Tensor of_stored(const Tensor& tensor, const Quantization& q);  ///< what stored integers stand for
    Bytes floats_of_stored(std::span<const std::int64_t> numbers, const Type& type, const Quantization& q) const;
    Tensor on_grid(const Tensor& tensor, const Quantization& q);
    bool keeps_grid(const Quantization& q) const;  ///< what the operation in hand makes lies on its result's grid
    void lower_constant();
    bool lower_known();
    void set_known(std::vector<std::int64_t> numbers);
    /// 64-bit integers as a constant: an i32 of the same numbers, else a pair.
    Tensor constant_64(Element element, const Shape& shape, std::span<const std::int64_t> numbers);

    const Program& program_;
    const ImportOptions& options_;
    Lowering* around_ = nullptr;
    std::vector<stablehlo::ValueId>* captured_ = nullptr;
    int depth_ = 0;
    GraphBuilder builder_;
    std::vector<Frame> frames_;
    std::optional<Shape> lift_;
    mutable std::map<const Type*, Type> expressed_;
    const Operation* op_ = nullptr;
    const Function* home_ = nullptr;  ///< that the operation in hand stands in
    std::string name_;                ///< of the nodes in hand
    Probe* probe_ = nullptr;
    std::string region_;     ///< while probing: what the Probe calls the region in hand
    std::size_t index_ = 0;  ///< of the operation there
    std::size_t own_refused_ = 0;
    std::size_t& refused_ = own_refused_;  ///< operations and inputs, of the whole program
    std::size_t own_lowered_ = 0;
    std::size_t& lowered_ = own_lowered_;  ///< operations so far, of the whole program, calls in place
    std::size_t own_nodes_ = 0;
    std::size_t& nodes_ = own_nodes_;  ///< of the graph so far, regions' too
    std::map<const Operation*, std::vector<Carried>> own_loops_;
    std::map<const Operation*, std::vector<Carried>>& loops_ = own_loops_;  ///< of the outermost one in hand
    using Makers = std::map<const Function*, std::vector<const Operation*>>;
    Makers own_makers_;
    Makers& makers_ = own_makers_;  ///< operations of functions in hand, by what they make
    std::set<const Function*> own_refusing_;
    std::set<const Function*>& refusing_ = own_refusing_;  ///< functions that have such operations
    friend void lower_constant(Lowering& l);
};

/// How an operation is lowered. Each family has a table of its own.
struct LoweringRow {
    std::string_view name;
    void (*lower)(Lowering&);
};
std::span<const LoweringRow> unary_rows();
std::span<const LoweringRow> binary_rows();
std::span<const LoweringRow> convert_rows();
std::span<const LoweringRow> shape_rows();
std::span<const LoweringRow> reduce_rows();
std::span<const LoweringRow> window_rows();
std::span<const LoweringRow> select_rows();
std::span<const LoweringRow> contract_rows();
std::span<const LoweringRow> convolution_rows();
std::span<const LoweringRow> index_rows();
std::span<const LoweringRow> collective_rows();
std::span<const LoweringRow> control_rows();
std::span<const LoweringRow> custom_rows();
std::span<const LoweringRow> chlo_rows();  ///< of a dialect of its own
std::span<const LoweringRow> sort_rows();
std::span<const LoweringRow> fourier_rows();
std::span<const LoweringRow> normalization_rows();
std::span<const LoweringRow> random_rows();
std::span<const LoweringRow> triangle_rows();

/// A region that does one thing with two numbers.
struct Combination {
    std::string_view name;  ///< of the operation; "first" or "second" where one of the numbers is handed on
};
/// What a region makes of its arguments number `a` and `b` as its result number `k`; empty where it is more than that.
Combination combination_of(const Lowering& l, const Region& region, std::size_t a, std::size_t b, std::size_t k = 0);
/// Whether it is known to be a number that combining with changes nothing.
bool is_neutral(const Lowering& l, std::string_view name, const Tensor& number);

}  // namespace tosavk::stablehlo
