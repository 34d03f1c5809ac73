// Where constants lie, signatures, and what a file says of itself.
#include "base/files.hpp"
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;
namespace fs = std::filesystem;

/// What stands in the file for the constant of y = x + constant, fp32 [2].
struct Place {
    std::uint64_t offset = 0, size = 0;  ///< behind the flatbuffer
    const char* external = nullptr;      ///< the name of a file; offset and size are in it
    const char* packing = nullptr;
    std::uint32_t group = 0;
    bool subgraph_of_signature = true;
};

/// Two subgraphs: the main one negates x, the second adds; signature "add" names the second, with other names.
Bytes model_with(const Place& place) {
    flatbuffers::FlatBufferBuilder fbb;
    const auto ints_of = [&](const std::vector<std::int32_t>& v) { return fbb.CreateVector(v); };
    const auto shape = [&] { return ints_of({2}); };
    const auto tensor = [&](const char* name, std::uint32_t buffer, std::uint32_t external) {
        const auto text = fbb.CreateString(name);
        const auto dims = shape();
        TensorBuilder t(fbb);
        t.add_shape(dims), t.add_type(TensorType::FLOAT32), t.add_buffer(buffer), t.add_name(text);
        t.add_external_buffer(external);
        return t.Finish();
    };
    const auto codes = fbb.CreateVector(std::vector{CreateOperatorCode(fbb, 59, 0, 1, BuiltinOperator::NEG),
                                                    CreateOperatorCode(fbb, 0, 0, 1, BuiltinOperator::ADD)});
    const auto graph = [&](bool adds) {
        std::vector tensors{tensor(adds ? "second_x" : "x", 0, 0), tensor(adds ? "second_y" : "y", 0, 0)};
        if (adds) tensors.push_back(tensor("c", place.external ? 0 : 1, place.external ? 7 : 0));
        const auto inputs = ints_of(adds ? std::vector<std::int32_t>{0, 2} : std::vector<std::int32_t>{0});
        const auto outputs = ints_of({1});
        const auto operators = fbb.CreateVector(std::vector{CreateOperator(fbb, adds ? 1 : 0, inputs, outputs)});
        const auto list = fbb.CreateVector(tensors);
        return CreateSubGraph(fbb, list, ints_of({0}), ints_of({1}), operators, fbb.CreateString(adds ? "two" : "one"));
    };
    const auto graphs = fbb.CreateVector(std::vector{graph(false), graph(true)});
    const auto version = fbb.CreateVector(std::vector<std::uint8_t>{'1', '.', '5', 0});
    const auto buffers = fbb.CreateVector(
        std::vector{CreateBuffer(fbb), CreateBuffer(fbb, 0, place.external ? 0 : place.offset, place.size),
                    CreateBuffer(fbb, version)});
    const auto metadata =
        fbb.CreateVector(std::vector{CreateMetadata(fbb, fbb.CreateString("min_runtime_version"), 2)});
    const auto maps = [&](const char* name, std::uint32_t index) {
        return fbb.CreateVector(std::vector{CreateTensorMap(fbb, fbb.CreateString(name), index)});
    };
    const auto in = maps("left", 0), out = maps("sum", 1);
    const auto signatures = fbb.CreateVector(
        std::vector{CreateSignatureDef(fbb, in, out, fbb.CreateString("add"), 0, place.subgraph_of_signature ? 1 : 9)});
    const auto groups = fbb.CreateVector(
        std::vector{CreateExternalBufferGroup(fbb, fbb.CreateString(place.external ? place.external : ""))});
    const auto externals = fbb.CreateVector(std::vector{CreateExternalBuffer(
        fbb, 7, place.group, place.offset, place.size, place.packing ? fbb.CreateString(place.packing) : 0)});
    const auto description = fbb.CreateString("two graphs");
    ModelBuilder m(fbb);
    m.add_version(3), m.add_operator_codes(codes), m.add_subgraphs(graphs), m.add_buffers(buffers);
    m.add_metadata(metadata), m.add_signature_defs(signatures), m.add_description(description);
    if (place.external) m.add_external_buffer_groups(groups), m.add_external_buffers(externals);
    fbb.Finish(m.Finish(), ModelIdentifier());
    const auto* data = reinterpret_cast<const std::byte*>(fbb.GetBufferPointer());
    return {data, data + fbb.GetSize()};
}

/// The model with its constant, {10, 20}, behind the flatbuffer; the offset is written by trying.
Bytes model_with_tail() {
    Bytes model = model_with({.offset = 4096, .size = 8});
    EXPECT_LT(model.size(), 4096u);
    model.resize(4096);
    const float values[] = {10, 20};
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    model.insert(model.end(), bytes, bytes + sizeof values);
    return model;
}

std::vector<double> sum_of(const Graph& graph) {
    HostTensor x(DType::fp32, {2});
    x.as<float>()[0] = 1, x.as<float>()[1] = 2;
    const HostTensor y = reference_run(graph, std::vector{x}).at(0);
    return decode_reals(y.type, y.bytes);
}

TEST(TfliteFile, ASignatureIsTheGraph) {
    const Bytes model = model_with_tail();
    EXPECT_EQ(sum_of(import_tflite(model, {})), (std::vector<double>{-1, -2}));
    ImportOptions options;
    options.signature = "add";
    const Graph graph = import_tflite(model, options);
    EXPECT_EQ(sum_of(graph), (std::vector<double>{11, 22}));
    EXPECT_EQ(graph.value(graph.inputs[0]).name, "left");
    EXPECT_EQ(graph.value(graph.outputs[0]).name, "sum");
    options.signature = "subtract";
    expect_error(model, options, ErrorCode::usage, "there is no signature 'subtract'; there are 'add'");
    options.signature = "add";
    expect_error(model_with({.offset = 4096, .size = 8, .subgraph_of_signature = false}), options, ErrorCode::bad_model,
                 "names subgraph 9, but there are 2");
}

TEST(TfliteFile, ConstantsBehindTheFlatbuffer) {
    ImportOptions options;
    options.signature = "add";
    Bytes model = model_with_tail();
    for (const std::size_t size : {model.size() - 1, std::size_t{4096}, std::size_t{4000}}) {
        expect_error({model.begin(), model.begin() + static_cast<std::ptrdiff_t>(size)}, options, ErrorCode::bad_model,
                     "buffer 1 is 8 bytes at 4096, but there are");
    }
    expect_error(model_with({.offset = ~std::uint64_t{0}, .size = ~std::uint64_t{0}}), options, ErrorCode::bad_model,
                 "buffer 1 is");
    expect_error(model_with({.offset = 16, .size = 4}), options, ErrorCode::bad_model, "needs 8 bytes");
}

TEST(TfliteFile, OfMoreThan2GiB) {
    const std::uint64_t offset = (std::uint64_t{1} << 31) + 4096, size = offset + 8;
    const Bytes model = model_with({.offset = offset, .size = 8});
    const float values[] = {10, 20};
    // A sparse file, of which few pages are ever there.
    const fs::path path = fs::temp_directory_path() / ("tosavk-large-" + std::to_string(::getpid()));
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    ::unlink(path.c_str());
    ASSERT_EQ(::pwrite(file, model.data(), model.size(), 0), static_cast<ssize_t>(model.size()));
    ASSERT_EQ(::pwrite(file, values, sizeof values, static_cast<off_t>(offset)), ssize_t{8});
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    ImportOptions options;
    options.signature = "add";
    EXPECT_EQ(sum_of(import_tflite({static_cast<const std::byte*>(mapped), size}, options)),
              (std::vector<double>{11, 22}));
    ::munmap(mapped, size);
    ::close(file);
}

TEST(TfliteFile, ConstantsInAFileBesideIt) {
    const fs::path folder = fs::temp_directory_path() / ("tosavk-external-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const float values[] = {0, 10, 20};
    std::ofstream(folder / "weights.bin", std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof values);
    ImportOptions options;
    options.signature = "add";
    const Bytes model = model_with({.offset = 4, .size = 8, .external = "weights.bin"});
    expect_error(model, options, ErrorCode::unsupported, "load it from a file too");
    options.folder = folder;
    EXPECT_EQ(sum_of(import_tflite(model, options)), (std::vector<double>{11, 22}));
    std::ofstream(folder / "model.tflite", std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()), static_cast<std::streamsize>(model.size()));
    ImportOptions from_file;
    from_file.signature = "add";
    EXPECT_EQ(sum_of(import_file(folder / "model.tflite", from_file)), (std::vector<double>{11, 22}));

    const auto refused = [&](const Place& place, ErrorCode code, const std::string& part) {
        expect_error(model_with(place), options, code, part);
    };
    refused({.offset = 8, .size = 8, .external = "weights.bin"}, ErrorCode::bad_model,
            "external buffer 7 is 8 bytes at 8, but there are 12");
    refused({.offset = 4, .size = 8, .external = "none.bin"}, ErrorCode::io, "there is no such file");
    for (const char* name : {"../weights.bin", "/etc/hostname", "..", ".", "", "a/b"})
        refused({.offset = 0, .size = 8, .external = name}, ErrorCode::bad_model, "is no name of a file beside");
    refused({.offset = 4, .size = 8, .external = "weights.bin", .packing = "zip"}, ErrorCode::unsupported,
            "is packed as 'zip'");
    refused({.offset = 4, .size = 8, .external = "weights.bin", .group = 3}, ErrorCode::bad_model, "does not exist");
    fs::remove_all(folder);
}

TEST(TfliteFile, SaysWhatItIs) {
    const FileFacts facts = model_facts(model_with({.offset = 4, .size = 8, .external = "weights.bin"}), "it");
    EXPECT_EQ(facts.format, "tflite");
    EXPECT_EQ(facts.description, "two graphs");
    EXPECT_EQ(facts.subgraphs, (std::vector<std::string>{"one", "two"}));
    ASSERT_EQ(facts.signatures.size(), 1u);
    EXPECT_EQ(facts.signatures[0].key, "add");
    EXPECT_EQ(facts.signatures[0].subgraph, 1u);
    EXPECT_EQ(facts.signatures[0].inputs.at(0).name, "left");
    EXPECT_EQ(facts.signatures[0].inputs.at(0).tensor, "second_x");
    ASSERT_EQ(facts.metadata.size(), 1u);
    EXPECT_EQ(facts.metadata[0].name, "min_runtime_version");
    EXPECT_EQ(facts.metadata[0].text, "1.5");
    EXPECT_EQ(facts.metadata[0].size_bytes, 4u);
    EXPECT_EQ(facts.external_files, (std::vector<std::string>{"weights.bin"}));
}

}  // namespace
}  // namespace tosavk
