// Verifies a .tosa flatbuffer of any generation and resolves its names.
#include "frontends/tosa/file.hpp"

#include "base/text.hpp"
#include "frontends/tosa/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace tosavk {

namespace {

constexpr std::size_t max_file_bytes = 0x7ffffffe;  // offsets of a flatbuffer are 31 bits
constexpr std::size_t max_rank = 32;
constexpr std::size_t max_operands = 65536;
/// Of all blocks: as many as the verifier lets a file have tables. A block is read for each block that names it.
constexpr std::size_t max_items = 1000000;

[[noreturn]] void bad(const std::string& what) { bad_tosa_file(what); }
[[noreturn]] void unsupported(const std::string& what) { throw Error(ErrorCode::unsupported, "TOSA file: " + what); }

using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

std::string_view view(const flatbuffers::String* string) {
    return string ? std::string_view(string->c_str(), string->size()) : std::string_view();
}

template <class T> std::size_t size_of_vector(const T* vector) { return vector ? vector->size() : 0; }

std::span<const std::byte> bytes_of(const flatbuffers::Vector<std::uint8_t>* vector) {
    if (!vector) return {};
    return std::as_bytes(std::span(vector->data(), vector->size()));
}

template <class Root> const Root* verified(std::span<const std::byte> bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    flatbuffers::Verifier verifier(data, bytes.size(), /*max_depth=*/64, /*max_tables=*/1000000);
    return verifier.VerifyBuffer<Root>(nullptr) ? flatbuffers::GetRoot<Root>(data) : nullptr;
}

const tosa030::Probe* probe(std::span<const std::byte> bytes) {
    if (bytes.size() < 16 || bytes.size() > max_file_bytes) return nullptr;
    const auto* root = verified<tosa030::Probe>(bytes);
    return root && root->parts() && root->parts()->size() > 0 ? root : nullptr;
}

/// A block has operators, tensors, inputs and outputs; a region only a list of blocks.
bool has_blocks(const tosa030::Probe& root) {
    return std::any_of(root.parts()->begin(), root.parts()->end(), [](const tosa030::ProbePart* part) {
        return part->tensors() != nullptr || part->inputs() != nullptr || part->outputs() != nullptr;
    });
}

/// The block to run: "main", else the first.
template <class List> const auto& main_of(const List* list, const char* kind) {
    if (size_of_vector(list) == 0) bad(fmt::format("it has no {}", kind));
    for (const auto* entry : *list) {
        if (view(entry->name()) == "main") return *entry;
    }
    return **list->begin();
}

template <class Graph> const auto& main_block(const Graph& graph) {
    return main_of(main_of(graph.regions(), "region").blocks(), "block");
}

/// The block behind a name in COND_IF or WHILE_LOOP: a region's first block, else a block of that name; null if there
/// is none.
template <class Graph> auto find_region(const Graph& graph, std::string_view name) {
    using Block = std::remove_cvref_t<decltype(main_block(graph))>;
    const Block* found = nullptr;
    for (const auto* region : *graph.regions()) {
        if (view(region->name()) == name && size_of_vector(region->blocks()) > 0) return *region->blocks()->begin();
        for (std::size_t k = 0; !found && k < size_of_vector(region->blocks()); ++k) {
            const Block* block = region->blocks()->Get(static_cast<flatbuffers::uoffset_t>(k));
            if (view(block->name()) == name) found = block;
        }
    }
    return found;
}

constexpr std::size_t max_depth = 257;  // the graph, and what level none allows to nest

}  // namespace

void bad_tosa_file(const std::string& what) { throw Error(ErrorCode::bad_model, "TOSA file: " + what); }

bool looks_like_tosa(std::span<const std::byte> file) {
    std::vector<std::uint64_t> aligned((file.size() + 7) / 8);
    if (!file.empty()) std::memcpy(aligned.data(), file.data(), file.size());
    const auto bytes = std::as_bytes(std::span(aligned)).first(file.size());
    const tosa030::Probe* root = probe(bytes);
    return root && root->version() &&
           std::any_of(root->parts()->begin(), root->parts()->end(), [](const tosa030::ProbePart* part) {
               return size_of_vector(part->name()) > 0 && size_of_vector(part->items()) > 0;
           });
}

/// The names of the file, as its bytes are. A tensor's name belongs to its block, a variable's to the file.
struct TosaFile::Names {
    struct Scope {
        std::unordered_map<std::string_view, std::size_t> own;
        const Scope* outer = nullptr;
    };
    std::deque<Scope> scopes;  ///< by block
    std::unordered_map<std::string_view, std::size_t> variables;
    std::map<std::pair<const void*, std::size_t>, std::size_t> blocks;  ///< by table in the file and enclosing block
    std::vector<const void*> open;  ///< the tables of the block in hand and of those around it
    std::size_t items = 0;          ///< tensors and operators

    /// Looks in the block first, then in those around it.
    std::vector<std::size_t> resolve(std::size_t block, const Strings* names,
                                     const std::function<std::string()>& where) const {
        if (size_of_vector(names) > max_operands) bad(fmt::format("{}: {} names are too many", where(), names->size()));
        std::vector<std::size_t> out;
        for (std::size_t k = 0; k < size_of_vector(names); ++k) {
            const std::string_view name = view(names->Get(static_cast<flatbuffers::uoffset_t>(k)));
            const Scope* scope = &scopes[block];
            while (scope && !scope->own.contains(name)) scope = scope->outer;
            if (!scope) bad(fmt::format("{}: there is no tensor '{}'", where(), printable(name)));
            out.push_back(scope->own.at(name));
        }
        return out;
    }
    void count(std::size_t more) {
        items += more;
        if (items > max_items)
            unsupported(fmt::format("its blocks have more than {} tensors and operators", max_items));
    }
};

template <class Block> void TosaFile::read_tensors(const Block& block, std::size_t number) {
    for (std::size_t k = 0; k < size_of_vector(block.tensors()); ++k) {
        const auto& table = *block.tensors()->Get(static_cast<flatbuffers::uoffset_t>(k));
        TosaFileTensor tensor;
        tensor.name = printable(view(table.name()));
        read_tosa_type(generation, table.type(), tensor);
        if (size_of_vector(table.shape()) > max_rank) {
            bad(fmt::format("{} has rank {}", tensor.title(), table.shape()->size()));
        }
        if (table.shape()) tensor.shape.assign(table.shape()->begin(), table.shape()->end());
        tensor.data = bytes_of(table.data());
        tensor.is_variable = table.variable();
        tensor.variable_name = printable(view(table.variable_name()));
        if (table.is_unranked()) tensor.unusable = "it has no rank; shapes must be inferred before the file is written";
        if constexpr (std::is_same_v<Block, tosa10::TosaBasicBlock>) {
            if (table.offset() > 1 || table.size() > 1) tensor.unusable = "its data lies outside the flatbuffer";
        }
        // A shape value without entries may lie in a tensor of rank 0.
        if (tensor.unusable.empty() && tensor.type == DType::shape && tensor.shape.empty()) tensor.shape = {0};
        if (tensor.unusable.empty() && tensor.type == DType::shape && tensor.shape.size() != 1) {
            bad(fmt::format("{} of type SHAPE has rank {}", tensor.title(), tensor.shape.size()));
        }
        add_tensor(view(table.name()), std::move(tensor), number);
    }
}

/// Each block lists the variables anew.
void TosaFile::add_tensor(std::string_view name, TosaFileTensor tensor, std::size_t block) {
    if (name.empty()) bad(fmt::format("tensor number {} has no name", tensors.size()));
    std::size_t id = tensors.size();
    if (tensor.is_variable) {
        id = names_->variables.emplace(name, id).first->second;
        if (id < tensors.size() && (tensors[id].type != tensor.type || tensors[id].shape != tensor.shape)) {
            bad(fmt::format("variable '{}' has two types or shapes", tensor.name));
        }
    }
    const auto [it, fresh] = names_->scopes[block].own.emplace(name, id);
    if (!fresh && !(tensor.is_variable && it->second == id)) {
        bad(fmt::format("{}: two tensors have the name '{}'", blocks[block].title, tensor.name));
    }
    if (id < tensors.size()) return;
    names_->count(1);
    if (tensor.is_variable) variables.push_back(id);
    tensors.push_back(std::move(tensor));
}

void TosaFile::read_shapes(const tosa10::TosaBasicBlock& block, std::size_t number) {
    for (std::size_t k = 0; k < size_of_vector(block.shapes()); ++k) {
        const tosa10::TosaShape& table = *block.shapes()->Get(static_cast<flatbuffers::uoffset_t>(k));
        TosaFileTensor tensor;
        tensor.name = printable(view(table.name()));
        tensor.type = DType::shape;
        tensor.shape = {static_cast<std::int64_t>(table.rank())};
        tensor.data = bytes_of(table.data());
        add_tensor(view(table.name()), std::move(tensor), number);
    }
}

/// Blocks within are read after the block's own names and constants are known.
template <class Operator, class Block, class Find>
std::size_t TosaFile::read_block(const Block& table, const Find& find, std::size_t outer) {
    const std::pair<const void*, std::size_t> key(&table, outer);
    if (const auto known = names_->blocks.find(key); known != names_->blocks.end()) return known->second;
    std::vector<const void*>& open = names_->open;
    if (std::find(open.begin(), open.end(), &table) != open.end()) {
        bad(fmt::format("region '{}' contains itself", printable(view(table.name()))));
    }
    if (open.size() >= max_depth) bad("its regions are nested too deep");
    if (blocks.size() > max_tosa_regions)
        unsupported(fmt::format("its operators name more than {} regions", max_tosa_regions));
    open.push_back(&table);
    const std::size_t number = blocks.size();
    blocks.emplace_back();
    names_->scopes.push_back({{}, outer == SIZE_MAX ? nullptr : &names_->scopes[outer]});
    names_->count(1 + size_of_vector(table.operators()));
    blocks[number].title = number == 0 ? "the graph" : fmt::format("region '{}'", printable(view(table.name())));
    const std::string& title = blocks[number].title;
    read_tensors(table, number);
    if constexpr (std::is_same_v<Block, tosa10::TosaBasicBlock>) read_shapes(table, number);
    const auto ends = [&](const char* what) { return [=] { return title + "'s " + what; }; };
    blocks[number].inputs = names_->resolve(number, table.inputs(), ends("inputs"));
    blocks[number].outputs = names_->resolve(number, table.outputs(), ends("outputs"));
    if (number == 0 && blocks[number].outputs.empty()) bad("the graph has no output");
    std::unordered_set<std::size_t> seen;
    for (const std::size_t id : blocks[number].inputs) {
        if (!seen.insert(id).second) bad(fmt::format("graph input '{}' is listed twice", tensors[id].name));
        if (tensors[id].block != SIZE_MAX)
            bad(fmt::format("{}'s input {} is computed elsewhere", title, tensors[id].title()));
        tensors[id].block = number;
    }
    std::vector<std::pair<std::size_t, std::vector<std::string_view>>> regions;
    for (std::size_t k = 0; k < size_of_vector(table.operators()); ++k) {
        const Operator& from = *table.operators()->Get(static_cast<flatbuffers::uoffset_t>(k));
        TosaFileOperator op;
        op.index = k;
        read_operator(from, op, number);
        if (op.op == Op::constant || op.op == Op::const_shape) continue;
        std::vector<std::string_view> named;
        const auto take = [&](const auto* attribute, auto... member) {
            if (!attribute) bad(fmt::format("{} (number {} in the file) lacks its attributes", op.op_name, k));
            (named.push_back(view((attribute->*member)())), ...);
        };
        constexpr bool v1 = std::is_same_v<Operator, tosa10::TosaOperator>;
        if (op.op == Op::cond_if) {
            if constexpr (v1)
                take(from.attribute_as_CondIf(), &tosa10::CondIfAttribute::then_graph,
                     &tosa10::CondIfAttribute::else_graph);
            else
                take(from.attribute_as_CondIf(), &tosa080::CondIfAttribute::then_branch,
                     &tosa080::CondIfAttribute::else_branch);
        } else if (op.op == Op::while_loop) {
            if constexpr (v1)
                take(from.attribute_as_WhileLoop(), &tosa10::WhileLoopAttribute::cond_graph,
                     &tosa10::WhileLoopAttribute::body_graph);
            else
                take(from.attribute_as_WhileLoop(), &tosa080::WhileLoopAttribute::cond_branch,
                     &tosa080::WhileLoopAttribute::body_branch);
        }
        if (!named.empty()) regions.emplace_back(blocks[number].operators.size(), std::move(named));
        blocks[number].operators.push_back(std::move(op));
    }
    for (const auto& [op, named] : regions) {
        for (const std::string_view name : named) {
            const Block* inner = find(name);
            if (!inner) {
                const TosaFileOperator& at = blocks[number].operators[op];
                bad(fmt::format("{} (number {} in the file): there is no region '{}'", at.op_name, at.index,
                                printable(name)));
            }
            const std::size_t made = read_block<Operator>(*inner, find, number);
            blocks[number].operators[op].blocks.push_back(made);
        }
    }
    find_captures(number);
    schedule(number);
    names_->blocks[key] = number;
    open.pop_back();
    return number;
}

template <class Operator> void TosaFile::read_operator(const Operator& table, TosaFileOperator& op, std::size_t block) {
    const std::size_t k = op.index;
    op.code = table.op();
    const auto attribute = static_cast<unsigned>(table.attribute_type());
    identify_tosa_operator(generation, op);
    const auto where = [&](const char* what) {
        return [&op, what] { return fmt::format("{} of {} (number {} in the file)", what, op.op_name, op.index); };
    };
    if constexpr (std::is_same_v<Operator, tosa10::TosaOperator>) {
        op.v1_0 = &table;
        if (table.location()) op.location = printable(view(table.location()->text()));
        // Some producers hide reads and writes of variables in IDENTITY.
        const auto hidden = static_cast<Op>(attribute);
        if (op.op == Op::identity && (hidden == Op::variable_read || hidden == Op::variable_write)) {
            op.op = hidden;
            op.op_name = name_of(hidden);
        } else if (attribute != 0 && attribute != op.code && op.unsupported.empty()) {
            op.is_damaged = true;
            op.unsupported = fmt::format("{} (number {} in the file) has the attributes of another operator ({})",
                                         op.op_name, k, attribute);
        }
    }
    if constexpr (std::is_same_v<Operator, tosa080::TosaOperator>) op.v0_80 = &table;
    if constexpr (std::is_same_v<Operator, tosa030::TosaOperator>) {
        op.v0_30 = &table;
        has_quant_info = has_quant_info || table.quant_info_type() != tosa030::QuantInfo::NONE;
    } else if (op.op == Op::custom) {
        const auto* from = table.attribute_as_Custom();
        if (!from) bad(fmt::format("CUSTOM (number {} in the file) lacks its attributes", k));
        op.custom_name = printable(view(from->operator_name()));
        op.custom_domain = printable(view(from->domain_name()));
        for (const std::byte b : bytes_of(from->implementation_attrs())) op.custom_attrs += static_cast<char>(b);
    }
    op.inputs = names_->resolve(block, table.inputs(), where("inputs"));
    op.outputs = names_->resolve(block, table.outputs(), where("outputs"));
    if (is_state(op.op)) resolve_variable(op);
    const bool constant = op.op == Op::constant || op.op == Op::const_shape;
    if (constant && (op.outputs.size() != 1 || !op.inputs.empty())) {
        bad(fmt::format("{} (number {} in the file) needs no input and 1 output", op.op_name, k));
    }
    const bool may_lack_output =
        !op.unsupported.empty() || is_state(op.op) || op.op == Op::cond_if || op.op == Op::while_loop;
    if (op.outputs.empty() && !may_lack_output)
        bad(fmt::format("{} (number {} in the file) has no output", op.op_name, k));
    for (const std::size_t id : op.outputs) {
        TosaFileTensor& tensor = tensors[id];
        if (tensor.is_variable) {
            bad(fmt::format("{} (number {} in the file) writes variable {}, which only VARIABLE_WRITE may", op.op_name,
                            k, tensor.title()));
        }
        if (tensor.block != SIZE_MAX) {
            bad(fmt::format("{} (number {} in the file) writes {}, which has a value already", op.op_name, k,
                            tensor.title()));
        }
        tensor.block = block;
        tensor.producer = constant ? SIZE_MAX - 1 : blocks[block].operators.size();
        tensor.is_constant = constant;
    }
}

/// The variable may stand among the inputs or the outputs. What VARIABLE declares is one, flag or not.
void TosaFile::resolve_variable(TosaFileOperator& op) {
    for (auto* list : {&op.inputs, &op.outputs}) {
        for (auto it = list->begin(); it != list->end();) {
            TosaFileTensor& tensor = tensors[*it];
            if (op.op == Op::variable && !tensor.is_variable && tensor.block == SIZE_MAX) {
                tensor.is_variable = true;
                variables.push_back(*it);
            }
            if (!tensor.is_variable) {
                ++it;
                continue;
            }
            if (op.variable != SIZE_MAX && op.variable != *it) {
                bad(fmt::format("{} (number {} in the file) names two variables", op.op_name, op.index));
            }
            op.variable = *it;
            it = list->erase(it);
        }
    }
    if (op.variable == SIZE_MAX) bad(fmt::format("{} (number {} in the file) names no variable", op.op_name, op.index));
    const std::size_t ins = op.op == Op::variable_write, outs = op.op == Op::variable_read;
    if (op.inputs.size() != ins || op.outputs.size() != outs) {
        bad(fmt::format(
            "{} (number {} in the file) has {} inputs and {} outputs beside its variable, but needs {} and {}",
            op.op_name, op.index, op.inputs.size(), op.outputs.size(), ins, outs));
    }
}

TosaFile::TosaFile(std::span<const std::byte> given, TosaSpec spec) : bytes(given) {
    size = bytes.size();
    if (size > max_file_bytes) unsupported("files of 2 GiB and more are not supported");
    // The verifier checks alignment relative to the start; the start itself must be aligned for 64-bit fields.
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
        aligned_copy_.resize((bytes.size() + 7) / 8);
        std::memcpy(aligned_copy_.data(), bytes.data(), bytes.size());
        bytes = std::as_bytes(std::span(aligned_copy_)).first(bytes.size());
    }
    Names names;
    names_ = &names;
    const std::string damaged = "the file is damaged or truncated (flatbuffer verification failed)";
    const tosa030::Probe* root = probe(bytes);
    if (!root) bad(damaged);

    if (has_blocks(*root)) {
        if (spec != TosaSpec::recognise && spec != TosaSpec::v0_30) {
            throw Error(ErrorCode::usage,
                        "TOSA file: its structure is that of 0.50 or earlier, not of the version that was asked for");
        }
        generation = TosaGeneration::blocks_0_30;
        const auto* graph = verified<tosa030::TosaGraph>(bytes);
        if (!graph) bad(damaged);
        const auto find = [&](std::string_view name) -> const tosa030::TosaBasicBlock* {
            for (const auto* block : *graph->blocks()) {
                if (view(block->name()) == name) return block;
            }
            return nullptr;
        };
        read_block<tosa030::TosaOperator>(main_of(graph->blocks(), "block"), find, SIZE_MAX);
        names_ = nullptr;
        return;
    }
    if (spec == TosaSpec::v0_30) {
        throw Error(ErrorCode::usage, "TOSA file: its structure is that of 0.60 or later, not of 0.30");
    }
    const tosa080::Version* version = root->version();
    const int major = version ? version->_major() : -1, minor = version ? version->_minor() : -1;
    bool v1 = spec == TosaSpec::v1_0;
    if (major >= 0) {
        if (major > 1 || (major == 1 && minor > 1) || (major == 0 && (minor < 60 || minor >= 90))) {
            unsupported(fmt::format("version {}.{} is not supported", major, minor));
        }
        v1 = major == 1;
        has_local_bound = major == 0 && minor >= 80;
    } else if (spec == TosaSpec::recognise) {
        // Operators of 1.0 have attributes of their own number, older ones share theirs.
        const auto* graph = verified<tosa10::TosaGraph>(bytes);
        const auto* list = graph ? main_block(*graph).operators() : nullptr;
        v1 = size_of_vector(list) > 0 && std::all_of(list->begin(), list->end(), [](const auto* op) {
                 return static_cast<std::uint32_t>(op->attribute_type()) == op->op();
             });
    }
    if (v1) {
        const auto* graph = verified<tosa10::TosaGraph>(bytes);
        if (!graph) bad(damaged);
        generation = TosaGeneration::v1_0;
        const auto find = [&](std::string_view name) { return find_region(*graph, name); };
        read_block<tosa10::TosaOperator>(main_block(*graph), find, SIZE_MAX);
    } else {
        const auto* graph = verified<tosa080::TosaGraph>(bytes);
        if (!graph) bad(damaged);
        generation = TosaGeneration::regions_0_80;
        const auto find = [&](std::string_view name) { return find_region(*graph, name); };
        read_block<tosa080::TosaOperator>(main_block(*graph), find, SIZE_MAX);
    }
    names_ = nullptr;
}

}  // namespace tosavk
