/* The headers by themselves, in any order and twice; compiled with a warning for bytes that structs hide. */
#define VK_NO_PROTOTYPES
#include "tosavk/api.h"
#include "tosavk/build.h"
#include "tosavk/model.h"
#include "tosavk/tflite_delegate.h"
#include "tosavk/tools.h"
#include "tosavk/vulkan.h"

int headers_are_c99(void);
int headers_are_c99(void) { return 1; }
