// Writes the text of one shader for a group of nodes; the members' part is in source.cpp, that of row groups in
// rows.cpp, that of prologues in prologues.cpp.
#pragma once

#include "compile/codegen/dialect.hpp"
#include "compile/codegen/quad_access.hpp"
#include "compile/codegen/source.hpp"
#include "compile/codegen/statements.hpp"
#include "compile/group/leaves.hpp"
#include "compile/group/rows.hpp"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tosavk {

/// A tensor read by the group's members: a buffer and the place of its elements in the index space.
struct Leaf {
    std::size_t buffer;  ///< number in its name
    IndexMap map;        ///< simplified
    Name variable;
};

/// What a member's expression asked for when it was written for the first quad: it gets the same for the others.
struct MemberCalls {
    struct Table {
        Name index;
        std::size_t statement;  ///< that makes it
    };
    std::vector<Name> inputs;
    std::vector<Table> tables;
    std::vector<std::string> params;
};

/// Statements of the member nodes go to `body_`, functions in front of them to `functions_`.
class SourceBuilder final {
public:
    /// `earlier`: the pass of the group's kernel to write, instead of the last one.
    SourceBuilder(const Graph& graph, const Group& group, const DevicePlan& device, bool late_sizes,
                  const KernelPass* earlier = nullptr)
        : graph_(graph),
          group_(group),
          device_(device),
          late_sizes_(late_sizes),
          earlier_(earlier),
          pass_(earlier        ? earlier
                : group.choice ? &*group.choice
                               : nullptr),
          count_(element_count(group.space)),
          aligned_(!group.choice || group.choice->aligned),
          row_(group.choice && group.choice->in_rows
                   ? graph.value(graph.node(group.anchor).outputs.front()).shape.back()
                   : 0),
          leaves_of_group_(earlier ? leaves_of_pass(graph, group, *earlier, device)
                                   : leaves_of(graph, group, device, Outputs::known)) {
        for (const GroupLeaves::Read& read : leaves_of_group_.reads) source_.reads.push_back(read.operand);
    }

    GroupSource build();
    GroupSource build_earlier();
    /// After build(): whether the group had better be built with take_single_elements(). `writes`: what it writes.
    bool wants_single_elements(std::span<const ValueId> writes) const;
    /// An invocation makes one element.
    void take_single_elements() {
        one_each_ = single_ = true;
        aligned_ = false;
    }
    GroupSource finish(const std::string& end);
    std::string take_pushed(std::string& text);

    /// `late`: see Param.
    std::string param(std::int32_t value, bool late = false) {
        source_.constants.push_back(value);
        const auto id = source_.constants.size() - 1;
        if (late) late_.insert(id);
        integers_.insert(id);
        params_ += fmt::format("layout(constant_id = {}) const int P{} = 0;\n", id, id);
        return fmt::format("P{}", id);
    }
    std::string param_float(float value) {
        source_.constants.push_back(std::bit_cast<std::int32_t>(value));
        const auto id = source_.constants.size() - 1;
        params_ += fmt::format("layout(constant_id = {}) const float P{} = 0.0;\n", id, id);
        return fmt::format("P{}", id);
    }
    Name value_of(const NodeView& view, std::size_t k);
    /// The variable of `index4`, for the first quad; extend_table() makes it for another.
    MemberCalls::Table make_table(const std::string& index4, const char* quad);
    void extend_table(const MemberCalls::Table& table, const std::string& index4, const char* quad);
    std::string read_table(ValueId id, const std::string& index);

private:
    /// Number of the buffer; of what an elementwise group makes where it reads it, the function is written first.
    std::size_t buffer_of(ValueId id);
    void add_operands();
    void add_prologue(const std::string& name, const Group::Prologue& prologue,
                      const std::function<bool(const char*)>& calls);
    std::string prologue_body(const Group::Prologue& prologue, bool aligned);
    Name leaf(ValueId id, const IndexMap& map);
    QuadText read_leaf(const Leaf& leaf, DType type, const std::string& name);
    bool loads_eights(const Leaf& leaf, ValueId id) const;
    void add_member(NodeId id);
    void store_outputs();
    /// Whether a tensor or a result of the group has such a type.
    template <class Test> bool uses(Test test) const;
    Param params() {
        return Param([this](std::int64_t value, bool late) { return param(static_cast<std::int32_t>(value), late); });
    }
    void store_value(ValueId id, std::size_t out);
    void store_part(const Group::Store& part);
    Name stored_value(const Group::Store& part);
    std::size_t write_of(ValueId id);
    void add_rows();
    void add_row_loop(const RowPasses& all, std::size_t depth);
    std::string partial_type(const NodeView& view) const;
    std::string fold_row(const std::string& combine, const std::string& type, const std::string& partial);
    static std::string next_of_column(const std::string& combine, const std::string& type, const std::string& sum,
                                      const std::string& is_first, const std::string& term);
    std::string fold_columns(const std::string& combine, const std::string& type, const std::string& sum);
    std::string row_main();
    std::string column_main();
    std::uint64_t bytes_of(const KernelOperand& operand) const;
    bool stores_quads() const;
    bool stores_eights() const;
    std::int64_t eights_in_turn() const;
    bool libraries_may_loop() const;
    std::string fused_functions(const std::string& set_last);
    Quads quads() const { return eights_ ? Quads(two_quads) : Quads(one_quad); }
    /// Whether a result of the type has the bits that its operator says.
    bool is_precise(DType type) const { return is_float(type) && !(device_.fast_fp16 && type == DType::fp16); }
    /// A name of which each of the quads at hand has its own.
    Name own(std::string name) const { return {std::move(name), eights_}; }

    const Graph& graph_;
    const Group& group_;
    const DevicePlan& device_;
    const bool late_sizes_;
    const KernelPass* const earlier_;
    const KernelPass* const pass_;  ///< the kernel at hand; null without one
    std::int64_t count_;            ///< elements of the index space at hand
    bool aligned_;                  ///< positions at hand are whole quads
    std::int64_t row_ = 0;  ///< positions at hand are quads of rows of so many elements (QuadAccess::row); 0: anywhere
    const GroupLeaves leaves_of_group_;
    bool single_ =
        false;  ///< positions at hand are single elements (of the rows' own values), made quads of equal ones
    std::size_t names_ = 0;
    GroupSource source_;
    std::set<std::string> libraries_;   ///< files that the members' expressions need
    std::int64_t library_members_ = 0;  ///< of how many members
    std::string params_, functions_;
    std::set<std::size_t> late_;      ///< ids of constants that become push constants where sizes do
    std::set<std::size_t> integers_;  ///< ids of all constants that are integers
    Scope body_;
    std::map<ValueId, Name> variables_;  ///< members' results (and the anchor's)
    std::set<std::size_t> written_;      ///< numbers of what is made where it is read, once its function is there
    std::vector<std::pair<ValueId, Leaf>> leaves_;
    bool one_each_ = false;               ///< take_single_elements()
    bool parts_quads_ = false;            ///< some tensor is loaded or stored element by element
    bool eights_ = false;                 ///< statements are made for two quads at once
    std::set<std::size_t> loads_eights_;  ///< numbers of buffers of which leaves load both quads as one
};

}  // namespace tosavk
