// A host in C++: two executables, one reading on the device what the other wrote. The first is a network that scores a
// picture, the second, made from calls, finds the best class. Usage: chain NETWORK INPUT.npy
#include <tosavk/tosavk.hpp>

#include <cstdio>
#include <exception>

namespace tosa = tosavk::cpp;

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "usage: chain NETWORK INPUT.npy\n");
        return 2;
    }
    const tosa::Device device;
    const tosa::Graph network = tosa::Graph::load(argv[1]);
    const tosa::TensorInfo scores = network.output(0);

    tosa::Builder builder;
    const auto x = builder.input("scores", {static_cast<tosavk_type>(scores.type), tosa::shape_of(scores)});
    builder.output(builder.node1("ARGMAX", {x}, {{"axis", std::int64_t{scores.rank} - 1}}));
    const tosa::Graph choice = builder.finish();

    const tosa::Executable first(device, network), second(device, choice);
    tosa::Context score(first), choose(second);
    const tosa::Array picture = tosa::Array::load(argv[2]).convert(network.input(0).type);
    tosa::Buffer pixels(device, network.input(0).size_bytes), between(device, scores.size_bytes),
        best(device, choice.output(0).size_bytes);
    score.bind_input(0, pixels);
    score.bind_output(0, between);
    choose.bind_input(0, between);
    choose.bind_output(0, best);

    pixels.upload(picture.bytes());
    score.submit();
    choose.submit();  // in the order of the submits: nobody waits between
    choose.wait();
    score.wait();
    std::int32_t index = 0;
    best.download(std::as_writable_bytes(std::span(&index, 1)));
    const auto copies = score.counters().host_copies + choose.counters().host_copies;
    std::printf("%s: class %d of %lld, %llu tensors went through the host\n", device.name().c_str(), index,
                static_cast<long long>(scores.dims[scores.rank - 1]), static_cast<unsigned long long>(copies));
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "chain: %s\n", e.what());
    return 1;
}
