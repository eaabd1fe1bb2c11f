#include "cli/markdown/markdown.h"

#include <hocket/hocket.h>

#include "cli/out.h"
#include "cli/screen.h"

static bool is_json(const char *p, size_t n)
{
    hocket_json *value = n > 0 && (*p == '{' || *p == '[') ? hocket_json_parse(p, n, NULL) : NULL;
    hocket_json_free(value);
    return value != NULL;
}

void cli_answer(const struct cli_screen *screen, const char *p, size_t n)
{
    struct cli_markdown m = {
        .columns = screen->columns, .color = screen->color, .unicode = screen->unicode
    };
    struct cli_buf lines = { 0 };
    if (!cli_out_is_terminal() || !screen->terminal || is_json(p, n)) {
        cli_out_line(p, n);
        return;
    }
    cli_markdown_feed(&m, p, n, &lines);
    cli_markdown_end(&m, &lines);
    cli_out_styled(lines.p, lines.n);
    cli_buf_free(&lines);
    cli_buf_free(&m.tail);
}
