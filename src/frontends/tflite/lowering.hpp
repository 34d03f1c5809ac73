// The state of one import and what every operator's lowering is written with. Messages name the operator in hand.
#pragma once

#include "frontends/common/emitter.hpp"
#include "frontends/common/probe.hpp"
#include "frontends/common/signature.hpp"
#include "frontends/tflite/file.hpp"
#include "frontends/tflite/quant.hpp"
#include "frontends/tflite/rows.hpp"
#include "frontends/tflite/tflite.hpp"

#include <functional>
#include <set>

namespace tosavk {

/// A subgraph that many operators name is read for each of them.
inline constexpr std::size_t max_regions = 4096;
/// More than any type that is followed (ranges.cpp): nothing is known.
inline constexpr IntRange any_number{-(std::int64_t{1} << 62), std::int64_t{1} << 62};

class Lowering : public Emitter {
public:
    Lowering(const TfliteFile& file, const ImportOptions& options, Probe* probe = nullptr);
    Graph run();
    /// Lowers each operator for itself and tells the Probe; what reads the result of a refused one finds an input.
    void probe();
    Signature signature();  ///< without the operators

    // ---- control flow ---------------------------------------------------------------------------------------------
    /// What a region is given: values of the operator's list, those behind `first`. Those that `known` marks are
    /// constants, and stand for their bytes in the region; INT64 that is wide has upper words too, which come behind
    /// all others in lists, and no_id where a number has none.
    struct RegionList {
        std::size_t first = 0;
        std::vector<ValueId> values, upper;
        std::vector<bool> known;

        std::vector<ValueId> all() const;  ///< without resources
    };
    RegionList region_list(std::size_t first);
    /// Makes pairs of words of those that `wide` marks.
    void widen_list(RegionList& list, const std::vector<bool>& wide);
    /// A subgraph that the operator in hand names, as a region. Outputs that `wide` marks are pairs of words; it marks
    /// those too that turn out to be, and then the region is of no use.
    Graph region(std::int32_t subgraph, const RegionList& list, std::vector<bool>& wide);
    void set_results(const std::vector<ValueId>& ids, const std::vector<bool>& wide);
    /// Which inputs of the loop's body are handed on as they are.
    std::vector<bool> handed_on(std::int32_t body) const;
    /// What a subgraph computes of the operator's inputs are its outputs.
    void call(std::int32_t subgraph);
    std::vector<ValueId> cond_if(ValueId condition, std::vector<ValueId> inputs, Graph then_graph, Graph else_graph);
    std::vector<ValueId> while_loop(std::vector<ValueId> inputs, Graph cond_graph, Graph body_graph);
    /// A loop that stands for the operator in hand. `body` writes a turn with a Lowering of the same operator, from the
    /// list to the next one; what it reads of the operator's inputs, it finds there. Likewise `condition`, one bool.
    using Turn = std::function<std::vector<ValueId>(Lowering&, std::vector<ValueId>)>;
    std::vector<ValueId> own_loop(std::vector<ValueId> list, const Turn& condition, const Turn& body);

    // ---- variables ------------------------------------------------------------------------------------------------
    const std::string& resource(const TfliteTensor& tensor) const;  ///< the variable that a RESOURCE tensor names
    void name_resource(std::size_t k, std::string variable);        ///< output k names this variable
    ValueId read_variable(const std::string& variable);
    void assign_variable(const std::string& variable, ValueId value);
    /// Runs a subgraph without inputs here; what it assigns are the variables' initial values.
    void call_once(std::int32_t subgraph);

    // ---- the operator in hand -------------------------------------------------------------------------------------
    const TfliteOperator& op() const { return *op_; }
    std::size_t input_count() const { return op_->inputs.size(); }
    std::size_t output_count() const { return op_->outputs.size(); }
    bool has_input(std::size_t k) const { return k < op_->inputs.size() && op_->inputs[k] >= 0; }
    const TfliteTensor& in(std::size_t k) const;  ///< fails when the input is absent
    const TfliteTensor& out(std::size_t k = 0) const;
    ValueId value(std::size_t k);             ///< input k in the graph; a constant is added at its first use
    void set(ValueId id, std::size_t k = 0);  ///< output k is this value
    /// Real and imaginary parts of input k, which is COMPLEX64; what only moves data is lowered for each of both.
    std::array<ValueId, 2> complex_value(std::size_t k);
    void set_complex(ValueId real, ValueId imaginary, std::size_t k = 0);
    /// Input k is INT64 and may need more than 32 bits; wide.cpp has its words.
    bool is_wide(std::size_t k) const;
    bool constant(std::size_t k) const;                         ///< known while importing
    std::vector<std::int64_t> const_ints(std::size_t k) const;  ///< int64 too; fails when it is not constant
    /// Tensors that only describe a quantization inside the operator; fails where there are fewer.
    const TfliteTensor& intermediate(std::size_t k) const;
    /// One that another tensor names by its index; fails where there is none.
    const TfliteTensor& tensor(std::int32_t index) const;
    /// Writes a tensor that keeps its value from run to run, which is input k.
    void set_state(std::size_t k, ValueId id);
    /// The options table, or nullptr when it is absent and every field has its default.
    template <class T> const T* options() const {
        const tflite::BuiltinOptions type = op_->table->builtin_options_type();
        if (type == tflite::BuiltinOptions::NONE) return nullptr;
        if (type != tflite::BuiltinOptionsTraits<T>::enum_value) fail("its options are those of another operator");
        return static_cast<const T*>(op_->table->builtin_options());
    }

    // ---- types and quantization -----------------------------------------------------------------------------------
    DType dtype(const TfliteTensor& tensor) const;  ///< fails for types that the graph does not have
    /// Per tensor, of the values in the graph, with scale and zero point checked.
    Quant quant(const TfliteTensor& tensor) const;
    /// The number of a UINT8 tensor's element is that of its i8 value in the graph plus this.
    static std::int64_t stored_bias(const TfliteTensor& tensor) {
        return tensor.type == tflite::TensorType::UINT8 ? 128 : 0;
    }
    /// Scales along `axis`, one or `channels` of them, with zero points that must be 0.
    std::vector<float> channel_scales(const TfliteTensor& tensor, std::int32_t axis, std::int64_t channels) const;
    /// Fails unless both tensors mean the same by the same integer.
    void require_same_quant(const TfliteTensor& a, const TfliteTensor& b) const;
    bool is_quantized(const TfliteTensor& tensor) const;  ///< int4, int8, uint8 or int16
    Rounding rounding() const {
        return options_.rounding == TfliteRounding::single_round ? Rounding::single_round : Rounding::double_round;
    }
    /// FULLY_CONNECTED multiplies its sums by doubles.
    bool scales_in_doubles() const { return options_.rounding == TfliteRounding::tflite; }
    /// Narrow weights are multiplied as integers by activations that are quantized at run time.
    bool computes_hybrid() const { return options_.hybrid == TfliteHybrid::exact; }

    // ---- values and nodes -----------------------------------------------------------------------------------------
    using Emitter::constant;
    /// Input k as fp32: itself, or a constant of another type converted or dequantized here.
    ValueId float_value(std::size_t k);
    /// (x - input_zp) * m + output_zp.
    ValueId requantize(ValueId id, DType to, const QuantizedMultiplier& m, std::int64_t input_zp,
                       std::int64_t output_zp);
    /// Along the last dimension.
    ValueId requantize_channels(ValueId id, DType to, std::span<const QuantizedMultiplier> m, std::int64_t output_zp);
    /// i48 by TFLite's scaling of 64-bit sums, which keeps 15 bits of a multiplier; one, or along the last dimension.
    ValueId requantize_sums(ValueId id, DType to, std::span<const QuantizedMultiplier> m);
    ValueId shift_left(ValueId id, std::int64_t input_zp, int bits);  ///< (x - input_zp) << bits as i32, exact
    ValueId widen(ValueId id, std::int64_t zp) { return shift_left(id, zp, 0); }
    /// Of fp32 as i32, half away from zero; what lies beyond 2^20 on either side becomes that.
    ValueId round_half_away(ValueId id);
    /// A fused activation on a value that is already quantized like `output`.
    ValueId activate_int(ValueId id, tflite::ActivationFunctionType activation, const TfliteTensor& output);
    ValueId activate_float(ValueId id, tflite::ActivationFunctionType activation);

    // ---- shapes ---------------------------------------------------------------------------------------------------
    /// The size recorded in the file for the leading dimension, when the graph runs with another one; 0 otherwise.
    /// A shape that does not fit and holds the recorded size then means "the batch".
    std::int64_t recorded_batch(std::size_t k);
    std::size_t axis(std::int64_t a, std::size_t rank) const;     ///< negative counts from the end; fails out of range
    std::int32_t narrow(std::int64_t v, const char* what) const;  ///< fails outside int32

private:
    /// A region within `outer`.
    Lowering(const Lowering& outer, const TfliteSubgraph& graph, std::string name);
    Graph own_region(const char* name, const std::vector<ValueId>& list, const Turn& turn,
                     std::vector<ValueId>& captured);
    ValueId capture(std::size_t k);  ///< input k of the operator as it is outside of the region
    void check_subgraph(std::int32_t subgraph) const;
    ValueId read_state(const TfliteTensor& tensor);
    void write_state(const TfliteTensor& tensor, ValueId id);
    const TfliteTensor& in_hand(std::int32_t index) const;
    ValueId constant_value(const TfliteTensor& tensor);
    Bytes narrow_constant(const TfliteTensor& tensor) const;
    void note_quantization(Value& value, const TfliteTensor& tensor) const;
    /// Between the bits of UINT8 and the i8 values that stand for them; both ways.
    ValueId flip_sign(ValueId id, const std::string& name);
    /// Constants that only led to other constants (weights before their reshape) are left out of the graph.
    static void drop_unused_constants(Graph& graph);
    void lower_operators();
    Graph read_region(std::int32_t subgraph, const RegionList& list, std::vector<bool>& wide);
    void check_regions() const;                                         ///< throws what a region was refused for
    void describe_end(Value& value, const TfliteTensor& tensor) const;  ///< of a graph input or output
    void add_input(std::size_t k, UniqueNames& names);
    void lower_operator();
    bool has_complex() const;  ///< an operand or result of the operator in hand is COMPLEX64
    void lower_complex_parts();
    void lower_halves();  ///< with FLOAT32 in place of FLOAT16
    void probe_operator();
    void declare_refused(const TfliteTensor& tensor);
    bool fold_operator();
    std::vector<Value> fold_results() const;
    void check_foldable() const;  ///< fails where the graph in hand is too large to be computed here
    void add_output(std::size_t k, UniqueNames& names, std::set<ValueId>& used);
    void add_ends(bool outputs);
    void check_usable(const TfliteTensor& tensor) const;
    void check_quantized(const TfliteTensor& tensor) const;
    std::string title() const override;
    Scaling scaling(const QuantizedMultiplier& m) const;
    Scaling scaling(std::span<const QuantizedMultiplier> m) const;
    bool lower_empty();
    // INT64 (ranges.cpp)
    IntRange range_of(const TfliteTensor& tensor) const;  ///< the numbers that an integer tensor may hold
    IntRange result_range() const;                        ///< that the operator in hand may make
    std::int64_t reduced_count() const;                   ///< elements that make one of a reduction's
    std::int64_t updates_of_a_place() const;              ///< of SCATTER_ND, at most
    /// Whether the result is INT64 and may need more than 32 bits.
    bool follow_ranges();
    // INT64 as two words (wide.cpp)
    std::array<ValueId, 2> words(std::size_t k);  ///< of input k, any integer
    void set_words(std::array<ValueId, 2> words, std::size_t k = 0);
    bool reads_wide() const;
    bool lower_wide(bool result_is_wide);  ///< false: nothing is wide; fails where it cannot be
    void lower_wide_parts(std::span<const std::size_t> operands);
    void lower_wide_operator();
    void lower_wide_cast();
    void lower_wide_sum();
    void check_output(ValueId id) const;  ///< fails for a tensor without elements

    const TfliteFile& file_;
    const TfliteSubgraph& graph_;
    const ImportOptions& options_;
    const int depth_ = 0;          ///< of the region; 0: the graph itself
    std::size_t own_regions_ = 0;  ///< read so far, in the whole import
    std::size_t& regions_read_ = own_regions_;
    Probe* probe_ = nullptr;
    std::string region_;  ///< "subgraph 1"; of a region
    // In a region that stands for the operator in hand:
    Lowering* around_ = nullptr;                ///< where this operator is in hand too
    std::vector<ValueId>* captured_ = nullptr;  ///< values there that are inputs of the region, behind its list
    std::size_t refused_operators_ = 0;
    std::string region_refused_;  ///< while probing: why the regions of the operator in hand are no use
    GraphBuilder builder_;
    const TfliteOperator* op_ = nullptr;  ///< null outside of operators
    const OperatorRow* row_ = nullptr;    ///< of the operator in hand
    std::string end_ = "graph";           ///< what is in hand there, for messages
    std::vector<bool> set_;               ///< by output of the operator in hand: it has its value
    std::size_t op_index_ = 0;
    std::size_t first_value_ = 0;  ///< values from here on belong to the operator in hand
    std::string op_name_;
    std::map<std::size_t, std::array<ValueId, 2>> complex_;  ///< by tensor: the parts of COMPLEX64
    std::map<std::size_t, std::array<ValueId, 2>> wide_;     ///< by tensor: the words, lower first, of INT64 ones
    bool complex_as_part_ = false;                           ///< COMPLEX64 tensors stand for one of their parts
    std::map<std::size_t, TfliteTensor> floats_;             ///< by tensor: of FLOAT16, what stands for it as FLOAT32
    std::vector<ValueId> values_;  ///< by tensor: what it holds after the operators so far; no_id: nothing yet
    std::vector<bool> produced_;   ///< by tensor: a graph input or the output of a node
    std::map<std::size_t, std::string> resources_;  ///< by tensor: the variable that it names
    std::map<std::string, Variable> own_variables_;
    std::map<std::string, Variable>& variables_ = own_variables_;  ///< that have a value by now; of the whole import
    std::map<std::string, ValueId>* initial_values_ = nullptr;     ///< in the subgraph of CALL_ONCE
    std::map<std::size_t, IntRange> ranges_;                       ///< by tensor: what is known of INT64 ones
    std::vector<std::string> states_;  ///< by tensor that is a variable: its name in the graph, once declared
    std::vector<bool> refused_;        ///< by tensor, while probing: what makes it was refused
};

/// Output size and padding along one axis. `after` may be negative: that many trailing elements are never read.
struct Window {
    std::int64_t out = 0, before = 0, after = 0;
};
Window make_window(const Lowering& l, std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                   tflite::Padding padding);
/// The axes of an NHWC or NDHWC image: TOSA pads that make the division exact, and `x` with what is not read cut off.
std::vector<std::int32_t> pad_image(Lowering& l, ValueId& x, std::span<const std::int64_t> kernel,
                                    std::span<const std::int64_t> stride, std::span<const std::int64_t> dilation,
                                    tflite::Padding padding);

}  // namespace tosavk
