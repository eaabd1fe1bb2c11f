/* The page that `hocket serve` shows in a browser: the files of page/, packed with gzip by the build. They are in
 * the program alone; libhocket has none of them. */
#pragma once

#include "cli/buf.h"

struct cli_page_file {
    const char *name;            /* "index.html"; NULL behind the last one */
    const char *tag;             /* letters and digits, others for other bytes */
    const unsigned char *packed; /* gzip */
    size_t n;
};

extern const struct cli_page_file cli_page_files[];

/* All of them as a JSON object: {"index.html": {"tag": "…", "gzip": "<base64>"}, …}. */
void cli_page_json(struct cli_buf *out);
