// What the benchmark's report and page say, of measurements that are made up: of what compilers tell, which a software
// driver does not.
#include "report.hpp"

#include <gtest/gtest.h>

namespace tosavk::bench {
namespace {

Report report_of(cli::Json compiler) {
    Measurement measurement;
    measurement.name = "matmul f32 1x64x64x64";
    DispatchTime product{"MATMUL", "gemm_tiles", 0.5, 0.5, 1000, 100, TOSAVK_ARITHMETIC_FP32, nullptr};
    DispatchTime rest{"ADD", "elementwise", 0.25, 0.25, 10, 100, TOSAVK_ARITHMETIC_FP32, nullptr};
    product.compiler = std::move(compiler);
    measurement.dispatches = {product, rest};
    measurement.wall_ms = spread_of({1.0, 1.0, 1.0, 1.0, 1.0});
    Report report{"a GPU", "its driver", "declared", {}, {}};
    Row& row = report.rows.emplace_back();
    row.name = measurement.name;
    row.measurement = std::move(measurement);
    return report;
}

cli::Json figures() {
    return {{"name", "ACO"},       {"registers", 96},          {"spills", 3},
            {"fills", nullptr},    {"occupancy", 10},          {"full_occupancy", 16},
            {"instructions", 777}, {"hot_multiply_adds", 256}, {"hot_instructions", 285}};
}

TEST(BenchReport, TellsWhatTheCompilerMade) {
    const Report report = report_of(figures());
    const cli::Json dispatches = to_json(report).at("problems").at(0).at("per_dispatch");
    EXPECT_EQ(dispatches.at(0).at("compiler"), figures());
    EXPECT_EQ(dispatches.at(1).at("compiler"), nullptr);
    const std::string text = to_text(report, true);
    EXPECT_NE(text.find("hottest loop"), std::string::npos) << text;
    const std::size_t line = text.find("gemm_tiles");
    ASSERT_NE(line, std::string::npos) << text;
    const std::string row = text.substr(line, text.find('\n', line) - line);
    for (const char* cell : {" 96 ", " 3 ", " - ", " 10/16 ", " 777 ", " 256/285"})
        EXPECT_NE(row.find(cell), std::string::npos) << "no '" << cell << "' in " << row;
}

TEST(BenchReport, HasNoColumnsWhereTheDriverTellsNothing) {
    const Report report = report_of(nullptr);
    EXPECT_EQ(to_text(report, true).find("hottest loop"), std::string::npos);
    EXPECT_EQ(to_json(report).at("problems").at(0).at("per_dispatch").at(0).at("compiler"), nullptr);
}

TEST(BenchReport, ThePageCarriesTheFigures) {
    const std::string page = html_page(report_of(figures()));
    EXPECT_NE(page.find("\"hot_instructions\":285"), std::string::npos);
    EXPECT_NE(page.find("id=\"kernels\""), std::string::npos);
}

}  // namespace
}  // namespace tosavk::bench
