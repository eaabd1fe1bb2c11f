/* The pages of docs/, packed with gzip by the build (cmake/HocketTopics.cmake). */
#pragma once

#include <stddef.h>

extern const unsigned char cli_topics_packed[];
extern const size_t cli_topics_size;
