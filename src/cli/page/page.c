#include "cli/page/page.h"

#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four letters; what is missing of the last three is '='. */
static void add_base64(struct cli_buf *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t) p[i] << 16;
        three |= i + 1 < n ? (uint32_t) p[i + 1] << 8 : 0;
        three |= i + 2 < n ? p[i + 2] : 0;
        char four[4] = { letters[three >> 18], letters[three >> 12 & 63],
            i + 1 < n ? letters[three >> 6 & 63] : '=', i + 2 < n ? letters[three & 63] : '=' };
        cli_buf_add(out, four, sizeof(four));
    }
}

void cli_page_json(struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    for (const struct cli_page_file *f = cli_page_files; f->name; f++) {
        cli_buf_key(out, f->name);
        cli_buf_adds(out, "{");
        cli_buf_member(out, "tag", f->tag);
        cli_buf_adds(out, ",\"gzip\":\"");
        add_base64(out, f->packed, f->n);
        cli_buf_adds(out, "\"}");
    }
    cli_buf_adds(out, "}");
}
