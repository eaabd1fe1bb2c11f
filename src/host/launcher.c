/* The way in for programs that act as the launcher (see os/launch.h), or as the Lua that runs the
 * scripts of models. */
#include <hocket/hocket.h>
#include <string.h>

#include "bind/plain_lua.h"
#include "os/launcher.h"

void hocket_launcher_main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], HOCKET__LAUNCHER_WORD) == 0)
        hocket__launcher_main();
    if (argc == 2 && strcmp(argv[1], HOCKET__PLAIN_LUA_WORD) == 0)
        hocket__plain_lua_main(false);
    if (argc == 2 && strcmp(argv[1], HOCKET__TALKING_LUA_WORD) == 0)
        hocket__plain_lua_main(true);
}
