/* What the environment says of OpenTelemetry, as far as the program itself has to know: whether anybody
 * wants to be told of runs, and which trace the program was started in. The variables are read by the
 * operation `telemetry`. */
#pragma once

#include <stdbool.h>

#include "cli/buf.h"

/* Whether an endpoint or an exporter is named, and all is not switched off. */
bool cli_telemetry_wanted(void);

/* Appends the run option `trace` where the program was started within a trace (TRACEPARENT) and it
 * is wanted: so it is kept with the run, and holds when that is gone on with. */
void cli_telemetry_trace(struct cli_buf *out);
