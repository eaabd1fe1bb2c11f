/* The seam between the shared library and its optional components.
 *
 * libhocket-serve is a library of its own that works on the same Lua state, so it calls a
 * handful of functions of libhocket that are no part of its interface. They are marked here,
 * exported under the symbol version HOCKET_PRIVATE (cmake/libhocket.map lists them) and may
 * change with every release: both libraries come from one build. All else is hidden. */
#pragma once

#if defined(__GNUC__)
#define HOCKET__PRIVATE __attribute__((visibility("default")))
#else
#define HOCKET__PRIVATE
#endif
