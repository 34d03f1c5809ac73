// C++ over the C ABI: owning handles and exceptions, header only. Everything here is a thin call of the C headers,
// whose comments say what each function does. C++20.
#ifndef TOSAVK_TOSAVK_HPP
#define TOSAVK_TOSAVK_HPP

#include "tosavk/build.hpp"
#include "tosavk/model.hpp"
#include "tosavk/run.hpp"
#include "tosavk/tools.hpp"

#endif  // TOSAVK_TOSAVK_HPP
