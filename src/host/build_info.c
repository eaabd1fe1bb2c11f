/* What this library was built from. A constant of the build, so that asking needs no memory,
 * no lock and loads no library. */

#include <hocket/hocket.h>

#include "core/run_state.h"
#include "store/columns.h"

#define AS_TEXT(n)         #n
#define NUMBER(name, n)    ",\"" name "\":" AS_TEXT(n)
#define MEMBER(name, text) ",\"" name "\":\"" text "\""
#if HOCKET_STATIC
#define STATIC_MEMBER ",\"static\":true"
#else
#define STATIC_MEMBER ",\"static\":false"
#endif

#define ABOUT_US                                                                                   \
    MEMBER("interface", BUILD_INTERFACE)                                                           \
    NUMBER("store", HOCKET__STORE_VERSION) NUMBER("edition", HOCKET__EDITION) STATIC_MEMBER
#define ABOUT_BUILD                                                                                \
    MEMBER("target", BUILD_TARGET) MEMBER("compiler", BUILD_COMPILER) MEMBER("build", BUILD_TYPE)
#define LIBRARIES                                                                                  \
    MEMBER("libuv", BUILD_UV)                                                                      \
    MEMBER("libcurl", BUILD_CURL) MEMBER("cJSON", BUILD_CJSON) MEMBER("libyaml", BUILD_YAML)

const char *hocket_build_info(void)
{
    return "{\"version\":\"" HOCKET_VERSION "\"" ABOUT_US ABOUT_BUILD
           ",\"built_with\":{\"Lua\":\"" BUILD_LUA "\"" LIBRARIES "}}";
}
