// Graphs from calls of a program: each call checked when it is made, and refused nodes kept where that is wanted.
#pragma once

#include "frontends/common/probe.hpp"
#include "ops/builder.hpp"
#include "ops/print.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tosavk {

class CallBuilder;

/// A node as a program describes it.
struct NodeCall {
    std::string op;  ///< "CONV2D", "tosavk.sort"
    std::string name;
    std::vector<ValueId> inputs;
    std::vector<AttributeValue> attributes;
    /// Described outputs; an empty shape says nothing but for CUSTOM. Null: as the inputs say.
    std::optional<std::vector<OutputType>> outputs;
    std::vector<const CallBuilder*> regions;
};

class CallBuilder {
public:
    /// `keep_refused`: a node that is refused is no error where its outputs are described; they stand as described, so
    /// that later nodes can be judged. `is_region`: it may lack outputs, and is given to nodes instead of finished.
    CallBuilder(std::string name, const Level& level, bool keep_refused, bool is_region = false);

    GraphBuilder& graph() { return builder_; }
    const GraphBuilder& graph() const { return builder_; }
    const std::string& name() const { return name_; }
    bool keeps_refused() const { return keep_refused_; }
    bool is_region() const { return is_region_; }

    /// The outputs' values. Throws Error.
    std::vector<ValueId> node(const NodeCall& call);
    /// Every call of node() that was no error; the graph as a whole is judged too.
    ProbeReport probe() const;
    /// A copy of the graph, checked as a whole. Throws Error.
    Graph checked() const;
    /// Empty again.
    void clear();

private:
    std::vector<ValueId> add(const NodeCall& call);

    std::string name_;
    const Level* level_;
    bool keep_refused_, is_region_;
    GraphBuilder builder_;
    std::vector<ProbedOperator> calls_;
};

}  // namespace tosavk
