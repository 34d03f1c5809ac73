// --html: the page of bench/page.html, which the build makes a string of, with the report inside.
#include "report.hpp"

namespace tosavk::bench {

extern const char* const page_template;

std::string html_page(const Report& report) {
    // In a script element, "</" could end it: a name from a file or a driver may hold anything.
    const std::string json = to_json(report).dump(-1, ' ', true, cli::Json::error_handler_t::replace);
    std::string safe;
    for (const char c : json) {
        if (c == '<') safe += "\\u003c";
        else safe += c;
    }
    std::string page = page_template;
    const std::string mark = "@REPORT@";
    return page.replace(page.find(mark), mark.size(), safe);
}

}  // namespace tosavk::bench
