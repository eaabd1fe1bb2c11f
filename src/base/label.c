/* The names of labels and their bits; the one place where both stand beside each other. */
#include "base/label.h"

const char *hocket__label_name(enum hocket__label label)
{
    return label == HOCKET__WEB       ? "web"
           : label == HOCKET__OUTSIDE ? "outside"
           : label == HOCKET__SERVER  ? "server"
                                      : "private";
}

unsigned hocket__label_bit(struct hocket__str name)
{
    for (unsigned bit = 1; bit <= HOCKET__LABELS; bit <<= 1)
        if (hocket__str_eq(name, hocket__cstr(hocket__label_name((enum hocket__label) bit))))
            return bit;
    return 0;
}
