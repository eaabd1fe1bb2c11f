/* Letters and digits of ASCII, whatever the locale of the process is. */
#pragma once

#include <stdbool.h>

static inline bool hocket__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char hocket__lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

static inline bool hocket__is_letter(char c)
{
    return hocket__lower(c) >= 'a' && hocket__lower(c) <= 'z';
}

static inline bool hocket__is_alnum(char c)
{
    return hocket__is_digit(c) || hocket__is_letter(c);
}

/* White space of JSON. */
static inline bool hocket__is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of a hexadecimal digit; -1: it is none. */
static inline int hocket__hex_value(char c)
{
    if (hocket__is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool hocket__is_hex(char c)
{
    return hocket__hex_value(c) >= 0;
}
