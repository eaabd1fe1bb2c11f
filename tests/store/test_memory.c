#include "store/conformance.h"

int main(void)
{
    static const struct store_kind kind = { "memory", hocket__store_memory_open, false };
    return conformance(&kind);
}
