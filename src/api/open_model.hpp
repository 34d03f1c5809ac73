// A file that stays open: for one set of sizes after another it becomes a graph or an executable.
#pragma once

#include "api/handles.hpp"
#include "frontends/frontend.hpp"
#include "tosavk/model.h"
#include "vk/record/shared_constants.hpp"

#include <list>

namespace tosavk::api {

/// An open dimension.
struct Symbol {
    std::string name;
    std::size_t input = 0, dimension = 0;
};

/// By symbol; 0: not known.
using Sizes = std::vector<std::int64_t>;

/// Thread-safe.
class OpenModel {
public:
    /// At most `limit` executables are kept. Throws Error.
    OpenModel(Bytes file, std::string origin, ImportOptions options, std::int32_t precision, std::size_t limit);

    const Bytes& file() const { return file_; }
    const Signature& signature() const { return signature_; }
    const std::vector<Symbol>& symbols() const { return symbols_; }
    /// Of input `input`; nothing where the file has the size.
    std::optional<std::size_t> symbol_of(std::size_t input, std::size_t dimension) const;
    /// "input 0 'tokens'".
    std::string title(std::size_t input) const;

    /// Throws Error(bad_input) for a size that cannot be.
    void bind(Sizes& sizes, std::size_t symbol, std::int64_t value) const;
    void bind_shape(Sizes& sizes, std::size_t input, const Shape& shape) const;
    /// Throws Error(bad_input) for a symbol without a size.
    void require_all(const Sizes& sizes) const;
    Shape shape_of(std::size_t input, const Sizes& sizes) const;

    /// The sizes are all known.
    std::shared_ptr<const Graph> graph(const Sizes& sizes);
    std::shared_ptr<Executable> executable(const std::shared_ptr<Device>& device,
                                           std::shared_ptr<const CustomSet> customs, const PlanOptions& options,
                                           const Sizes& sizes, Progress& progress);
    tosavk_model_counters counters() const;

private:
    struct Key {
        std::shared_ptr<Device> device;
        std::shared_ptr<const CustomSet> customs;
        PlanOptions options;
        Sizes sizes;
        bool operator==(const Key&) const = default;
    };
    /// Choices by size, for all sizes of one class.
    struct Chosen {
        std::weak_ptr<Device> device;
        std::shared_ptr<const CustomSet> customs;
        PlanOptions options;
        Sizes classes;
        std::shared_ptr<const SizeChoices> choices;  ///< null: the model takes no size that is typical of the class
    };
    using Kept = std::list<std::pair<Key, std::shared_ptr<Executable>>>;

    [[noreturn]] void refuse(const Symbol& symbol, std::int64_t given, const std::string& why) const;
    std::string sizes_text(const Sizes& sizes) const;
    std::shared_ptr<Executable> find(const Key& key);
    /// What plans for these sizes have in common, so that another size of the class needs no shader.
    std::shared_ptr<const SizeChoices> choices_for(const Key& key);
    std::shared_ptr<SharedConstants> constants_of(const std::shared_ptr<Device>& device);

    const Bytes file_;
    const std::string origin_;
    const ImportOptions options_;
    const std::int32_t precision_;
    const std::size_t limit_;
    Signature signature_;
    std::vector<Symbol> symbols_;
    const std::shared_ptr<ConstantBytes> bytes_ = std::make_shared<ConstantBytes>();

    mutable std::mutex mutex_;
    Kept kept_;  ///< the one used last first
    std::vector<Chosen> chosen_;
    std::vector<std::pair<std::weak_ptr<Device>, std::shared_ptr<SharedConstants>>> constants_;
    tosavk_model_counters counters_{};
};

/// What a context of an open model has beside one of an executable: the inputs, for whatever shapes come next.
class OpenContext {
public:
    OpenContext(std::shared_ptr<OpenModel> model, std::shared_ptr<Device> device,
                std::shared_ptr<const CustomSet> customs, const PlanOptions& options, bool profile,
                Progress::Listener listener)
        : model_(std::move(model)),
          device_(std::move(device)),
          customs_(std::move(customs)),
          options_(options),
          profile_(profile),
          listener_(std::move(listener)),
          inputs_(model_->signature().inputs.size()),
          outputs_(model_->signature().output_count),
          sizes_(model_->symbols().size(), 0) {}

    std::size_t input_count() const { return inputs_.size(); }
    std::size_t output_count() const { return outputs_.size(); }
    /// Name, type and shape, as they are now. Throws Error(usage) while the shape is not known.
    Value input(std::size_t index) const;
    /// False where the input had another shape, and must be set again.
    bool set_shape(std::size_t index, const Shape& shape);
    void set_input(std::size_t index, Bytes bytes);
    void bind_input(std::size_t index, BoundBuffer bound);
    void bind_output(std::size_t index, BoundBuffer bound);

    /// The executable and the context for the sizes as they are, with all that was set and bound. Throws
    /// Error(cancelled) where the listener says so; may then be repeated.
    void prepare(tosavk_context& context);

private:
    struct Tensor {
        Bytes bytes;
        BoundBuffer bound;
        bool is_set = false;
        bool is_new = false;  ///< since the last prepare()
    };
    void require_known(std::size_t index) const;

    const std::shared_ptr<OpenModel> model_;
    const std::shared_ptr<Device> device_;
    const std::shared_ptr<const CustomSet> customs_;
    const PlanOptions options_;
    const bool profile_;
    const Progress::Listener listener_;  ///< of what specializes
    std::vector<Tensor> inputs_, outputs_;
    Sizes sizes_, prepared_;
};

}  // namespace tosavk::api

struct tosavk_model {
    std::shared_ptr<tosavk::api::OpenModel> model;
};
