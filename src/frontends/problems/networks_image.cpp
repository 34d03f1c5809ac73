// Networks for images: classifiers of 1000 classes, and a U-Net.
#include "frontends/problems/networks.hpp"

namespace tosavk {

namespace {

constexpr Activation relu = Activation::relu, relu6 = Activation::relu6, none = Activation::none;

ValueId image(Network& n, NetworkSize size) { return n.input("image", {size.batch, size.size, size.size, 3}); }

Graph squeezenet(Layers& layers, DType type, NetworkSize size) {
    Network n(layers, type);
    const auto fire = [&](ValueId x, std::int64_t squeeze, std::int64_t expand) {
        const ValueId narrow = n.conv(x, squeeze, 1, 1, 0, relu);
        return n.concat({n.conv(narrow, expand, 1, 1, 0, relu), n.conv(narrow, expand, 3, 1, 1, relu)}, 3);
    };
    ValueId x = n.conv(image(n, size), 64, 3, 2, 0, relu);
    x = n.pool(Op::max_pool2d, x, 3, 2, 0);
    x = fire(fire(x, 16, 64), 16, 64);
    x = n.pool(Op::max_pool2d, x, 3, 2, 0);
    x = fire(fire(x, 32, 128), 32, 128);
    x = n.pool(Op::max_pool2d, x, 3, 2, 0);
    x = fire(fire(x, 48, 192), 48, 192);
    x = fire(fire(x, 64, 256), 64, 256);
    return layers.finish(n.global_average(n.conv(x, 1000, 1, 1, 0, relu)));
}

Graph mobilenet_v1(Layers& layers, DType type, NetworkSize size) {
    Network n(layers, type);
    ValueId x = n.conv(image(n, size), 32, 3, 2, 1, relu6);
    constexpr std::int64_t blocks[][2] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                          {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    for (const auto& [channels, stride] : blocks) {
        x = n.depthwise(x, 3, stride, 1, relu6);
        x = n.conv(x, channels, 1, 1, 0, relu6);
    }
    return layers.finish(n.fully_connected(n.global_average(x), 1000));
}

Graph mobilenet_v2(Layers& layers, DType type, NetworkSize size) {
    Network n(layers, type);
    ValueId x = n.conv(image(n, size), 32, 3, 2, 1, relu6);
    struct Stage {
        std::int64_t expansion, channels, repeats, stride;
    };
    constexpr Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    for (const Stage& stage : stages) {
        for (std::int64_t k = 0; k < stage.repeats; ++k) {
            const std::int64_t stride = k == 0 ? stage.stride : 1, in = layers.shape(x).back();
            ValueId y = stage.expansion == 1 ? x : n.conv(x, in * stage.expansion, 1, 1, 0, relu6);
            y = n.depthwise(y, 3, stride, 1, relu6);
            y = n.conv(y, stage.channels, 1, 1, 0, none);
            x = stride == 1 && in == stage.channels ? n.add(x, y, none) : y;
        }
    }
    x = n.conv(x, 1280, 1, 1, 0, relu6);
    return layers.finish(n.fully_connected(n.global_average(x), 1000));
}

/// ResNet of basic blocks (two 3x3) or bottlenecks (1x1, 3x3, 1x1 with four times the channels).
Graph resnet(Layers& layers, DType type, NetworkSize size, const std::vector<int>& depths, bool bottleneck) {
    Network n(layers, type);
    ValueId x = n.conv(image(n, size), 64, 7, 2, 3, relu);
    x = n.pool(Op::max_pool2d, x, 3, 2, 1);
    std::int64_t width = 64;
    for (std::size_t stage = 0; stage < depths.size(); ++stage, width *= 2) {
        const std::int64_t out = bottleneck ? 4 * width : width;
        for (int k = 0; k < depths[stage]; ++k) {
            const std::int64_t stride = stage > 0 && k == 0 ? 2 : 1;
            const bool projected = stride != 1 || layers.shape(x).back() != out;
            const ValueId shortcut = projected ? n.conv(x, out, 1, stride, 0, none) : x;
            ValueId y = bottleneck ? n.conv(n.conv(x, width, 1, 1, 0, relu), width, 3, stride, 1, relu)
                                   : n.conv(x, width, 3, stride, 1, relu);
            y = bottleneck ? n.conv(y, out, 1, 1, 0, none) : n.conv(y, out, 3, 1, 1, none);
            x = n.add(shortcut, y, relu);
        }
    }
    return layers.finish(n.fully_connected(n.global_average(x), 1000));
}

Graph resnet18(Layers& layers, DType type, NetworkSize size) { return resnet(layers, type, size, {2, 2, 2, 2}, false); }
Graph resnet50(Layers& layers, DType type, NetworkSize size) { return resnet(layers, type, size, {3, 4, 6, 3}, true); }

/// Four levels of two 3x3 convolutions each, with skips; a map of two classes.
Graph unet(Layers& layers, DType type, NetworkSize size) {
    Network n(layers, type);
    const auto pair = [&](ValueId x, std::int64_t channels) {
        return n.conv(n.conv(x, channels, 3, 1, 1, relu), channels, 3, 1, 1, relu);
    };
    ValueId x = image(n, size);
    std::vector<ValueId> skips;
    std::int64_t channels = 32;
    for (int level = 0; level < 3; ++level, channels *= 2) {
        skips.push_back(pair(x, channels));
        x = n.pool(Op::max_pool2d, skips.back(), 2, 2, 0);
    }
    x = pair(x, channels);
    while (!skips.empty()) {
        channels /= 2;
        x = pair(n.concat({skips.back(), n.upsample(x, channels)}, 3), channels);
        skips.pop_back();
    }
    return layers.finish(n.conv(x, 2, 1, 1, 0, none));
}

const NetworkDef networks[] = {
    {"squeezenet", 224, 63, squeezenet},     {"mobilenet_v1", 224, 32, mobilenet_v1},
    {"mobilenet_v2", 224, 32, mobilenet_v2}, {"resnet18", 224, 32, resnet18},
    {"resnet50", 224, 32, resnet50},         {"unet", 128, 16, unet},
};

}  // namespace

std::span<const NetworkDef> image_networks() { return networks; }

}  // namespace tosavk
