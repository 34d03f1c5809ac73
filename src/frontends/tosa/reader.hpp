// From a TosaFile to a Graph: what all generations share. How an operator becomes nodes is each generation's own.
#pragma once

#include "frontends/tosa/file.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"

#include <memory>

namespace tosavk {

class TosaReader {
public:
    TosaReader(const TosaFile& file, const ImportOptions& options, Probe* probe = nullptr);
    virtual ~TosaReader() = default;
    Graph run();
    /// Lowers each operator for itself and tells the Probe; what reads the result of a refused one finds an input.
    void probe();

protected:
    /// Adds op() to the graph and calls finish() for each of its outputs.
    virtual void lower() = 0;

    const TosaFile& file() const { return file_; }
    const TosaFileOperator& op() const { return *op_; }
    std::size_t input_count() const { return op_->inputs.size(); }
    const TosaFileTensor& in(std::size_t k) const;  ///< fails when there is none
    const TosaFileTensor& out(std::size_t k = 0) const;
    const std::string& name() const { return name_; }  ///< of the node

    /// Input k as a value of the graph. Constants come into being with their first use.
    ValueId value(std::size_t k);
    std::vector<ValueId> values();  ///< all inputs

    /// The node that computes output 0.
    void add_last(Op op, std::vector<ValueId> inputs, Attributes attrs = {});
    /// Output k of the operator is this value: compares type and shape with the file's and takes the file's name.
    void finish(std::size_t k, ValueId id);

    void check_types(const OpDef& def) const;  ///< Error(unsupported) for types in no row of the operator
    [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::bad_model) const;
    void need_inputs(std::size_t count) const;

    GraphBuilder builder_;

private:
    void read_graph();
    void read_variable(std::size_t id);
    void read_block(const TosaFileBlock& block);
    void read_operator(const TosaFileOperator& op);
    void read_output(const TosaFileBlock& block, std::size_t k);
    /// Runs `step`. While probing what it throws becomes a sentence, empty where it throws nothing.
    template <class Step> std::string attempt(const Step& step);
    void declare_refused(std::size_t id);
    /// Control flow, variables and CUSTOM are alike in all generations. False for other operators.
    bool lower_structural();
    void lower_own();
    void lower_control();
    Graph region(std::size_t block, const std::vector<std::size_t>& captures, bool hands_on, std::string& refused);
    Graph read_region(std::size_t block, const std::vector<std::size_t>& captures, bool hands_on);
    void finish_all(const std::vector<ValueId>& ids);
    const Variable& variable_of(std::size_t tensor) const;
    void need_usable(const TosaFileTensor& tensor, const std::string& where) const;
    ValueId make_constant(const TosaFileTensor& tensor, const Shape& shape);

    const TosaFile& file_;
    std::vector<ValueId> values_;  ///< by tensor
    const TosaFileOperator* op_ = nullptr;
    std::string name_;
    std::uint64_t constant_bytes_ = 0;
    std::size_t regions_read_ = 0;
    int depth_ = 0;                            ///< of the region that is being read
    std::vector<Variable> variables_;          ///< all of the file
    std::vector<std::size_t> variable_index_;  ///< in variables_, by tensor
    const Level* level_;
    Probe* probe_ = nullptr;
    std::string region_;  ///< title of the region that is being read; empty for the graph
    std::size_t refused_operators_ = 0;
    std::vector<bool> refused_;  ///< by tensor, while probing: what makes it was refused
};

/// For files of 1.0, and for those of 0.80 and before, which it upgrades.
std::unique_ptr<TosaReader> tosa_reader_1_0(const TosaFile& file, const ImportOptions& options, Probe* probe);
std::unique_ptr<TosaReader> tosa_reader_old(const TosaFile& file, const ImportOptions& options, Probe* probe);

}  // namespace tosavk
