// What a front end says of a file, operator by operator, instead of stopping at the first that it does not take.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {

struct ProbedOperator {
    std::string region;     ///< where it stands: empty for the graph itself, else "subgraph 1", "region 'body'"
    std::size_t index = 0;  ///< among the operators of the graph or region, in the order of the file
    std::string name;       ///< as the file's format calls it
    bool taken = true;
    std::string sentence;  ///< why not; empty when taken
    std::string needs;     ///< what must be there before it can run, such as a registration; empty: nothing
};

struct ProbeReport {
    std::string format;                     ///< "tflite", "tosa" or "stablehlo"
    std::vector<ProbedOperator> operators;  ///< CONST and CONST_SHAPE of .tosa files are no operators here
    std::vector<std::string> graph;         ///< what else is refused: inputs, outputs, the graph as a whole

    bool operators_taken() const;
    /// If and only if the file loads.
    bool taken() const { return graph.empty() && operators_taken(); }
};

/// Collects a report while a front end goes through a file.
class Probe {
public:
    explicit Probe(std::string format) { report_.format = std::move(format); }

    /// `sentence` is empty for what is taken. A region that several operators name is taken if it is by all of them.
    void operator_seen(const std::string& region, std::size_t index, const std::string& name,
                       const std::string& sentence, const std::string& needs = {});
    void refuse_graph(const std::string& sentence) { report_.graph.push_back(sentence); }

    /// Operators of the graph first, then region by region. `load_error` is what loading the file threw, or empty.
    ProbeReport finish(const std::string& load_error);

private:
    ProbeReport report_;
    std::map<std::pair<std::string, std::size_t>, std::size_t> seen_;
};

}  // namespace tosavk
