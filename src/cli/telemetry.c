#include "cli/telemetry.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/text.h"

static const char *const wanted_by[] = { "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
    "OTEL_LOGS_EXPORTER", NULL };

/* An empty variable is none. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool cli_telemetry_wanted(void)
{
    const char *disabled = variable("OTEL_SDK_DISABLED");
    if (disabled && strcasecmp(disabled, "true") == 0)
        return false;
    for (const char *const *name = wanted_by; *name; name++)
        if (variable(*name))
            return true;
    return false;
}

void cli_telemetry_trace(struct cli_buf *out)
{
    const char *parent = variable("TRACEPARENT"), *state = variable("TRACESTATE");
    if (!parent || !cli_text_is_utf8(parent, strlen(parent)) || !cli_telemetry_wanted())
        return;
    cli_buf_key(out, "trace");
    cli_buf_adds(out, "{");
    cli_buf_member(out, "parent", parent);
    if (state && cli_text_is_utf8(state, strlen(state)))
        cli_buf_member(out, "state", state);
    cli_buf_adds(out, "}");
}
