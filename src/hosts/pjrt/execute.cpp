// Runs. The results' memory is there at once; a run takes its place in the device's queue on the caller's thread, what
// follows its end is done by the client's.
#include "hosts/pjrt/executable.hpp"

#include <algorithm>
#include <unordered_map>

namespace tosavk::pjrt {

namespace {

/// What a run needs until it is over. The memory that it uses is kept by what its context has bound; who gets it from
/// the pool meanwhile comes after this run.
struct Run {
    std::shared_ptr<Compiled> compiled;
    std::unique_ptr<cpp::Context> context;
    std::uint32_t inputs = 0, outputs = 0;
    std::uint64_t submits = 0;                    ///< of the context, before
    std::vector<std::shared_ptr<Event>> awaited;  ///< of inputs that were not ready
    std::shared_ptr<Event> done;
    std::mutex submitting;  ///< a run may be over before its submit returns

    ~Run() { drop_context(); }
    /// After a failure.
    void drop_context() {
        if (!context) return;
        context.reset();
        compiled->give_context(nullptr);
    }
};

void unbind(const Run& run) {
    for (std::uint32_t k = 0; k < run.inputs; ++k) run.context->unbind_input(k);
    for (std::uint32_t k = 0; k < run.outputs; ++k) run.context->unbind_output(k);
}

/// What went wrong with the inputs: a run on what another one failed to make has failed too. That one was submitted,
/// and so is over, before.
std::optional<Error> error_of_inputs(const Run& run) {
    for (const auto& input : run.awaited)
        if (auto error = input->error()) return error;
    return {};
}

/// On the client's thread.
void finish(Run& run) noexcept {
    std::optional<Error> error;
    { const std::lock_guard submitted(run.submitting); }
    try {
        run.context->wait();
        counters.submits += run.context->counters().submits - run.submits;
        unbind(run);
        run.compiled->give_context(std::move(run.context));
        if (!run.done->is_done()) error = error_of_inputs(run);
    } catch (...) {
        error = current_error();
        run.drop_context();
    }
    if (!run.done->is_done()) run.done->set(std::move(error));
    run.compiled->client->end_run();
}

/// On the library's thread, which has no time: who waits for a run that went well goes on at once, the rest is for the
/// client's thread.
void over(void* user, tosavk_status status) noexcept {
    const std::unique_ptr<std::shared_ptr<Run>> held(static_cast<std::shared_ptr<Run>*>(user));
    const std::shared_ptr<Run>& run = *held;
    if (status == TOSAVK_OK) run->done->set(error_of_inputs(*run));
    run->compiled->client->completions->post([run] { finish(*run); });
}

void check(const ProgramValue& wanted, const Buffer& given, std::size_t k, const Compiled& compiled) {
    if (&given.device != &compiled.device) {
        throw Failure(Code::invalid_argument, "argument " + std::to_string(k) + " of '" + compiled.name +
                                                  "' is on device " + std::to_string(given.device.id) +
                                                  ", but the program on " + std::to_string(compiled.device.id));
    }
    if (wanted.type && (wanted.type != &given.type || wanted.dims != given.dims)) {
        throw Failure(Code::invalid_argument, "argument " + std::to_string(k) + " of '" + compiled.name +
                                                  "' has another type or shape than the program wants");
    }
}

}  // namespace

std::vector<std::unique_ptr<Buffer>> execute(const std::shared_ptr<Compiled>& compiled,
                                             std::span<Buffer* const> arguments,
                                             std::span<const std::int64_t> not_donated, std::shared_ptr<Event>& done) {
    if (arguments.size() != compiled->arguments.size()) {
        throw Failure(Code::invalid_argument, "'" + compiled->name + "' has " +
                                                  std::to_string(compiled->arguments.size()) + " arguments, but " +
                                                  std::to_string(arguments.size()) + " are given");
    }
    Device& device = compiled->device;
    const auto& client = compiled->client;
    auto run = std::make_shared<Run>();
    run->compiled = compiled;
    std::vector<Parts> given;
    std::vector<bool> donated(arguments.size(), false);
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const ProgramValue& wanted = compiled->arguments[k];
        check(wanted, *arguments[k], k, *compiled);
        given.push_back(arguments[k]->alive());
        donated[k] = wanted.is_donated && std::find(not_donated.begin(), not_donated.end(), k) == not_donated.end();
        if (arguments[k]->ready->is_done()) {
            if (const auto error = arguments[k]->ready->error()) throw Failure(error->code, error->sentence);
        } else {
            run->awaited.push_back(arguments[k]->ready);
        }
    }
    std::unordered_map<const Buffer*, std::size_t> times;
    for (const Buffer* argument : arguments) ++times[argument];
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        if (donated[k] && times[arguments[k]] > 1)
            throw Failure(Code::invalid_argument,
                          "argument " + std::to_string(k) + " of '" + compiled->name + "' is donated, but given twice");
    }

    // A donated argument's memory becomes its result's where nobody else, such as a copy to the host, still has it.
    std::vector<Parts> made(compiled->results.size());
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const auto alias = compiled->arguments[k].alias;
        if (!donated[k] || !alias || !made[*alias].empty()) continue;
        const ProgramValue& result = compiled->results[*alias];
        if (result.type != compiled->arguments[k].type || result.elements != compiled->arguments[k].elements) continue;
        if (!give_up_address(given[k])) continue;
        made[*alias] = given[k];
        ++counters.donations;
    }
    for (std::size_t k = 0; k < made.size(); ++k) {
        const ProgramValue& result = compiled->results[k];
        if (made[k].empty() && result.type) made[k] = make_parts(device, *result.type, result.elements);
    }

    done = compiled->has_graph() ? client->pending() : client->done();
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (std::size_t k = 0; k < made.size(); ++k) {
        const ProgramValue& result = compiled->results[k];
        const ElementType& type = result.type ? *result.type : type_named("i1");
        buffers.push_back(std::make_unique<Buffer>(device, type, result.dims, made[k], done));
    }
    if (compiled->has_graph()) {
        run->done = done;
        run->context = compiled->take_context();
        run->submits = run->context->counters().submits;
        const auto& arguments_of = compiled->arguments;
        for (std::size_t k = 0; k < given.size(); ++k) {
            for (std::uint32_t part = 0; part < arguments_of[k].count; ++part) {
                const Storage& storage = *given[k][part];
                const std::uint32_t index = arguments_of[k].first + part;
                run->context->bind_input(index, *storage.buffer, compiled->input_flags(index, storage.size_bytes));
                ++run->inputs;
            }
        }
        for (std::size_t k = 0; k < made.size(); ++k) {
            for (std::uint32_t part = 0; part < compiled->results[k].count; ++part) {
                const Storage& storage = *made[k][part];
                const std::uint32_t index = compiled->results[k].first + part;
                run->context->bind_output(index, *storage.buffer, compiled->output_flags(index, storage.size_bytes));
                ++run->outputs;
            }
        }
        auto held = std::make_unique<std::shared_ptr<Run>>(run);
        tosavk_submit_options options{};
        options.done = over;
        options.user = held.get();
        client->begin_run();
        try {
            const std::lock_guard lock(run->submitting);
            run->context->submit(options);
            held.release();
        } catch (...) {
            client->end_run();
            throw;
        }
        counters.dispatches += compiled->dispatches();
    }
    ++counters.executions;
    for (std::size_t k = 0; k < arguments.size(); ++k)
        if (donated[k]) arguments[k]->remove();
    return buffers;
}

}  // namespace tosavk::pjrt
