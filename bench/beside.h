/* The mock server (bench_mock) for a benchmark that embeds the library: started beside it, and named to the host by its
 * variables. */
#pragma once

/* Ends the program where it cannot be started. */
void bench_mock_start(void);
void bench_mock_stop(void);
/* A hocket_getenv_cb: where it is, and a key for it. */
const char *bench_mock_variable(const char *name, void *ud);
