/* What is handed over in a turn, as bytes: commands, one behind the other. */
#pragma once

#include "store/row.h"

/* The version of the bytes of the records below: a file may outlive the program that wrote it (writer/wal.h). It rises
 * when another hocket would misread them. New members at the end of a row do not count: readers ignore them, or see
 * them empty. */
#define HOCKET__STORE_FORM 1

enum hocket__store_command_kind {
    HOCKET__STORE_PUT = 1,
    HOCKET__STORE_UPDATE,
    HOCKET__STORE_APPEND,
    HOCKET__STORE_RECORD,
    HOCKET__STORE_FILE,        /* belongs to no run: no claim */
    HOCKET__STORE_MESSAGE_PUT, /* by who has the run: an imported one, or one that sleeps */
    HOCKET__STORE_MESSAGE_DEL,
    HOCKET__STORE_RELEASE,
};

struct hocket__store_command {
    enum hocket__store_command_kind kind;
    char id[HOCKET__STORE_ID + 1]; /* whose run, and by which claim */
    uint64_t fence;
    unsigned set;                  /* of an update */
    struct hocket__str message_id; /* of a message that was taken */
    struct hocket__store_row row;  /* of all others but a release; kind 0: none */
};

/* Appends it whole, or not at all: 0, ENOMEM, ELIMIT. */
int hocket__store_command_pack(struct hocket__buf *b, const struct hocket__store_command *c);
/* Takes the first command of *in, whose texts lie in there; false at the end. */
bool hocket__store_command_next(struct hocket__str *in, struct hocket__store_command *c);
