#include "cli/log/journal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/datagram.h"

bool cli_journal_has(int fd, const char *stream)
{
    struct stat st;
    char own[64];
    if (!stream || fstat(fd, &st) < 0)
        return false;
    snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long) st.st_dev,
        (unsigned long long) st.st_ino);
    return strcmp(own, stream) == 0;
}

/* The form with a length (64 bits, the lowest byte first), which takes any value: NAME \n LENGTH VALUE \n. */
void cli_journal_field(struct cli_buf *record, const char *name, const char *value)
{
    char length[8];
    uint64_t n = strlen(value);
    for (size_t i = 0; i < sizeof(length); i++)
        length[i] = (char) (n >> (8 * i));
    cli_buf_addf(record, "%s\n", name);
    cli_buf_add(record, length, sizeof(length));
    cli_buf_addf(record, "%s\n", value);
}

bool cli_journal_send(const char *path, const struct cli_buf *record)
{
    return cli_datagram_send(path, record->p, record->n, true);
}
