// Include in every *_gpu_test.cpp: a message of the validation layers (TOSAVK_VALIDATION=1) fails the program.
#pragma once

#include "vk/core/validation.hpp"

#include <gtest/gtest.h>

namespace tosavk::test {

class ValidationEnvironment : public ::testing::Environment {
public:
    void TearDown() override {
        EXPECT_EQ(validation_message_count(), 0u) << "the validation layers reported something (see stderr)";
    }
};

inline const ::testing::Environment* const validation_environment =
    ::testing::AddGlobalTestEnvironment(new ValidationEnvironment);

}  // namespace tosavk::test
