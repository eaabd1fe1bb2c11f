/* Reads hosts and ports into the one form that rules are compared in (authority.h). The rule of
 * thumb: what two readers might take for two places is refused and not interpreted. */
#include "serve/proxy/authority.h"

#include <string.h>
#include <uv.h>

#define LABEL_MAX 63
#define PORT_MAX  65535

/* ---- Addresses ----------------------------------------------------------------------- */

static bool read_v6(const char *text, struct hocket__authority *out)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    uint8_t bytes[16];
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return false;
    out->address = true;
    if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
        return inet_ntop(AF_INET, bytes + 12, out->host, sizeof(out->host)) != NULL;
    return inet_ntop(AF_INET6, bytes, out->host, sizeof(out->host)) != NULL;
}

/* What resolvers take for an address, in one of its old forms, by its last label. */
static bool looks_like_number(const char *host)
{
    const char *last = strrchr(host, '.');
    last = last ? last + 1 : host;
    return strspn(last, "0123456789") == strlen(last)
           || (last[0] == '0' && last[1] == 'x'
               && strspn(last + 2, "0123456789abcdef") == strlen(last + 2));
}

static bool read_v4(struct hocket__authority *out)
{
    uint8_t bytes[4];
    char again[INET_ADDRSTRLEN];
    if (inet_pton(AF_INET, out->host, bytes) != 1)
        return false;
    out->address = true;
    return inet_ntop(AF_INET, bytes, again, sizeof(again)) && strcmp(again, out->host) == 0;
}

/* ---- Names --------------------------------------------------------------------------- */

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool has_labels(const char *host)
{
    size_t n = 0;
    for (char before = '.'; *host; before = *host++) {
        bool edge = before == '.' || host[1] == '.' || host[1] == 0;
        if (*host == '.' ? n == 0
                         : !is_label_char(*host) || n == LABEL_MAX || (edge && *host == '-'))
            return false;
        n = *host == '.' ? 0 : n + 1;
    }
    return n > 0;
}

static bool read_name(struct hocket__str text, struct hocket__authority *out)
{
    if (text.n > 1 && text.p[text.n - 1] == '.')
        text.n--;
    if (text.n == 0 || text.n > HOCKET__HOST_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++)
        out->host[i] = hocket__lower(text.p[i]);
    out->host[text.n] = 0;
    return strlen(out->host) == text.n && has_labels(out->host)
           && (!looks_like_number(out->host) || read_v4(out));
}

static bool read_host(struct hocket__str text, struct hocket__authority *out)
{
    char inner[INET6_ADDRSTRLEN];
    *out = (struct hocket__authority){ 0 };
    if (text.n < 2 || text.p[0] != '[')
        return read_name(text, out);
    if (text.p[text.n - 1] != ']' || text.n - 2 >= sizeof(inner))
        return false;
    memcpy(inner, text.p + 1, text.n - 2);
    inner[text.n - 2] = 0;
    return strlen(inner) == text.n - 2 && read_v6(inner, out);
}

/* ---- Both ---------------------------------------------------------------------------- */

/* Cuts the port off; its text's pointer is NULL when there is none. */
static struct hocket__str cut_port(struct hocket__str *text)
{
    for (size_t i = text->n; i > 0 && text->p[i - 1] != ']'; i--)
        if (text->p[i - 1] == ':') {
            struct hocket__str port = hocket__str(text->p + i, text->n - i);
            text->n = i - 1;
            return port;
        }
    return hocket__str(NULL, 0);
}

static int read_port(struct hocket__str text)
{
    int port = 0;
    for (size_t i = 0; i < text.n && port <= PORT_MAX; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        port = port * 10 + (text.p[i] - '0');
    }
    return port <= PORT_MAX ? port : 0;
}

int hocket__authority_read(struct hocket__str text, int port, struct hocket__authority *out)
{
    struct hocket__str own = cut_port(&text);
    if (own.p)
        port = read_port(own);
    if (!read_host(text, out) || port <= 0)
        return HOCKET_EINVAL;
    out->port = port;
    return 0;
}

/* ---- Rules --------------------------------------------------------------------------- */

static int bad_rule(struct hocket__str text, const char *what, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_EINVAL,
        "'%.*s': %s (as in api.example.org, *.example.org, example.org:8443, [2001:db8::1]:443)",
        (int) (text.n < 80 ? text.n : 80), text.p, what);
}

static bool begins(struct hocket__str text, const char *with)
{
    return text.n >= strlen(with) && memcmp(text.p, with, strlen(with)) == 0;
}

int hocket__host_rule_read(
    struct hocket__str text, struct hocket__host_rule *out, struct hocket_error *err)
{
    struct hocket__str host = text, port = cut_port(&host);
    *out = (struct hocket__host_rule){ .below = begins(host, "*.") };
    if (out->below)
        host = hocket__str(host.p + 2, host.n - 2);
    if (!read_host(host, &out->to))
        return bad_rule(text, "expected a host", err);
    if (out->below && (out->to.address || !strchr(out->to.host, '.')))
        return bad_rule(
            text, "a star stands for what is below a domain, and not for all of one", err);
    out->to.port = HOCKET__PORT_WEB;
    if (port.p)
        out->to.port = hocket__str_is(port, "*") ? HOCKET__PORT_ANY : read_port(port);
    if (port.p && out->to.port == 0)
        return bad_rule(text, "expected a port from 1 to 65535, or *", err);
    out->inside = out->to.address || strcmp(out->to.host, "localhost") == 0;
    return 0;
}

static bool port_fits(int rule, int port)
{
    return rule == HOCKET__PORT_ANY || rule == port
           || (rule == HOCKET__PORT_WEB && (port == 80 || port == 443));
}

bool hocket__host_rule_fits(const struct hocket__host_rule *r, const struct hocket__authority *a)
{
    size_t n = strlen(a->host), end = strlen(r->to.host);
    if (!port_fits(r->to.port, a->port) || r->to.address != a->address)
        return false;
    if (!r->below)
        return strcmp(r->to.host, a->host) == 0;
    return n > end + 1 && a->host[n - end - 1] == '.' && strcmp(a->host + n - end, r->to.host) == 0;
}
