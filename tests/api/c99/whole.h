/* The whole ABI from C99, through its public headers alone. Every function is called rightly, with a look at what comes
 * of it, and those that can fail wrongly too; main.c holds the calls against the list of exported functions. Compiled
 * twice: with the functions themselves, and (THROUGH_TABLES) with those of tosavk_get_api. */
#ifndef TOSAVK_TEST_WHOLE_H
#define TOSAVK_TEST_WHOLE_H

#define VK_NO_PROTOTYPES
#include "tosavk/api.h"
#include "tosavk/vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef THROUGH_TABLES
#define F(name) (tosavk_get_api(TOSAVK_API_VERSION)->name)
#define V(name) (tosavk_get_vulkan_api(TOSAVK_API_VERSION)->name)
#else
#define F(name) tosavk_##name
#define V(name) tosavk_##name
#endif

extern tosavk_error* fault; /* of the last call */
extern int failures;

void check_at(int ok, const char* what, const char* file, int line);
#define CHECK(condition) check_at(!!(condition), #condition, __FILE__, __LINE__)

/* A call that must succeed; one that must fail with a status and a sentence; one where the device decides which; and
 * one of a function that cannot fail. */
void right(const char* name, tosavk_status status, const char* file, int line);
void wrong(const char* name, tosavk_status wanted, tosavk_status status, const char* file, int line);
int either(const char* name, tosavk_status status, const char* file, int line);
int plain(const char* name);
#define RIGHT(name, ...) right(#name, F(name)(__VA_ARGS__, &fault), __FILE__, __LINE__)
#define WRONG(status, name, ...) wrong(#name, TOSAVK_ERROR_##status, F(name)(__VA_ARGS__, &fault), __FILE__, __LINE__)
#define EITHER(name, ...) either(#name, F(name)(__VA_ARGS__, &fault), __FILE__, __LINE__)
#define PLAIN(name, ...) (plain(#name), F(name)(__VA_ARGS__))
#define V_RIGHT(name, ...) right(#name, V(name)(__VA_ARGS__, &fault), __FILE__, __LINE__)
#define V_WRONG(status, name, ...) wrong(#name, TOSAVK_ERROR_##status, V(name)(__VA_ARGS__, &fault), __FILE__, __LINE__)
#define V_PLAIN(name, ...) (plain(#name), V(name)(__VA_ARGS__))

/* y = x + (1, 2, 3, 4), of fp32. */
tosavk_graph* adding_graph(void);

void test_text_and_devices(void);
void test_graphs(void);
void test_custom(void);
void test_running(void);
void test_buffers(void);
void test_models(void);
void test_tools(void);
void test_vulkan(void);

#endif
