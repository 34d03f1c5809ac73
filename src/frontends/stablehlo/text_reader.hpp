// Functions and operations of StableHLO text. An operation is read in its own form or in the generic one; both come to
// one Operation with what the text says, which complete() makes whole.
#pragma once

#include "frontends/stablehlo/operations.hpp"
#include "frontends/stablehlo/text_values.hpp"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tosavk::stablehlo {

class TextReader {
public:
    explicit TextReader(std::string_view text) : in_(text), values_(in_, program_) {}
    Program run();

private:
    /// Values by a name: "%0" of "%0:2 = ..." is both, "%0#1" the second.
    using Names = std::unordered_map<std::string_view, std::vector<ValueId>>;
    /// What was in force before a region named something, to be so again behind it.
    using Undo = std::vector<std::pair<std::string_view, std::optional<std::vector<ValueId>>>>;

    struct Group {
        std::string_view name;
        std::size_t count = 1;
    };
    /// An operation while it is read.
    struct Draft {
        std::size_t at = 0;
        Operation operation;
        std::vector<TypePointer> operand_types;  ///< as written behind the operation; empty: not said
        std::vector<TypePointer> result_types;
        std::vector<Group> groups;  ///< names for the results
    };

    // Modules and functions (text.cpp).
    void read_module();
    void read_module_body();
    Dictionary read_properties();
    void read_generic_module();
    void read_function();
    void read_generic_function(std::size_t at);
    void read_results(Function& function);
    void check_function(const Function& function, std::size_t at);
    std::vector<Dictionary> per_value(const Dictionary& attributes, std::string_view name, std::size_t count);
    Function& begin_function();
    void end_function();

    // Values and regions (text.cpp).
    std::string_view value_name();
    ValueId operand();
    std::vector<ValueId> operands(std::string_view close);
    ValueId new_value(TypePointer type);
    void define(std::string_view name, std::vector<ValueId> ids);
    void undo_to(std::size_t mark);
    void read_argument(Region& region);
    void read_region(Region& region);
    void read_operations(Region& region);

    // Operations (text_operations.cpp).
    void read_operation(Region& region);
    void read_results_of(Draft& draft);
    void read_generic(Draft& draft);
    void read_own_form(Draft& draft, std::string_view name);
    std::vector<ValueId> read_pass_on(std::string_view name);  ///< its operands
    std::vector<ValueId> read_generic_pass_on();
    /// Its results are its operands.
    void pass_on(const Draft& draft, std::string_view name, const std::vector<ValueId>& ids);
    void finish(Draft& draft, Region& region);

    // Forms of their own (text_forms.cpp).
    void read_items(Draft& draft, std::string_view close);
    void read_item(Draft& draft, const std::string& key);
    void read_types(Draft& draft);
    void take_list_of_types(Draft& draft, std::vector<TypePointer> types);
    void read_reduce(Draft& draft);
    void read_while(Draft& draft);
    void read_convolution(Draft& draft);
    void read_slice(Draft& draft);
    void read_constant(Draft& draft);
    void set(Draft& draft, std::string name, AttributePointer value) {
        draft.operation.extra.emplace_back(std::move(name), std::move(value));
    }
    void add_attributes(Draft& draft);

    Scanner in_;
    Program program_;
    TextValues values_;
    Function* function_ = nullptr;
    Names names_;
    Undo undo_;
    std::size_t depth_ = 0;    ///< of regions
    std::uint64_t spent_ = 0;  ///< of most_cost()
};

}  // namespace tosavk::stablehlo
