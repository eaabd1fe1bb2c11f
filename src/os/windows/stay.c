/* A Lua closes the libraries of its modules when a state is closed; what the module has loaded, and threads of hocket, may still
 * be there. Other systems' linkers mark such a library (-z nodelete); here it says so itself when it is loaded. */
#include <windows.h>

__attribute__((constructor)) static void stay(void)
{
    static const char here;
    HMODULE self;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
        (LPCWSTR) &here, &self);
}
