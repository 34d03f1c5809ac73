#include "api/open_model.hpp"

#include "api/graph_options.hpp"
#include "api/package.hpp"
#include "ops/custom.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::api {

OpenModel::OpenModel(Bytes file, std::string origin, ImportOptions options, std::int32_t precision, std::size_t limit)
    : file_(std::move(file)),
      origin_(std::move(origin)),
      options_(std::move(options)),
      precision_(precision),
      limit_(limit) {
    if (is_package(file_)) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{}: a package holds a plan for its sizes; open the model that it was made of", origin_));
    }
    signature_ = model_signature(file_, origin_, options_);
    for (std::size_t k = 0; k < signature_.inputs.size(); ++k) {
        const InputSignature& input = signature_.inputs[k];
        for (std::size_t d = 0; d < input.shape.size(); ++d)
            if (input.open[d]) symbols_.push_back({fmt::format("{}[{}]", input.name, d), k, d});
    }
    for (const auto& [index, shape] : options_.input_shapes) {
        if (index >= signature_.inputs.size()) {
            throw Error(ErrorCode::bad_input,
                        fmt::format("a shape was given for input {}, but the number of inputs is {}", index,
                                    signature_.inputs.size()));
        }
    }
}

std::optional<std::size_t> OpenModel::symbol_of(std::size_t input, std::size_t dimension) const {
    const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const Symbol& symbol) {
        return symbol.input == input && symbol.dimension == dimension;
    });
    if (found == symbols_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - symbols_.begin());
}

std::string OpenModel::title(std::size_t input) const {
    return fmt::format("input {} '{}'", input, signature_.inputs.at(input).name);
}

void OpenModel::refuse(const Symbol& symbol, std::int64_t given, const std::string& why) const {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: dimension {} was given {}, {}", title(symbol.input), symbol.dimension, given, why), {},
                signature_.inputs[symbol.input].name);
}

void OpenModel::bind(Sizes& sizes, std::size_t symbol, std::int64_t value) const {
    const Symbol& one = symbols_.at(symbol);
    if (value < 1 || value > max_elements)
        refuse(one, value, fmt::format("and takes 1 to {}", std::int64_t{max_elements}));
    if (sizes[symbol] != 0 && sizes[symbol] != value) refuse(one, value, fmt::format("and {} before", sizes[symbol]));
    sizes[symbol] = value;
}

void OpenModel::bind_shape(Sizes& sizes, std::size_t input, const Shape& shape) const {
    if (input >= signature_.inputs.size()) {
        throw Error(ErrorCode::usage,
                    fmt::format("there is no input {}; the model has {}", input, signature_.inputs.size()));
    }
    const InputSignature& wanted = signature_.inputs[input];
    if (shape.size() != wanted.shape.size()) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: shape {} was given, of rank {}, and the model has rank {}", title(input),
                                to_string(shape), shape.size(), wanted.shape.size()),
                    {}, wanted.name);
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (const auto symbol = symbol_of(input, d)) bind(sizes, *symbol, shape[d]);
        else if (shape[d] != wanted.shape[d])
            refuse({{}, input, d}, shape[d], fmt::format("and is {} in the model", wanted.shape[d]));
    }
}

void OpenModel::require_all(const Sizes& sizes) const {
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        if (sizes[s] != 0) continue;
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: dimension {} (symbol {}, '{}') was given no size", title(symbols_[s].input),
                                symbols_[s].dimension, s, symbols_[s].name),
                    {}, signature_.inputs[symbols_[s].input].name);
    }
}

Shape OpenModel::shape_of(std::size_t input, const Sizes& sizes) const {
    Shape shape = signature_.inputs.at(input).shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (const auto symbol = symbol_of(input, d)) shape[d] = sizes[*symbol];
    return shape;
}

std::string OpenModel::sizes_text(const Sizes& sizes) const {
    std::string text;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        if (s > 0 && symbols_[s].input == symbols_[s - 1].input) continue;
        text += fmt::format("{}{} as {}", text.empty() ? "with " : ", ", title(symbols_[s].input),
                            to_string(shape_of(symbols_[s].input, sizes)));
    }
    return text;
}

std::shared_ptr<const Graph> OpenModel::graph(const Sizes& sizes) {
    ImportOptions options = options_;
    for (const Symbol& symbol : symbols_) options.input_shapes[symbol.input] = shape_of(symbol.input, sizes);
    try {
        LoadedModel model{import_model(file_, origin_, options), nullptr};
        apply_options(model, options, precision_);
        bytes_->share(model.graph);
        return std::make_shared<const Graph>(std::move(model.graph));
    } catch (const Error& e) {
        if (symbols_.empty()) throw;
        throw Error(e.code(), fmt::format("{}: {}", sizes_text(sizes), e.what()), e.node(), e.operand());
    }
}

std::shared_ptr<Executable> OpenModel::find(const Key& key) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == key; });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    ++counters_.reused;
    return kept_.front().second;
}

std::shared_ptr<const SizeChoices> OpenModel::choices_for(const Key& key) {
    if (!key.options.late_sizes) return nullptr;
    // Sizes of one class differ by what kernels do not mind: all but 1 have another one with the same remainders.
    Sizes classes(key.sizes.size());
    for (std::size_t s = 0; s < classes.size(); ++s) classes[s] = key.sizes[s] == 1 ? 1 : 64 + key.sizes[s] % 64;
    {
        const std::lock_guard lock(mutex_);
        const auto known = std::find_if(chosen_.begin(), chosen_.end(), [&](const Chosen& one) {
            return one.device.lock() == key.device && one.customs == key.customs && one.options == key.options &&
                   one.classes == classes;
        });
        if (known != chosen_.end()) return known->choices;
    }
    std::shared_ptr<SizeChoices> made;
    // The largest that the model takes: what it does at 1 alone is a class of its own.
    for (const std::int64_t more : {192, 64, 0}) {
        Sizes typical = classes;
        for (std::int64_t& size : typical) size += size == 1 ? 0 : more;
        try {
            std::shared_ptr<const Graph> whole = graph(typical);
            if (key.customs) whole = with_customs(whole, *key.customs);
            auto choices = std::make_shared<SizeChoices>();
            make_plan(*whole, key.device->plan(), key.options, key.device->tuning().get(), choices.get());
            made = std::move(choices);
            break;
        } catch (const Error& e) {
            const ErrorCode code = e.code();
            if (code == ErrorCode::out_of_memory || code == ErrorCode::cancelled || code == ErrorCode::device_lost)
                throw;
        }
    }
    const std::lock_guard lock(mutex_);
    if (chosen_.size() >= 256) chosen_.clear();  // they would be made alike again
    chosen_.push_back({key.device, key.customs, key.options, std::move(classes), made});
    return made;
}

std::shared_ptr<SharedConstants> OpenModel::constants_of(const std::shared_ptr<Device>& device) {
    std::erase_if(constants_, [](const auto& entry) { return entry.first.expired(); });
    for (const auto& [known, constants] : constants_)
        if (known.lock() == device) return constants;
    return constants_.emplace_back(device, std::make_shared<SharedConstants>(bytes_)).second;
}

std::shared_ptr<Executable> OpenModel::executable(const std::shared_ptr<Device>& device,
                                                  std::shared_ptr<const CustomSet> customs, const PlanOptions& options,
                                                  const Sizes& sizes, Progress& progress) {
    Key key{device, std::move(customs), options, sizes};
    key.options.late_sizes = !symbols_.empty();
    key.options = with_environment(key.options);
    std::shared_ptr<SharedConstants> constants;
    {
        const std::lock_guard lock(mutex_);
        if (auto known = find(key)) return known;
        constants = constants_of(device);
    }
    std::shared_ptr<const Graph> whole = graph(sizes);
    if (key.customs) whole = with_customs(whole, *key.customs);
    SizeChoices choices(choices_for(key));
    auto made = Executable::create(device, whole,
                                   make_plan(*whole, device->plan(), key.options, device->tuning().get(), &choices),
                                   progress, constants.get());
    Kept gone;  // goes outside of the lock
    const std::lock_guard lock(mutex_);
    const ExecutableCounters counters = made->counters();
    ++counters_.specialized;
    counters_.shaders_compiled += counters.shaders_compiled;
    counters_.pipelines_created += counters.pipelines_created;
    counters_.weight_bytes_copied += counters.weight_bytes_copied;
    if (auto other = find(key)) return other;  // another thread was first
    kept_.emplace_front(key, made);
    while (kept_.size() > limit_) gone.splice(gone.begin(), kept_, std::prev(kept_.end()));
    counters_.kept = kept_.size();
    return made;
}

tosavk_model_counters OpenModel::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

// ---- contexts -----------------------------------------------------------------------------------------------------

void OpenContext::require_known(std::size_t index) const {
    if (index >= inputs_.size())
        throw Error(ErrorCode::usage, fmt::format("there is no input {}; the model has {}", index, inputs_.size()));
    const Shape shape = model_->shape_of(index, sizes_);
    const auto unknown = std::find(shape.begin(), shape.end(), 0);
    if (unknown == shape.end()) return;
    throw Error(ErrorCode::usage,
                fmt::format("{}: dimension {} is not known yet; tosavk_context_set_input_shape tells it",
                            model_->title(index), unknown - shape.begin()),
                {}, model_->signature().inputs[index].name);
}

Value OpenContext::input(std::size_t index) const {
    require_known(index);
    const InputSignature& signature = model_->signature().inputs[index];
    Value value;
    value.name = signature.name;
    value.type = signature.type;
    value.shape = model_->shape_of(index, sizes_);
    value.declared = signature.declared;
    return value;
}

bool OpenContext::set_shape(std::size_t index, const Shape& shape) {
    Sizes sizes(sizes_.size(), 0);
    model_->bind_shape(sizes, index, shape);
    bool same = true;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        if (sizes[s] == 0) continue;
        same = same && sizes[s] == sizes_[s];
        sizes_[s] = sizes[s];
    }
    if (!same) inputs_[index] = {};
    return same;
}

void OpenContext::set_input(std::size_t index, Bytes bytes) { inputs_[index] = {std::move(bytes), {}, true, true}; }

void OpenContext::bind_input(std::size_t index, BoundBuffer bound) {
    require_known(index);
    const bool is_set = static_cast<bool>(bound);
    inputs_[index] = {{}, std::move(bound), is_set, true};
}

void OpenContext::bind_output(std::size_t index, BoundBuffer bound) {
    if (index >= outputs_.size())
        throw Error(ErrorCode::usage, fmt::format("there is no output {}; the model has {}", index, outputs_.size()));
    outputs_[index] = {{}, std::move(bound), true, true};
}

namespace {

void keep_variables(Context& from, const Graph& before, Context& to, const Graph& after) {
    for (std::size_t v = 0; v < after.variables.size(); ++v) {
        const Variable& variable = after.variables[v];
        for (std::size_t u = 0; u < before.variables.size(); ++u) {
            const Variable& old = before.variables[u];
            if (old.name != variable.name || old.type != variable.type || old.shape != variable.shape) continue;
            Bytes bytes(static_cast<std::size_t>(element_count(old.shape)) * size_of(old.type));
            from.get_variable(u, bytes);
            to.set_variable(v, bytes);
        }
    }
}

}  // namespace

void OpenContext::prepare(tosavk_context& context) {
    for (std::size_t k = 0; k < inputs_.size(); ++k) require_known(k);
    if (!context.context || prepared_ != sizes_) {
        Progress progress(listener_);
        const ProgressScope scope(progress);
        auto executable = model_->executable(device_, customs_, options_, sizes_, progress);
        auto fresh = std::make_unique<Context>(executable, profile_);
        if (context.context) keep_variables(*context.context, context.executable->graph(), *fresh, executable->graph());
        context.context = std::move(fresh);
        context.executable = std::move(executable);
        context.input_set.assign(inputs_.size(), false);
        prepared_ = sizes_;
        for (Tensor& tensor : inputs_) tensor.is_new = true;
        for (Tensor& tensor : outputs_) tensor.is_new = true;
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
        Tensor& input = inputs_[k];
        if (!input.is_new) continue;
        if (input.bound || !input.is_set) context.context->bind_input(k, input.bound);
        else context.context->set_input(k, input.bytes);
        context.input_set[k] = input.is_set;
        input.is_new = false;
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
        Tensor& output = outputs_[k];
        if (output.is_new && output.is_set) context.context->bind_output(k, output.bound);
        output.is_new = false;
    }
}

}  // namespace tosavk::api
