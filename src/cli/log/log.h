/* What a command says on stderr while nobody watches: each line a record, where whoever starts it or the system wants records.
 *
 *     --log-format text    2026-11-29T15:52:11.123+01:00 warning run=01K… agent=food the model is slow
 *     --log-format json    {"time":"2026-11-29T15:52:11.123+01:00","level":"warning","run":"01K…","agent":"food","message":"the model is slow"}
 *     stderr is journald's the same as fields: MESSAGE, PRIORITY, HOCKET_RUN, HOCKET_AGENT
 *     otherwise            the line as it is
 *
 * Words of models and servers are shown and never obeyed: no line end of theirs begins another record. */
#pragma once

#include <stdbool.h>

enum cli_log_level { CLI_LOG_ERROR, CLI_LOG_WARNING, CLI_LOG_INFO };

/* Chooses the format, "text" or "json", for the whole program. False: there is no such format. */
bool cli_log_choose(const char *format);
/* Whether lines are records. Then there is no live view, and nobody is asked. */
bool cli_log_is_on(void);
/* The run of all lines that name none. The text is copied. */
void cli_log_set_run(const char *run);

/* Writes one line. `run` and `agent` may be NULL. A record shows line ends of `text` as spaces (text) or as they are (JSON, journald). */
void cli_log(enum cli_log_level level, const char *run, const char *agent, const char *text);
/* The same, put together. */
void cli_logf(enum cli_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
