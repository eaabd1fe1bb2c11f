/* What this library was built from. A constant of the build, so that asking needs no memory,
 * no lock and loads no library. */

#include <hocket/hocket.h>

const char *hocket_build_info(void)
{
    return HOCKET_BUILD_INFO;
}
