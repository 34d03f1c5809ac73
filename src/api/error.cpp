// The exception wall: every exception of the library ends here as a tosavk_status and a tosavk_error.
#include "api/handles.hpp"

#include <fmt/format.h>

#include <new>

namespace {

using tosavk::ErrorCode;

constexpr bool same(ErrorCode code, tosavk_status status) { return static_cast<int>(code) == static_cast<int>(status); }
static_assert(same(ErrorCode::usage, TOSAVK_ERROR_USAGE) && same(ErrorCode::bad_model, TOSAVK_ERROR_BAD_MODEL) &&
              same(ErrorCode::unsupported, TOSAVK_ERROR_UNSUPPORTED) &&
              same(ErrorCode::bad_input, TOSAVK_ERROR_BAD_INPUT) && same(ErrorCode::io, TOSAVK_ERROR_IO) &&
              same(ErrorCode::no_device, TOSAVK_ERROR_NO_DEVICE) && same(ErrorCode::device, TOSAVK_ERROR_DEVICE) &&
              same(ErrorCode::device_lost, TOSAVK_ERROR_DEVICE_LOST) &&
              same(ErrorCode::out_of_memory, TOSAVK_ERROR_OUT_OF_MEMORY) &&
              same(ErrorCode::internal, TOSAVK_ERROR_INTERNAL) && same(ErrorCode::cancelled, TOSAVK_ERROR_CANCELLED));

/// Handed out when there is no memory for an error object; released by nobody.
tosavk_error no_memory_for_error{TOSAVK_ERROR_OUT_OF_MEMORY, "out of memory", {}, {}};

tosavk_status store(tosavk_error** error, tosavk_status status, const char* message, const std::string& node = {},
                    const std::string& operand = {}) noexcept {
    if (!error) return status;
    try {
        *error = new tosavk_error{status, message, node, operand};
    } catch (...) {
        *error = &no_memory_for_error;
    }
    return status;
}

}  // namespace

namespace tosavk::api {

tosavk_status report_current_exception(tosavk_error** error) noexcept {
    try {
        throw;
    } catch (const Error& e) {
        return store(error, static_cast<tosavk_status>(e.code()), e.what(), e.node(), e.operand());
    } catch (const std::bad_alloc&) {
        return store(error, TOSAVK_ERROR_OUT_OF_MEMORY, "out of host memory");
    } catch (const std::exception& e) {
        return store(error, TOSAVK_ERROR_INTERNAL, e.what());
    } catch (...) {
        return store(error, TOSAVK_ERROR_INTERNAL, "an unknown exception was thrown inside tosa-vk");
    }
}

void Call::require(const void* argument, const char* name) const {
    if (!argument) throw Error(ErrorCode::usage, fmt::format("{}: {} is NULL", function, name));
}

void check_count(std::size_t count, const char* list) {
    constexpr std::size_t most = 1 << 20;
    if (count > most)
        throw Error(ErrorCode::usage, fmt::format("{} has a count of {}, more than {}", list, count, most));
}

void check_struct_size(std::size_t size, const char* name) {
    constexpr std::size_t largest = 4096;  // far beyond any struct of this ABI: the field was not initialised
    if (size < sizeof(std::size_t) || size > largest) {
        throw Error(ErrorCode::usage, fmt::format("{}.struct_size is {}; set it to sizeof({})", name, size, name));
    }
}

void require_zero(std::int32_t reserved, const char* name) {
    if (reserved != 0) throw Error(ErrorCode::usage, fmt::format("{} is {}, but must be 0", name, reserved));
}

bool is_set(std::int32_t flag, const char* name) {
    if (flag != 0 && flag != 1) throw Error(ErrorCode::usage, fmt::format("{} is {}, but must be 0 or 1", name, flag));
    return flag == 1;
}

}  // namespace tosavk::api

tosavk_status tosavk_error_status(const tosavk_error* error) { return error ? error->status : TOSAVK_OK; }
const char* tosavk_error_message(const tosavk_error* error) { return error ? error->message.c_str() : ""; }
const char* tosavk_error_node(const tosavk_error* error) { return error ? error->node.c_str() : ""; }
const char* tosavk_error_operand(const tosavk_error* error) { return error ? error->operand.c_str() : ""; }

tosavk_error* tosavk_error_create(int32_t status, const char* message, const char* node, const char* operand) {
    const auto text = [](const char* given) { return given ? given : ""; };
    const bool known = status > TOSAVK_OK && status <= TOSAVK_ERROR_CANCELLED;
    tosavk_error* made = nullptr;
    try {
        store(&made, known ? static_cast<tosavk_status>(status) : TOSAVK_ERROR_USAGE, text(message), text(node),
              text(operand));
    } catch (...) {
        made = &no_memory_for_error;  // for the texts
    }
    return made;
}

void tosavk_error_release(tosavk_error* error) {
    if (error != &no_memory_for_error) delete error;
}
