// The dialect of shaders/lib as generated code uses it: names of types, the beginning of a shader, declarations of
// tensors.
#pragma once

#include "graph/graph.hpp"
#include "kernels/common/shader_text.hpp"
#include "kernels/common/tensors.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tosavk {

/// Four elements of a type in registers; what makes them of four or of one value that load1 gave.
const char* vector_type(DType type);
const char* quad_function(DType type);
/// What kernels make four results in: floats of 32 bits, whatever they become.
inline const char* sum_type(DType t) { return is_float(t) ? "vec4" : vector_type(t); }
const char* splat_function(DType type);
/// Element k of four, as store1 takes it.
std::string element(DType type, const std::string& quad, int k);

/// Narrow floats live in fp32 registers; each result is rounded to the type that its operator declares.
std::string rounded(DType type, const std::string& expression);

using Defines = std::vector<std::pair<std::string, std::string>>;

/// What the stores of a shader are, all of them: single elements and runs, whole quads, or two quads at once.
enum class StoreForm : std::uint8_t { elements, quads, eights };

/// What loads of a tensor are: quads, single elements and runs, and beside them two quads or four words at once.
enum class LoadForm : std::uint8_t { quads, eights, sixteens };

/// A library of shaders/lib as shaders of the device have it.
std::string_view library_text(const std::string& file, const DevicePlan& device);

/// The beginning of every shader: extensions, defines and the dialect.
std::string preamble(const DevicePlan& device, StoreForm stores, const Defines& defines, bool small_floats, bool fp16);

/// Declares tensors in the order of their bindings; one that is larger than a binding takes several.
class Declarations {
public:
    Declarations(const DevicePlan& device, bool quad_stores) : device_(device), quad_stores_(quad_stores) {}

    /// in<index>, with in<index>_load8 or in<index>_words16 where the form asks for it and has_load8() or has_words16()
    /// allows it; sets operand.path.
    void read(KernelOperand& operand, std::size_t index, std::uint64_t bytes, LoadForm form);
    void write(DType type, std::size_t index, std::uint64_t bytes);  ///< out<index>

    std::string text;
    std::size_t bindings = 0;

private:
    void pick(const char* type, const std::string& name, const char* function, const char* more, const char* array,
              std::uint64_t bytes, std::uint32_t parts, const char* statement);

    const DevicePlan& device_;
    const bool quad_stores_;
};

}  // namespace tosavk
