// tosa-vk as its tests run it: in a folder of its own, with two small models.
#pragma once

#include "graph/array.hpp"
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/spawn.hpp"
#include "tosavk/tosavk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tosavk::test {

namespace fs = std::filesystem;

class Cli : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_PROGRAM("tosa-vk");
        folder_ = fs::temp_directory_path() / ("tosavk-cli-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
        float_model_ = write("float.tflite", small_float_model());
        int8_model_ = write("int8.tflite", small_int8_model());
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string write(const std::string& name, const Bytes& bytes) const {
        std::ofstream(folder_ / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path(name);
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return path(name);
    }
    std::string array(const std::string& name, DType type, const Shape& shape,
                      const std::vector<double>& values) const {
        save_npy(path(name), type, shape, encode_reals(type, values));
        return path(name);
    }
    Spawned spawn(const std::vector<std::string>& arguments,
                  const std::vector<std::pair<std::string, std::string>>& environment = {},
                  const std::string& program = "tosa-vk") const {
        return test::spawn(folder_, program, arguments, environment);
    }

    /// The contract of every error: this exit code, one sentence on stderr that holds `part`, nothing on stdout.
    void expect_error(const Spawned& run, int code, const std::string& part) const {
        EXPECT_EQ(run.signal, 0);
        EXPECT_EQ(run.exit_code, code) << run.err;
        EXPECT_EQ(run.out, "");
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
        EXPECT_EQ(run.err.rfind("tosa-vk", 0), 0u) << run.err;
        EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    }
    /// Names in the folder, but for those that catch the output.
    std::vector<std::string> names_in(const fs::path& folder) const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

    fs::path folder_;
    std::string float_model_, int8_model_;
};

}  // namespace tosavk::test
